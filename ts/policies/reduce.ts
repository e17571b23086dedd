/** Greatest common divisor of two positive integers. */
function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/**
 * The largest fraction p/q <= rate/per with p <= pMax, in lowest terms.
 *
 * It is rate/per itself wherever that fits. Else the walk down the Stern–Brocot tree gives the
 * closest one from below, so that a limiter never admits faster than it was told to.
 *
 * @param rate  tokens, a positive integer
 * @param per   ms, a positive integer
 */
export function reduceRate(rate: number, per: number, pMax: number): { p: number; q: number; exact: boolean } {
  const divisor = gcd(rate, per);
  const p = rate / divisor;
  const q = per / divisor;
  if (p <= pMax) return { p, q, exact: true };
  // below <= p/q < above; the mediant of the two is the simplest fraction between them.
  const x = BigInt(p);
  const y = BigInt(q);
  const most = BigInt(pMax);
  let [lowP, lowQ, highP, highQ] = [0n, 1n, 1n, 0n];
  for (;;) {
    // Steps of `low` towards `high` while it stays <= x/y: (lowP + k highP) y <= x (lowQ + k highQ).
    let steps = (x * lowQ - lowP * y) / (highP * y - x * highQ);
    const fits = (most - lowP) / highP;
    if (steps > fits) steps = fits;
    lowP += steps * highP;
    lowQ += steps * highQ;
    // Steps of `high` towards `low` while it stays > x/y.
    const gap = x * lowQ - lowP * y;
    if (lowP + highP > most) return { p: Number(lowP), q: Number(lowQ), exact: false };
    const down = (highP * y - x * highQ - 1n) / gap;
    highP += down * lowP;
    highQ += down * lowQ;
  }
}
