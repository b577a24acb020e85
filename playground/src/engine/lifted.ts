/**
 * The lifted view: weights, biases and activations are free; products and counts are minimised out.
 *
 * A product is always weight times activation, and a count is the best one that its bits can hold,
 * so the energy of a neuron depends only on its activation and on rho, the number of +1 among its
 * terms: a small table. Zero-energy states are those of the paper's QUBO.
 */

import { accepts, type Replica, type View } from "./annealing";
import { fieldReward, type Problem, type Terms, UNIT } from "./problem";
import type { Generator } from "./random";

/** Energies of neurons with one number of terms: by activation, then by rho. */
interface Table {
  readonly energies: Int32Array; // in thousandths
  readonly counts: Int32Array; // the best chi
  readonly width: number; // rho from 0 to width - 1
}

/** Minimise the energy of a neuron over its count bits, by trying all of them. */
export function neuronTable(terms: number, topBit: number, shift: number, gamma: number): Table {
  const width = terms + 1;
  const energies = new Int32Array(2 * width).fill(2 ** 31 - 1);
  const counts = new Int32Array(2 * width);
  for (let y = 0; y < 2; y++)
    for (let rho = 0; rho < width; rho++) {
      const wanted = rho + shift - (y << topBit);
      const nearest = Math.min(Math.max(wanted, 0), (1 << topBit) - 1);
      for (let n = 0; n < 1 << topBit; n++) {
        const count = (nearest + n) % (1 << topBit); // the nearest wins ties
        const written = 2 * ((y << topBit) + count - shift) - terms;
        const energy = UNIT * (wanted - count) ** 2 - gamma * (2 * y - 1) * written;
        if (energy < energies[y * width + rho]!) {
          energies[y * width + rho] = energy;
          counts[y * width + rho] = count;
        }
      }
    }
  return { energies, counts, width };
}

export class LiftedView implements View {
  readonly name = "lifted";
  readonly variableCount: number;
  readonly tables: Int32Array; // all tables, one after the other
  readonly tableStart: Int32Array; // by neuron
  readonly tableWidth: Int32Array; // by neuron
  readonly bestCounts: Int32Array; // as `tables`
  // arcs of weight w: weightStarts[w] to weightStarts[w + 1]
  readonly weightStarts: Int32Array;
  readonly weightSources: Int32Array;
  readonly weightTargets: Int32Array; // neurons
  // outgoing groups of hidden node h, one for each target; their arcs
  readonly groupStarts: Int32Array;
  readonly groupTargets: Int32Array;
  readonly arcStarts: Int32Array;
  readonly arcWeights: Int32Array;

  constructor(readonly problem: Problem) {
    const { topology, neuronCount, strengths } = problem;
    this.variableCount = problem.starts[3]!;
    this.tableStart = new Int32Array(neuronCount);
    this.tableWidth = topology.fanIn.slice(topology.inputCount).map((fanIn) => fanIn + 2);
    const energies: number[] = [];
    const counts: number[] = [];
    const startOf = new Map<number, number>();
    this.tableWidth.forEach((width, j) => {
      if (!startOf.has(width)) {
        const table = neuronTable(
          width - 1,
          problem.topBit[j]!,
          problem.shift[j]!,
          strengths.margin,
        );
        startOf.set(width, energies.length);
        energies.push(...table.energies);
        counts.push(...table.counts);
      }
      this.tableStart[j] = startOf.get(width)!;
    });
    this.tables = Int32Array.from(energies);
    this.bestCounts = Int32Array.from(counts);
    const byWeight = grouped(topology.weightOf, topology.weightCount);
    this.weightStarts = byWeight.starts;
    this.weightSources = byWeight.members.map((arc) => topology.sourceOf[arc]!);
    this.weightTargets = byWeight.members.map(
      (arc) => topology.targetOf[arc]! - topology.inputCount,
    );
    const outgoing = groupsByTarget(problem);
    this.groupStarts = outgoing.groupStarts;
    this.groupTargets = outgoing.groupTargets;
    this.arcStarts = outgoing.arcStarts;
    this.arcWeights = outgoing.arcWeights;
  }

  start(generator: Generator): LiftedReplica {
    const bits = Uint8Array.from({ length: this.variableCount }, () => generator.bit());
    return new LiftedReplica(this, generator, bits);
  }
}

