// A ledger's address is the limiter's name and the key in one string that every host can carry
// unchanged: well-formed Unicode without NUL, since UTF-8 has no lone surrogates and some
// stores stop at a NUL. No two pairs of name and key share an address.
const UNSAFE = /[\0\p{Cs}]/u;

function safe(text: string): string {
  return UNSAFE.test(text) ? `~${JSON.stringify(text)}` : `=${text}`;
}

/** Makes the addresses of one limiter's keys. */
export function addressesOf(name: string): (key: string) => string {
  const head = safe(name);
  const prefix = `${head.length}${head}`;
  return (key) => prefix + safe(key);
}
