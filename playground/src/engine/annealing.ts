/**
 * Metropolis annealing of replicas, one sweep after the other.
 *
 * A sweep proposes each variable in order. A flip that costs nothing is always made; one that costs
 * more is made with probability e**(-cost / temperature), decided by one random number, which is
 * drawn only if that is more than e**-22. Each replica has its own stream, so the order in which
 * replicas are advanced does not matter. Twin: qubonn/playground/replay.py.
 */

import { decay, logarithm } from "./arithmetic";
import { type Terms, UNIT } from "./problem";
import type { Generator } from "./random";

export const QUENCH_SWEEPS = 10; // at temperature zero, at the end
export const LARGEST_RATIO = 22; // of cost and temperature that is still decided by chance

/** A view of one problem: what is free to flip. */
export interface View {
  readonly name: "lifted" | "qubo";
  readonly variableCount: number;
  start(generator: Generator): Replica;
}

/** The state of one replica. */
export interface Replica {
  readonly generator: Generator;
  readonly bits: Uint8Array; // by variable
  energy: number; // in thousandths
  flips: number;
  proposals: number;
  sweeps: number; // complete ones
  next: number; // the next variable of the current sweep
  /** Propose variables from `next` on; stop at `end`, or after the first flip if asked to. */
  propose(end: number, temperature: number, stopsAtFlip: boolean): number;
  terms(): Terms;
}

export interface Schedule {
  readonly hottest: number;
  readonly coldest: number;
  readonly sweeps: number; // those at temperature zero not counted
}

/** Return the temperature of each sweep: geometric from hottest to coldest, then zero. */
export function temperatures(schedule: Schedule): Float64Array {
  const { hottest, coldest, sweeps } = schedule;
  const range = logarithm(hottest / coldest);
  const cooling = new Float64Array(sweeps + QUENCH_SWEEPS);
  for (let k = 0; k < sweeps; k++)
    cooling[k] = hottest * decay((range * k) / Math.max(1, sweeps - 1));
  return cooling;
}

/** Return whether a cost above zero, in thousandths, is accepted. */
export function accepts(cost: number, temperature: number, generator: Generator): boolean {
  const ratio = cost / (UNIT * temperature); // infinite at temperature zero
  return ratio < LARGEST_RATIO && generator.next() < decay(ratio) * 4294967296;
}

/** Finish the current sweep of a replica. */
export function sweep(view: View, replica: Replica, temperature: number): void {
  replica.propose(view.variableCount, temperature, false);
  replica.next = 0;
  replica.sweeps += 1;
}

/** Propose until a flip is made or the sweep ends; return the variable flipped, or -1. */
export function oneFlip(view: View, replica: Replica, temperature: number): number {
  const flipped = replica.propose(view.variableCount, temperature, true);
  if (replica.next === view.variableCount) {
    replica.next = 0;
    replica.sweeps += 1;
  }
  return flipped;
}