/** Return members 0, 1, ... in groups by key, each in order. */
function grouped(keys: Int32Array, count: number): { starts: Int32Array; members: Int32Array } {
  const starts = new Int32Array(count + 1);
  for (const key of keys) starts[key + 1]! += 1;
  for (let key = 0; key < count; key++) starts[key + 1]! += starts[key]!;
  const filled = starts.slice();
  const members = new Int32Array(keys.length);
  keys.forEach((key, member) => {
    members[filled[key]!++] = member;
  });
  return { starts, members };
}

function groupsByTarget(problem: Problem) {
  const { topology, hiddenCount } = problem;
  const byHidden: Map<number, number[]>[] = Array.from({ length: hiddenCount }, () => new Map());
  for (const arc of problem.productArcs) {
    const groups = byHidden[topology.sourceOf[arc]! - topology.inputCount]!;
    const target = topology.targetOf[arc]! - topology.inputCount;
    groups.set(target, [...(groups.get(target) ?? []), topology.weightOf[arc]!]);
  }
  const groupStarts = [0];
  const groupTargets: number[] = [];
  const arcStarts = [0];
  const arcWeights: number[] = [];
  for (const groups of byHidden) {
    for (const [target, weights] of groups) {
      groupTargets.push(target);
      arcWeights.push(...weights);
      arcStarts.push(arcWeights.length);
    }
    groupStarts.push(groupTargets.length);
  }
  return {
    groupStarts: Int32Array.from(groupStarts),
    groupTargets: Int32Array.from(groupTargets),
    arcStarts: Int32Array.from(arcStarts),
    arcWeights: Int32Array.from(arcWeights),
  };
}

export class LiftedReplica implements Replica {
  energy = 0;
  flips = 0;
  proposals = 0;
  sweeps = 0;
  next = 0;
  private readonly activations: Uint8Array; // examples x nodes
  private readonly rho: Int32Array; // examples x neurons

  constructor(
    readonly view: LiftedView,
    readonly generator: Generator,
    readonly bits: Uint8Array,
  ) {
    const { problem } = view;
    this.activations = activationsOf(problem, bits);
    this.rho = positiveTerms(problem, bits, this.activations);
    for (let site = 0; site < this.rho.length; site++)
      this.energy += view.tables[this.entry(site)]!;
    this.energy -= fieldReward(problem, bits);
  }

  /** Return where the table has the energy of example and neuron `site`. */
  private entry(site: number): number {
    const { view, activations, rho } = this;
    const { neuronCount, topology } = view.problem;
    const j = site % neuronCount;
    const node = ((site - j) / neuronCount) * topology.nodeCount + topology.inputCount + j;
    return view.tableStart[j]! + activations[node]! * view.tableWidth[j]! + rho[site]!;
  }

  propose(end: number, temperature: number, stopsAtFlip: boolean): number {
    const { generator } = this;
    const first = this.next;
    let flipped = -1;
    let i = first;
    for (; i < end && !(stopsAtFlip && flipped >= 0); i++) {
      const cost = this.cost(i);
      if (cost > 0 && !accepts(cost, temperature, generator)) continue;
      this.flip(i);
      this.energy += cost;
      this.flips += 1;
      flipped = i;
    }
    this.proposals += i - first;
    this.next = i;
    return flipped;
  }

  /** Return what flipping a variable costs, in thousandths. */
  cost(i: number): number {
    const { starts } = this.view.problem;
    if (i < starts[1]!) return this.costOfWeight(i);
    return i < starts[2]! ? this.costOfBias(i) : this.costOfActivation(i);
  }

  private costOfWeight(w: number): number {
    const { problem, weightStarts, weightSources, weightTargets } = this.view;
    const { tables, tableStart, tableWidth } = this.view;
    const { neuronCount, exampleCount } = problem;
    const { nodeCount, inputCount } = problem.topology;
    const { activations, rho, bits } = this;
    const bit = bits[w]!;
    const last = weightStarts[w + 1]!;
    let cost = this.costOfField(w);
    for (let e = weightStarts[w]!; e < last; e++) {
      const j = weightTargets[e]!;
      const start = tableStart[j]!;
      const width = tableWidth[j]!;
      let source = weightSources[e]!;
      let own = inputCount + j;
      let site = j;
      for (let k = 0; k < exampleCount; k++) {
        const place = start + activations[own]! * width + rho[site]!;
        cost += tables[activations[source] === bit ? place - 1 : place + 1]! - tables[place]!;
        source += nodeCount;
        own += nodeCount;
        site += neuronCount;
      }
    }
    return cost;
  }

