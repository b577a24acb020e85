/** What the page and its worker tell each other. */

import type { Terms } from "./engine/problem";
import type { Road, State } from "./engine/state";

export type Order =
  | { readonly type: "pose"; readonly state: State; readonly generation: number }
  | { readonly type: "run"; readonly rate: number } // sweeps a second; Infinity: as many as possible
  | { readonly type: "pause" }
  | { readonly type: "drawn" } // the last frame is on the screen; the next one may come
  | { readonly type: "flip" }
  | { readonly type: "sweep" }
  | { readonly type: "show"; readonly road: Road; readonly replica: number }
  | { readonly type: "heat"; readonly temperature: number | null } // null: as scheduled
  | {
      readonly type: "probe";
      readonly id: number;
      readonly members: readonly Int8Array[];
      readonly image: readonly number[];
    };

/** All replicas of one view. */
export interface RoadFrame {
  readonly variables: number;
  readonly couplings: number; // 0 unless it is a QUBO
  readonly energies: Float64Array; // by replica, in thousandths
  readonly broken: Int32Array; // violated constraints, by replica
  readonly flips: number;
  readonly proposals: number;
  readonly feasible: number;
  readonly feasibleAfter: Float64Array; // share of replicas, by sweep
}

export interface Frame {
  readonly type: "frame";
  readonly generation: number;
  readonly sweep: number; // complete ones
  readonly sweepCount: number;
  readonly temperature: number;
  readonly isRunning: boolean;
  readonly isDone: boolean;
  readonly rate: number; // proposals a second
  readonly roads: Readonly<Partial<Record<Road, RoadFrame>>>;
  readonly road: Road; // of the shown replica
  readonly replica: number;
  readonly bits: Uint8Array;
  readonly flipped: number; // the variable of a single flip, or -1
  readonly next: number; // the next variable of the sweep
  readonly terms: Terms;
  readonly history: {
    readonly temperature: Float64Array;
    readonly energy: Float64Array;
    readonly broken: Float64Array;
  };
  readonly parameters: Uint8Array; // replicas x (weights, biases), of the shown road
}

export interface Probed {
  readonly type: "probed";
  readonly id: number;
  readonly single: Flips;
  readonly all: Flips | null;
}

export interface Flips {
  readonly flips: number;
  readonly isExact: boolean;
  readonly inputs: readonly number[];
}

export type Answer = Frame | Probed;
