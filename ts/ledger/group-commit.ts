/** Items that are committed together, and everyone who waits for that. */
interface Group<T> {
  items: Set<T>;
  done: Promise<void>;
  settle(error?: unknown): void;
}

function newGroup<T>(): Group<T> {
  let resolve = () => {};
  let reject = (_: unknown) => {};
  const done = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // A group whose waiters have all gone is no unhandled rejection.
  done.catch(() => {});
  return { items: new Set(), done, settle: (error) => (error === undefined ? resolve() : reject(error)) };
}

/**
 * Gathers what one tick wants committed into one write, and while a write is under way, what
 * comes in the meantime into the next. One write at a time, in order.
 *
 * A write that fails also fails the group that gathered behind it, since that was decided on
 * top of what is now lost.
 */
export class GroupCommit<T> {
  readonly #soon: (callback: () => void) => void;
  readonly #write: (items: ReadonlySet<T>) => void | Promise<void>;
  readonly #failed: (items: ReadonlySet<T>) => void;
  #gathering: Group<T> | null = null;
  #writing: Group<T> | null = null;

  /**
   * @param soon    calls back when the tick's other items have come in
   * @param write   commits the items as they are when it is called
   * @param failed  takes back what was decided about the items
   */
  constructor(
    soon: (callback: () => void) => void,
    write: (items: ReadonlySet<T>) => void | Promise<void>,
    failed: (items: ReadonlySet<T>) => void,
  ) {
    this.#soon = soon;
    this.#write = write;
    this.#failed = failed;
  }

  /** Settles when the item, as it is at the end of this tick or later, is committed. */
  add(item: T): Promise<void> {
    if (!this.#gathering) {
      this.#gathering = newGroup();
      if (!this.#writing) this.#soon(() => this.#flush());
    }
    this.#gathering.items.add(item);
    return this.#gathering.done;
  }

  /** The commit that the item waits for, if any. */
  pending(item: T): Promise<void> | null {
    if (this.#gathering?.items.has(item)) return this.#gathering.done;
    return this.#writing?.items.has(item) ? this.#writing.done : null;
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#gathering ?? this.#writing) await (this.#gathering ?? this.#writing)?.done.catch(() => {});
  }

  #flush(): void {
    const group = this.#gathering;
    if (!group || this.#writing) return;
    this.#gathering = null;
    this.#writing = group;
    try {
      const written = this.#write(group.items);
      if (written)
        written.then(
          () => this.#written(group),
          (error) => this.#lost(group, error),
        );
      else this.#written(group);
    } catch (error) {
      this.#lost(group, error);
    }
  }

  #written(group: Group<T>): void {
    this.#writing = null;
    group.settle();
    this.#flush();
  }

  #lost(group: Group<T>, error: unknown): void {
    const behind = this.#gathering;
    this.#gathering = null;
    this.#writing = null;
    this.#failed(behind ? new Set([...group.items, ...behind.items]) : group.items);
    group.settle(error ?? new Error("the write failed"));
    behind?.settle(error ?? new Error("the write before it failed"));
  }
}
