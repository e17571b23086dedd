// A ledger's address is the limiter's name and the key in one string that every host can carry
// unchanged: well-formed Unicode without NUL, since UTF-8 has no lone surrogates and some
// stores stop at a NUL. No two pairs of name and key share an address.
const UNSAFE = /[\0\p{Cs}]/u;

function unsafe(text: string): string {
  return text.startsWith("=") ? text.slice(1) : JSON.parse(text.slice(1));
}

/** The key in an address of the limiter of that name. */
export function keyIn(address: string, name: string): string {
  return unsafe(address.slice(addressesOf(name)("").length - 1));
}

/**
 * Where a plan's child has its ledger, beside the plan's own. A plan's address ends with a key
 * in quotes, behind which nothing but a child's ever stands.
 */
export function childAddress(plan: string, child: string): string {
  return plan + safe(child);
}

/** Text that every host can carry; no two texts become the same. */
export function safe(text: string): string {
  return UNSAFE.test(text) ? `~${JSON.stringify(text)}` : `=${text}`;
}

/** Makes the addresses of one limiter's keys. */
export function addressesOf(name: string): (key: string) => string {
  const head = safe(name);
  const prefix = `${head.length}${head}`;
  return (key) => prefix + safe(key);
}
