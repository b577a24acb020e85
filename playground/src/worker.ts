/** Anneal away from the page: orders in, frames out. */

import { UNIT } from "./engine/problem";
import { couplingCount, QuboView } from "./engine/qubo";
import { type Lane, Race } from "./engine/race";
import { robustness } from "./engine/robustness";
import { type Posed, posedFrom, type Road } from "./engine/state";
import type { Answer, Flips, Order, RoadFrame } from "./protocol";

const FRAME = 16; // milliseconds
const BUSY = 12; // of them for annealing

const port = self as unknown as {
  postMessage(answer: Answer): void;
  onmessage: (event: MessageEvent<Order>) => void;
};

class Session {
  private readonly race: Race;
  private isRunning = false;
  private sweepsPerSecond = 60;
  private owed = 0; // sweeps
  private road: Road = "lifted";
  private replica = 0;
  private flipped = -1;
  private rate = 0;
  private isAhead = false; // a frame was sent that is not yet drawn

  constructor(
    readonly posed: Posed,
    private readonly generation: number,
  ) {
    this.race = new Race(posed.problem, posed.state);
    this.road = posed.state.road;
  }

  obey(order: Order): void {
    if (order.type === "drawn") {
      this.isAhead = false;
      return;
    }
    if (order.type === "run") [this.isRunning, this.sweepsPerSecond] = [true, order.rate];
    if (order.type === "heat") this.race.byHand = order.temperature;
    if (order.type === "show") [this.road, this.replica] = [order.road, order.replica];
    if (order.type === "pause" || order.type === "flip" || order.type === "sweep") {
      this.isRunning = false;
      this.rate = 0;
    }
    this.flipped = order.type === "flip" ? this.race.flip(this.road, this.replica) : -1;
    if (order.type === "sweep") this.race.sweep();
    this.show();
  }

  /** Make the sweeps of one frame; return whether there are more to come. */
  work(): boolean {
    if (!this.isRunning) return false;
    const start = performance.now();
    const before = this.proposals;
    const isFast = !Number.isFinite(this.sweepsPerSecond);
    this.owed = isFast
      ? Number.POSITIVE_INFINITY
      : this.owed + (this.sweepsPerSecond * FRAME) / 1000;
    while (this.owed >= 1 && !this.race.isDone && performance.now() - start < BUSY) {
      this.race.sweep();
      this.owed -= 1;
    }
    this.owed = Math.min(this.owed, 1);
    const seconds = Math.max(performance.now() - start, 0.05) / 1000;
    if (this.proposals > before) this.rate = (this.proposals - before) / seconds;
    if (this.race.isDone) this.isRunning = false;
    if (!this.isAhead || !this.isRunning) this.show();
    return this.isRunning;
  }

  private get proposals(): number {
    const lanes = Object.values(this.race.lanes);
    return lanes.reduce((sum, lane) => sum + lane.total((replica) => replica.proposals), 0);
  }

  private get lane(): Lane {
    if (!this.race.lanes[this.road]) this.road = "lifted";
    return this.race.lanes[this.road]!;
  }

  private show(): void {
    const { race, lane } = this;
    this.isAhead = true;
    const shown = lane.replicas[Math.min(this.replica, lane.replicas.length - 1)]!;
    const r = lane.replicas.indexOf(shown);
    const count = this.posed.problem.starts[2]!;
    const parameters = new Uint8Array(lane.replicas.length * count);
    lane.replicas.forEach((one, n) => {
      parameters.set(one.bits.subarray(0, count), n * count);
    });
    const roads: Partial<Record<Road, RoadFrame>> = {};
    for (const [name, one] of Object.entries(race.lanes)) roads[name as Road] = roadFrame(one);
    port.postMessage({
      type: "frame",
      generation: this.generation,
      sweep: race.sweeps,
      sweepCount: race.schedule.length,
      temperature: race.temperature,
      isRunning: this.isRunning,
      isDone: race.isDone,
      rate: this.rate,
      roads,
      road: this.road,
      replica: r,
      bits: shown.bits.slice(),
      flipped: this.flipped,
      next: shown.next,
      terms: shown.terms(),
      history: {
        temperature: Float64Array.from(race.past),
        energy: Float64Array.from(lane.energies[r]!, (energy) => energy / UNIT),
        broken: Float64Array.from(lane.broken[r]!),
      },
      parameters,
    });
  }
}

function roadFrame(lane: Lane): RoadFrame {
  const broken = Int32Array.from(lane.broken, (violations) => violations.at(-1)!);
  return {
    variables: lane.view.variableCount,
    couplings: lane.view instanceof QuboView ? couplingCount(lane.view.qubo) : 0,
    energies: Float64Array.from(lane.replicas, (replica) => replica.energy),
    broken,
    flips: lane.total((replica) => replica.flips),
    proposals: lane.total((replica) => replica.proposals),
    feasible: broken.filter((count) => count === 0).length,
    feasibleAfter: Float64Array.from(lane.feasible),
  };
}

let session: Session | null = null;
let timer = 0;

function loop(): void {
  const start = performance.now();
  if (session?.work())
    timer = self.setTimeout(loop, Math.max(0, FRAME - (performance.now() - start)));
}

/** Compute the fewest flips of one network, and of all that vote. */
function probe(order: Order & { type: "probe" }): void {
  const { topology } = session!.posed;
  const members = order.members.map((spins) => ({ topology, spins }));
  const single = plain(robustness(members.slice(0, 1), order.image));
  const all = members.length > 2 ? plain(robustness(members.slice(1), order.image)) : null;
  port.postMessage({ type: "probed", id: order.id, single, all });
}

const plain = ({ flips, isExact, inputs }: Flips): Flips => ({ flips, isExact, inputs });

port.onmessage = ({ data: order }) => {
  if (order.type === "pose") {
    const posed = posedFrom(order.state);
    if (typeof posed !== "string") session = new Session(posed, order.generation);
    session?.obey(order);
  } else if (order.type === "probe") probe(order);
  else session?.obey(order);
  if (order.type === "drawn") return;
  clearTimeout(timer);
  loop();
};
