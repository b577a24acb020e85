/** Replicas of one problem in both views, annealed at the same temperatures, with their history. */

import { oneFlip, type Replica, sweep, temperatures, type View } from "./annealing";
import { LiftedView } from "./lifted";
import type { Problem } from "./problem";
import { QuboView } from "./qubo";
import { Generator } from "./random";
import type { Road, State } from "./state";

export const MOST_VARIABLES = 4000; // of a QUBO that is annealed here
export const MOST_SWEEPS = 6000; // while the temperature is set by hand

export class Lane {
  readonly replicas: Replica[];
  readonly energies: number[][]; // by replica, then sweep
  readonly broken: number[][];
  readonly feasible: number[] = []; // share of replicas, by sweep

  constructor(
    readonly view: View,
    readonly problem: Problem,
    count: number,
    seed: number,
  ) {
    this.replicas = Array.from({ length: count }, (_, r) => view.start(new Generator(seed, r)));
    this.energies = this.replicas.map(() => []);
    this.broken = this.replicas.map(() => []);
    this.record();
  }

  /** Write down energies and violations after a sweep. */
  record(): void {
    let feasible = 0;
    this.replicas.forEach((replica, r) => {
      const { brokenNeurons, brokenProducts } = replica.terms();
      this.energies[r]!.push(replica.energy);
      this.broken[r]!.push(brokenNeurons + brokenProducts);
      feasible += Number(brokenNeurons + brokenProducts === 0);
    });
    this.feasible.push(feasible / this.replicas.length);
  }

  /** Write down the present state of one replica in place of that after its last sweep. */
  correct(r: number): void {
    const { brokenNeurons, brokenProducts } = this.replicas[r]!.terms();
    this.energies[r]![this.energies[r]!.length - 1] = this.replicas[r]!.energy;
    this.broken[r]![this.broken[r]!.length - 1] = brokenNeurons + brokenProducts;
  }

  /** Finish the current sweep of every replica. */
  sweep(sweeps: number, temperature: number): void {
    for (const replica of this.replicas)
      if (replica.sweeps < sweeps) sweep(this.view, replica, temperature);
    this.record();
  }

  total(count: (replica: Replica) => number): number {
    return this.replicas.reduce((sum, replica) => sum + count(replica), 0);
  }
}

export class Race {
  readonly lanes: Partial<Record<Road, Lane>> = {};
  readonly schedule: Float64Array;
  readonly past: number[] = []; // temperatures of the sweeps made
  byHand: number | null = null; // a temperature instead of the schedule's
  sweeps = 0; // complete ones

  constructor(problem: Problem, state: State) {
    this.schedule = temperatures(state);
    const { replicas, seed } = state;
    this.lanes.lifted = new Lane(new LiftedView(problem), problem, replicas, seed);
    if (problem.starts[5]! <= MOST_VARIABLES)
      this.lanes.qubo = new Lane(new QuboView(problem), problem, replicas, seed);
  }

  get isDone(): boolean {
    return this.sweeps >= (this.byHand === null ? this.schedule.length : MOST_SWEEPS);
  }

  get temperature(): number {
    return this.byHand ?? this.schedule[this.sweeps] ?? 0;
  }

  sweep(): void {
    if (this.isDone) return;
    const { temperature } = this;
    for (const lane of Object.values(this.lanes)) lane.sweep(this.sweeps + 1, temperature);
    this.past.push(temperature);
    this.sweeps += 1;
  }

  /** Make one flip of one replica, after as many sweeps as that takes; return its variable. */
  flip(road: Road, replica: number): number {
    for (let tries = 0; tries < 50 && !this.isDone; tries++) {
      const lane = this.lanes[road] ?? this.lanes.lifted!;
      const one = lane.replicas[replica]!;
      const flipped = one.sweeps > this.sweeps ? -1 : oneFlip(lane.view, one, this.temperature);
      lane.correct(replica);
      if (flipped >= 0) return flipped;
      this.sweep();
    }
    return -1;
  }
}