  private costOfBias(i: number): number {
    const { problem, tables, tableStart, tableWidth } = this.view;
    const { neuronCount, exampleCount, starts } = problem;
    const { nodeCount, inputCount } = problem.topology;
    const j = i - starts[1]!;
    const step = this.bits[i] ? -1 : 1;
    let cost = this.costOfField(i);
    for (let k = 0; k < exampleCount; k++) {
      const own = this.activations[k * nodeCount + inputCount + j]!;
      const place = tableStart[j]! + own * tableWidth[j]! + this.rho[k * neuronCount + j]!;
      cost += tables[place + step]! - tables[place]!;
    }
    return cost;
  }

  private costOfField(i: number): number {
    const strength = this.view.problem.strengths.field[i]!;
    return this.bits[i] ? 2 * strength : -2 * strength;
  }

  private costOfActivation(i: number): number {
    const { problem, tables, tableStart, tableWidth } = this.view;
    const { groupStarts, groupTargets, arcStarts, arcWeights } = this.view;
    const { hiddenCount, neuronCount } = problem;
    const { nodeCount, inputCount } = problem.topology;
    const { activations, rho, bits } = this;
    const rank = i - problem.starts[2]!;
    const h = rank % hiddenCount;
    const k = (rank - h) / hiddenCount;
    const bit = bits[i]!;
    const ownPlace = tableStart[h]! + rho[k * neuronCount + h]!;
    const change = bit ? -tableWidth[h]! : tableWidth[h]!;
    const before = ownPlace + bit * tableWidth[h]!;
    let cost = tables[before + change]! - tables[before]!;
    for (let g = groupStarts[h]!; g < groupStarts[h + 1]!; g++) {
      const j = groupTargets[g]!;
      const own = activations[k * nodeCount + inputCount + j]!;
      const place = tableStart[j]! + own * tableWidth[j]! + rho[k * neuronCount + j]!;
      let step = 0;
      for (let e = arcStarts[g]!; e < arcStarts[g + 1]!; e++)
        step += bits[arcWeights[e]!] === bit ? -1 : 1;
      cost += tables[place + step]! - tables[place]!;
    }
    return cost;
  }

  private flip(i: number): void {
    const { starts } = this.view.problem;
    if (i < starts[1]!) this.flipWeight(i);
    else if (i < starts[2]!) this.flipBias(i);
    else this.flipActivation(i);
    this.bits[i]! ^= 1;
  }

  private flipWeight(w: number): void {
    const { problem, weightStarts, weightSources, weightTargets } = this.view;
    const { nodeCount } = problem.topology;
    for (let e = weightStarts[w]!; e < weightStarts[w + 1]!; e++)
      for (let k = 0; k < problem.exampleCount; k++) {
        const isPositive = this.activations[k * nodeCount + weightSources[e]!] === this.bits[w];
        this.rho[k * problem.neuronCount + weightTargets[e]!]! += isPositive ? -1 : 1;
      }
  }

  private flipBias(i: number): void {
    const { exampleCount, neuronCount, starts } = this.view.problem;
    for (let k = 0; k < exampleCount; k++)
      this.rho[k * neuronCount + i - starts[1]!]! += this.bits[i] ? -1 : 1;
  }

  private flipActivation(i: number): void {
    const { problem, groupStarts, groupTargets, arcStarts, arcWeights } = this.view;
    const { hiddenCount, neuronCount, topology } = problem;
    const rank = i - problem.starts[2]!;
    const h = rank % hiddenCount;
    const k = (rank - h) / hiddenCount;
    for (let g = groupStarts[h]!; g < groupStarts[h + 1]!; g++)
      for (let e = arcStarts[g]!; e < arcStarts[g + 1]!; e++) {
        const isPositive = this.bits[arcWeights[e]!] === this.bits[i];
        this.rho[k * neuronCount + groupTargets[g]!]! += isPositive ? -1 : 1;
      }
    this.activations[k * topology.nodeCount + topology.inputCount + h]! ^= 1;
  }

