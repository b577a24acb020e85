/** What the page shows: the state, the problem posed from it, and the last frame of the worker. */

import { type Network, networkOf } from "../engine/network";
import { type Posed, posedFrom, type Road, START, type State } from "../engine/state";
import type { Answer, Frame, Order, Probed } from "../protocol";
import { prefersStill } from "./dom";

declare const WORKER_SOURCE: string;

export const RATES = [2, 15, 60, 240, Number.POSITIVE_INFINITY]; // sweeps a second
export const RATE_NAMES = ["2 sweeps/s", "15 sweeps/s", "60 sweeps/s", "240 sweeps/s", "fastest"];

const REST = 80; // milliseconds between two starts

type Listener<T> = (value: T) => void;

export class App {
  state: State = START;
  posed: Posed = posedFrom(START) as Posed;
  frame: Frame | null = null; // of the present problem; none between a change and its first frame
  rateIndex = 2;
  private generation = 0;
  private probeId = 0;
  private onProbed: Listener<Probed> = () => {};
  private readonly posing: Listener<Posed>[] = [];
  private readonly framing: Listener<Frame>[] = [];
  private readonly worker: Worker;
  private isWaiting = false;
  private replica = 0;
  private posedAt = Number.NEGATIVE_INFINITY;
  private posingLater = 0;

  constructor() {
    const source = new Blob([WORKER_SOURCE], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(source));
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.hear(data);
  }

  onPose(listener: Listener<Posed>): void {
    this.posing.push(listener);
  }

  onFrame(listener: Listener<Frame>): void {
    this.framing.push(listener);
  }

  /** Change the state and start again; return a sentence if the problem cannot be posed. */
  change(patch: Partial<State>, runs = !prefersStill()): string | null {
    const state = { ...this.state, ...patch };
    const posed = posedFrom(state);
    if (typeof posed === "string") return posed;
    this.state = state;
    this.posed = posed;
    this.replica = this.frame?.replica ?? this.replica;
    this.frame = null;
    for (const listener of this.posing) listener(posed);
    this.restart(runs);
    return null;
  }

  /** Change what leaves the problem as it is, such as names and test images; nothing restarts. */
  amend(patch: Partial<State>): void {
    const state = { ...this.state, ...patch };
    const posed = posedFrom(state);
    if (typeof posed === "string") return;
    this.state = state;
    this.posed = posed;
    for (const listener of this.posing) listener(posed);
    for (const listener of this.framing) if (this.frame) listener(this.frame);
  }

  /** Show another replica, or the other road. */
  show(road: Road, replica: number): void {
    this.state = { ...this.state, road };
    this.posed = { ...this.posed, state: this.state };
    this.replica = replica;
    this.order({ type: "show", road, replica });
  }

  /** Start again; while a slider is dragged, not more often than the worker can follow. */
  restart(runs = true): void {
    this.generation += 1;
    this.replica = this.frame?.replica ?? this.replica;
    this.frame = null;
    const pose = () => {
      this.posedAt = performance.now();
      this.order({ type: "pose", state: this.state, generation: this.generation });
      this.order({ type: "show", road: this.state.road, replica: this.replica });
      if (runs) this.run();
    };
    clearTimeout(this.posingLater);
    const early = REST - (performance.now() - this.posedAt);
    if (early > 0) this.posingLater = window.setTimeout(pose, early);
    else pose();
  }

  run(): void {
    this.order({ type: "run", rate: RATES[this.rateIndex]! });
  }

  order(order: Order): void {
    this.worker.postMessage(order);
  }

  /** The network of the shown replica. */
  get network(): Network {
    return networkOf(this.posed.topology, this.frame!.bits);
  }

  /** The networks of all replicas of the shown road that violate no constraint. */
  get committee(): Network[] {
    const { frame, posed } = this;
    const count = posed.problem.starts[2]!;
    const broken = frame?.roads[frame.road]?.broken ?? [];
    return [...broken].flatMap((violations, r) =>
      violations === 0
        ? [networkOf(posed.topology, frame!.parameters.subarray(r * count, (r + 1) * count))]
        : [],
    );
  }

  /** Compute the fewest flips that change the answers for an image, away from the page. */
  probe(image: readonly number[], then: Listener<Probed>): void {
    this.onProbed = then;
    this.probeId += 1;
    const members = [this.network, ...this.committee].map(({ spins }) => spins);
    this.order({ type: "probe", id: this.probeId, members, image });
  }

  private hear(answer: Answer): void {
    if (answer.type === "probed") {
      if (answer.id === this.probeId) this.onProbed(answer);
      return;
    }
    if (answer.generation !== this.generation) return;
    this.frame = answer;
    if (this.isWaiting) return;
    this.isWaiting = true;
    const draw = () => {
      if (!this.isWaiting) return;
      this.isWaiting = false;
      for (const listener of this.framing) if (this.frame) listener(this.frame);
      this.order({ type: "drawn" });
    };
    requestAnimationFrame(draw);
    setTimeout(draw, 250); // pages in the background get no animation frames
  }
}
