/**
 * Exponential and logarithm from additions, multiplications and divisions only.
 *
 * These operations round in the same way everywhere, so the page and Python get equal bits; Math.exp
 * and Math.log may differ in the last one. The twin is qubonn/playground/replay.py.
 */

const LN2 = 0.6931471805599453;
const LOG2_E = 1.4426950408889634;

const HALVES = Float64Array.from({ length: 64 }, (_, power) => 2 ** -power);
const RECIPROCALS = Float64Array.from({ length: 14 }, (_, n) => 1 / (n || 1));

/** Return e**-x for 0 <= x < 40. */
export function decay(x: number): number {
  const halvings = Math.floor(x * LOG2_E);
  const rest = halvings * LN2 - x;
  let sum = 1;
  for (let n = 13; n > 0; n--) sum = 1 + sum * rest * RECIPROCALS[n]!;
  return sum * HALVES[halvings]!;
}

/** Return the natural logarithm of x > 0. */
export function logarithm(x: number): number {
  let power = 0;
  let mantissa = x;
  for (; mantissa >= 1.5; power++) mantissa /= 2;
  for (; mantissa < 0.75; power--) mantissa *= 2;
  const ratio = (mantissa - 1) / (mantissa + 1);
  const square = ratio * ratio;
  let sum = 0;
  for (let n = 25; n > 0; n -= 2) sum = sum * square + 1 / n;
  return 2 * ratio * sum + power * LN2;
}