  terms(): Terms {
    return termsAt(this.view, this.bits, this.activations, this.rho);
  }
}

/** Return the bits of all activations, examples x nodes, for bits that begin as the QUBO's do. */
export function activationsOf(problem: Problem, bits: Uint8Array): Uint8Array {
  const { topology, hiddenCount, exampleCount, starts } = problem;
  const activations = problem.knownBits.slice();
  for (let k = 0; k < exampleCount; k++)
    for (let h = 0; h < hiddenCount; h++)
      activations[k * topology.nodeCount + topology.inputCount + h] =
        bits[starts[2]! + k * hiddenCount + h]!;
  return activations;
}

/** Return rho, the number of +1 among the terms of each neuron, examples x neurons. */
export function positiveTerms(
  problem: Problem,
  bits: Uint8Array,
  activations: Uint8Array,
): Int32Array {
  const { topology, neuronCount, exampleCount, starts } = problem;
  const rho = new Int32Array(exampleCount * neuronCount);
  for (let k = 0; k < exampleCount; k++) {
    for (let j = 0; j < neuronCount; j++) rho[k * neuronCount + j] = bits[starts[1]! + j]!;
    topology.targetOf.forEach((target, arc) => {
      const y = activations[k * topology.nodeCount + topology.sourceOf[arc]!]!;
      const isPositive = bits[topology.weightOf[arc]!] === y;
      rho[k * neuronCount + target - topology.inputCount]! += Number(isPositive);
    });
  }
  return rho;
}

/** Return all terms of a lifted state, with exact products and the best counts. */
export function liftedTerms(view: LiftedView, bits: Uint8Array): Terms {
  const activations = activationsOf(view.problem, bits);
  return termsAt(view, bits, activations, positiveTerms(view.problem, bits, activations));
}

function termsAt(
  view: LiftedView,
  bits: Uint8Array,
  activations: Uint8Array,
  rho: Int32Array,
): Terms {
  const { problem } = view;
  const { neuronCount, topology, exampleCount, topBit, shift } = problem;
  let [activation, margin, brokenNeurons] = [0, 0, 0];
  for (let k = 0; k < exampleCount; k++)
    for (let j = 0; j < neuronCount; j++) {
      const y = activations[k * topology.nodeCount + topology.inputCount + j]!;
      const positive = rho[k * neuronCount + j]!;
      const count = view.bestCounts[view.tableStart[j]! + y * view.tableWidth[j]! + positive]!;
      const written = (y << topBit[j]!) + count - shift[j]!;
      activation += (positive - written) ** 2;
      brokenNeurons += Number(positive !== written);
      margin += (2 * y - 1) * (2 * written - (view.tableWidth[j]! - 1));
    }
  const field = fieldReward(problem, bits);
  return { activation, product: 0, margin, field, brokenNeurons, brokenProducts: 0 };
}

/** Return the full assignment of the QUBO that a lifted state implies. */
export function liftBack(view: LiftedView, bits: Uint8Array): Uint8Array {
  const { problem } = view;
  const { topology, exampleCount, neuronCount, starts, countWidth, countStart, topBit } = problem;
  const full = new Uint8Array(starts[5]!);
  full.set(bits.subarray(0, starts[3]!));
  const activations = activationsOf(problem, bits);
  const rho = positiveTerms(problem, bits, activations);
  for (let k = 0; k < exampleCount; k++) {
    for (let j = 0; j < neuronCount; j++) {
      const y = activations[k * topology.nodeCount + topology.inputCount + j]!;
      const place = view.tableStart[j]! + y * view.tableWidth[j]! + rho[k * neuronCount + j]!;
      for (let l = 0; l < topBit[j]!; l++)
        full[starts[3]! + k * countWidth + countStart[j]! + l] = (view.bestCounts[place]! >> l) & 1;
    }
    problem.productArcs.forEach((arc, rank) => {
      const y = activations[k * topology.nodeCount + topology.sourceOf[arc]!]!;
      full[starts[4]! + k * problem.productArcs.length + rank] = bits[topology.weightOf[arc]!]! & y;
    });
  }
  return full;
}
