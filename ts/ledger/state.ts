import type { KeyState, PolicySpec } from "../contract.ts";
import { LimiterError } from "../errors.ts";
import type { Allotment, LedgerReply, RightsRequest } from "./messages.ts";

/** What a ledger keeps of a key. Plain JSON: all numbers are whole and below 2^53. */
export interface LedgerState {
  v: 1;
  policies: PolicySpec[];
  /** The state under each policy. */
  keys: KeyState[];
  /** When the policies were last changed, epoch ms; 0: never. */
  since: number;
  /** Tokens that may have been admitted since this was stored; absent: none. See keeper.ts. */
  reserved?: number;
  /** Tokens that were admitted beyond what each policy had; absent: none. They are paid before anything else. */
  debts?: number[];
  /** What is leased out; absent: nothing. */
  leases?: Lease[];
  /** A child's: tokens used under its plan, and given back, since it began. Never less than before. */
  total?: { used: number; back: number };
}

/** Tokens that a holder may spend without asking. They stay reserved until it ends. */
export interface Lease {
  holder: string;
  tokens: number;
  /** Tokens that the holder would like to have; all of them give its share in what there is. */
  want: number;
  /** The holder's total when it was last heard. */
  used: number;
  /** A child's total of what was given back, when it was last heard. */
  back?: number;
  /** When all of them count as used, epoch ms. */
  end: number;
  /** The seq of the request that it began with. */
  since?: number;
  /** What the holder may do without the ledger; absent: nothing. */
  rights?: Rights;
}

/** What a holder may admit while it hears nothing, as it told last, and what of it has been counted. */
export interface Rights extends Omit<RightsRequest, "heard" | "keep"> {
  /** When its last request came, epoch ms. */
  at: number;
  /** When the last request came whose answer the holder has heard. */
  heardAt: number;
  /** Until when what its share yields is booked, as far as it doesn't save it up. */
  bookedTo: number;
}

/**
 * What a ledger remembers of a holder, so that a retry changes nothing. The reply to many ops is
 * long and isn't kept: it follows from the state before, the time, and the request, which a
 * retry repeats. Where leases make the state longer than the reply, that is kept.
 */
export interface HolderState {
  /** Of its last request. */
  seq: number;
  /** When that came, epoch ms. */
  at: number;
  /** The key's state before it. */
  before: LedgerState | null;
  /** Kept instead of `before` where it is shorter. */
  reply?: LedgerReply;
  /** What a child was allotted for it. */
  allotment?: Allotment;
}

/** How long a holder that stays silent is remembered: far longer than anyone retries. */
export const HOLDER_MS = 10 * 60_000;

/**
 * The state in `text`, as JSON.stringify wrote it.
 * @throws {LimiterError} "storage": it is damaged, or was written by a later version
 */
export function parseState(text: string): LedgerState {
  let state: LedgerState;
  try {
    state = JSON.parse(text);
  } catch (cause) {
    throw new LimiterError("storage", "a stored ledger state is damaged: it is no JSON", { cause });
  }
  if (state?.v !== 1) {
    throw new LimiterError("storage", `a stored ledger state has version ${state?.v}; this version of sluice reads 1`);
  }
  return state;
}
