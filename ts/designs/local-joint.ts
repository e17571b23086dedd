import type { LocalKey, LocalStats, Policy } from "../contract.ts";
import type { KeyTable, Table } from "../core/table.ts";
import { allOf, type Joint } from "../policies/all-of.ts";

/** Many keys under several policies that must all admit: a table for each. */
export class JointTable implements KeyTable {
  readonly #policies: readonly Policy[];
  readonly #tables: readonly Table[];

  constructor(policies: readonly Policy[], tables: readonly Table[]) {
    this.#policies = policies;
    this.#tables = tables;
  }

  take(key: LocalKey, now: number, cost: number): boolean {
    return this.decide(key, now, cost, true).admitted;
  }

  /** All or nothing. */
  decide(key: LocalKey, now: number, cost: number, commit: boolean): Joint {
    if (commit) {
      const looked = this.#join((table) => table.look(key, now, cost));
      if (!looked.admitted) return looked;
    }
    return this.#join((table) => table.decide(key, now, cost, commit));
  }

  refund(key: LocalKey, now: number, count: number): Joint {
    return this.#join((table) => table.refund(key, now, count));
  }

  takeMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined, into: Uint8Array): void {
    for (const [nth, { admitted }] of this.decideMany(keys, now, costs).entries()) into[nth] = admitted ? 1 : 0;
  }

  decideMany(keys: readonly LocalKey[], now: number, costs: readonly number[] | undefined): Joint[] {
    return keys.map((key, nth) => this.decide(key, now, costs?.[nth] ?? 1, true));
  }

  /** Of the table that holds most keys, with the memory of all. */
  stats(): LocalStats {
    const all = this.#tables.map((table) => table.stats());
    const fullest = all.reduce((a, b) => (b.keys > a.keys ? b : a));
    return { ...fullest, bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  #join(ask: (table: Table) => ReturnType<Table["decide"]>): Joint {
    return allOf(this.#policies, this.#tables.map(ask));
  }
}
