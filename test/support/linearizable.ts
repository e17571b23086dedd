// A checker of histories after Wing and Gong, with Lowe's memory of what was tried: is there an
// order of the calls, each somewhere between its start and its end, in which a plain counter
// gives the same answers?

/** A call on one budget that doesn't refill, as its caller saw it. */
export interface Call {
  kind: "take" | "peek" | "refund" | "reset";
  amount: number;
  /** Order of events. `end` is Infinity if no answer came: it may have happened later, or never. */
  start: number;
  end: number;
  /** null: no answer came. A remaining of null says nothing of what is left. */
  answer: { success: boolean; remaining: number | null } | null;
}

/** What is left after the call on a budget of `limit`; null: the counter would answer otherwise. */
function after({ kind, amount, answer }: Call, left: number, limit: number): number | null {
  const cost = kind === "refund" || kind === "reset" ? 1 : amount;
  let next = left;
  if (kind === "refund") next = Math.min(left + amount, limit);
  if (kind === "reset") next = limit;
  const success = next >= cost;
  if (kind === "take" && success) next -= cost;
  if (answer === null) return next;
  const fits = answer.success === success && (answer.remaining === null || answer.remaining === next);
  return fits ? next : null;
}

/** Whether the history of one budget of `limit`, whole at first, is linearizable. */
export function isLinearizable(history: readonly Call[], limit: number): boolean {
  const calls = [...history].sort((a, b) => a.start - b.start);
  const tried = new Set<string>();
  const taken = calls.map(() => false);
  let open = calls.filter(({ answer }) => answer !== null).length;

  const search = (left: number): boolean => {
    if (open === 0) return true;
    const key = `${left}:${taken.map(Number).join("")}`;
    if (tried.has(key)) return false;
    tried.add(key);
    // Whoever ended first bounds what may come before it.
    let bound = Number.POSITIVE_INFINITY;
    for (const [nth, call] of calls.entries()) if (!taken[nth]) bound = Math.min(bound, call.end);
    for (const [nth, call] of calls.entries()) {
      if (call.start > bound) break;
      if (taken[nth]) continue;
      const next = after(call, left, limit);
      if (next === null) continue;
      taken[nth] = true;
      if (call.answer !== null) open--;
      if (search(next)) return true;
      taken[nth] = false;
      if (call.answer !== null) open++;
    }
    return false;
  };
  return search(limit);
}
