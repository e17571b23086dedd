// Which children a plan has: so that nobody who makes up names fills the store.
import type { SqlDatabase } from "./sql-store.ts";

/** The children of all plans of a host. */
export interface Children {
  /** Counts a child among its plan's, unless there are `most` others. */
  admit(plan: string, child: string, most: number): boolean;
  /** It has something to remember until then, epoch ms. */
  keep(plan: string, child: string, until: number): void;
  /** Forgets those who have had nothing to remember since `before`, and gives their names. */
  sweep(before: number): { plan: string; child: string }[];
}

/** A child's time is stored when it is that far ahead of what is, ms: not at each call. */
const STORE_MS = 10 * 60_000;
/** Plans in memory; what is known of the others is in the store. */
const PLANS_MAX = 10_000;

/** Children that are known as long as their process lives. */
export function memoryChildren(now: () => number): Children {
  const plans = new Map<string, Map<string, number>>();
  return {
    admit(plan, child, most) {
      const children = plans.get(plan) ?? new Map<string, number>();
      const until = children.get(child);
      if (until === undefined && children.size >= most) return false;
      // Not to be forgotten while it is being asked.
      plans.set(plan, children.set(child, Math.max(until ?? 0, now())));
      return true;
    },
    keep(plan, child, until) {
      const children = plans.get(plan);
      if (children) children.set(child, Math.max(children.get(child) ?? 0, until));
    },
    sweep(before) {
      const gone: { plan: string; child: string }[] = [];
      for (const [plan, children] of plans) {
        for (const [child, until] of children) {
          if (until > before) continue;
          children.delete(child);
          gone.push({ plan, child });
        }
        if (children.size === 0) plans.delete(plan);
      }
      return gone;
    },
  };
}

const TABLE = "CREATE TABLE IF NOT EXISTS child (plan TEXT, name TEXT, until INTEGER, PRIMARY KEY (plan, name))";
const READ = "SELECT name, until FROM child WHERE plan = ?";
const WRITE = "INSERT OR REPLACE INTO child (plan, name, until) VALUES (?, ?, ?)";
const OLD = "SELECT plan, name FROM child WHERE until <= ?";
const SWEEP = "DELETE FROM child WHERE until <= ?";

/** Children that are known in `db` as well, which gets its table if it has none. */
export function sqlChildren(db: SqlDatabase, now: () => number): Children {
  db.run(TABLE);
  const plans = new Map<string, Map<string, number>>();
  const childrenOf = (plan: string) => {
    const known = plans.get(plan);
    if (known) return known;
    if (plans.size >= PLANS_MAX) plans.delete(plans.keys().next().value as string);
    const children = new Map(db.run(READ, plan).map(({ name, until }) => [name as string, until as number]));
    plans.set(plan, children);
    return children;
  };
  const write = (plan: string, child: string, until: number) => {
    db.run(WRITE, plan, child, until);
    childrenOf(plan).set(child, until);
  };
  return {
    admit(plan, child, most) {
      const children = childrenOf(plan);
      const until = children.get(child);
      if (until === undefined && children.size >= most) return false;
      // Not to be forgotten while it is being asked.
      if ((until ?? 0) < now()) write(plan, child, now() + STORE_MS);
      return true;
    },
    keep(plan, child, until) {
      // Ahead by as much again, so that it is written once in a while and never too low.
      if ((childrenOf(plan).get(child) ?? 0) < until) write(plan, child, until + STORE_MS);
    },
    sweep(before) {
      const gone = db.run(OLD, before).map(({ plan, name }) => ({ plan: plan as string, child: name as string }));
      if (gone.length > 0) db.run(SWEEP, before);
      for (const { plan, child } of gone) plans.get(plan)?.delete(child);
      return gone;
    },
  };
}
