/**
 * The fewest input flips that change an answer, exactly.
 *
 * Networks that vote, inputs -> flips. Inputs that act alike on every neuron that reads inputs are
 * interchangeable, so only their numbers count; combinations are tried by rising number of flips.
 * The answer is the vector of output spins, for a committee the majority of each.
 */

import { majority, type Network } from "./network";

export interface Robustness {
  readonly flips: number; // the fewest, or a lower bound
  readonly isExact: boolean;
  readonly inputs: readonly number[]; // which ones; empty unless exact and some change exists
}

/** A committee whose first layer is kept up to date while inputs flip. */
class Probe {
  readonly sums: Int32Array; // of all members, by neuron: the part that inputs contribute, and biases
  readonly effects: Int32Array[]; // by input: what its flip adds, by member and neuron
  private readonly reach: Int32Array; // the largest size of those, by member and neuron
  private readonly activations: Int8Array;
  private readonly last: Int32Array; // pre-activations of one member
  private readonly outputs: Int32Array; // pre-activations by member and output, at the last answer
  private readonly isShallow: boolean; // one hidden layer without skips
  private readonly outputReach: number; // what a hidden neuron can change an output by
  private readonly votes: Int32Array;
  private readonly later: { source: Int32Array; target: Int32Array; weight: Int32Array };

  constructor(
    private readonly members: readonly Network[],
    inputs: ArrayLike<number>,
  ) {
    const { topology } = members[0]!;
    const { inputCount, nodeCount, columnCount, sourceOf, targetOf, weightOf } = topology;
    const neurons = nodeCount - inputCount;
    this.sums = new Int32Array(members.length * neurons);
    this.effects = Array.from({ length: columnCount }, () => new Int32Array(this.sums.length));
    this.activations = new Int8Array(neurons);
    this.last = new Int32Array(neurons);
    this.isShallow = topology.layers.length === 2 && !topology.hasSkips;
    this.outputReach = 2 * (topology.layers.at(-1)!.levels - 1);
    this.outputs = new Int32Array(members.length * topology.outputCount);
    this.votes = new Int32Array(topology.outputCount);
    const fromNeurons: number[] = [];
    members.forEach(({ spins }, m) => {
      const start = m * neurons;
      for (let j = 0; j < neurons; j++) this.sums[start + j] = spins[topology.weightCount + j]!;
      sourceOf.forEach((source, arc) => {
        if (source >= inputCount) {
          if (m === 0) fromNeurons.push(arc);
          return;
        }
        const place = start + targetOf[arc]! - inputCount;
        const spin = source < columnCount ? (inputs[source]! > 0 ? 1 : -1) : 1;
        const term = spins[weightOf[arc]!]! * spin;
        this.sums[place]! += term;
        if (source < columnCount) this.effects[source]![place]! -= 2 * term;
      });
    });
    this.reach = new Int32Array(this.sums.length);
    for (const effect of this.effects)
      for (let place = 0; place < effect.length; place++)
        this.reach[place] = Math.max(this.reach[place]!, Math.abs(effect[place]!));
    const pick = (array: Int32Array) => Int32Array.from(fromNeurons, (arc) => array[arc]!);
    this.later = { source: pick(sourceOf), target: pick(targetOf), weight: pick(weightOf) };
  }

  add(effect: Int32Array, times: number): void {
    const { sums } = this;
    for (let place = 0; place < sums.length; place++) sums[place]! += times * effect[place]!;
  }

  /** Return the answer for the present sums, and keep the outputs of every member. */
  answer(): Int8Array {
    const { members, sums, activations, later, outputs } = this;
    const { inputCount, nodeCount, outputCount } = members[0]!.topology;
    const neurons = nodeCount - inputCount;
    this.votes.fill(0);
    members.forEach(({ spins }, m) => {
      const start = m * neurons;
      let arc = 0;
      for (let j = 0; j < neurons; j++) {
        let sum = sums[start + j]!;
        for (; arc < later.source.length && later.target[arc] === inputCount + j; arc++)
          sum += spins[later.weight[arc]!]! * activations[later.source[arc]! - inputCount]!;
        this.last[j] = sum;
        activations[j] = sum > 0 ? 1 : -1;
      }
      for (let o = 0; o < outputCount; o++) {
        outputs[m * outputCount + o] = this.last[neurons - outputCount + o]!;
        this.votes[o]! += activations[neurons - outputCount + o]!;
      }
    });
    return majority(this.votes);
  }

  /**
   * Return whether `left` more flips might change a vote, by the last answer. The majority of an
   * output changes only if enough members leave it, and each of those needs some flips.
   */
  mightChange(left: number): boolean {
    const { members, outputs, votes } = this;
    const { outputCount } = members[0]!.topology;
    const leaving = new Int32Array(outputCount); // members that may leave the majority
    for (let m = 0; m < members.length; m++) {
      const needed = this.flipsOfNeurons(m);
      for (let o = 0; o < outputCount; o++) {
        const sum = outputs[m * outputCount + o]!;
        const isInMajority = sum > 0 === votes[o]! > 0;
        if (isInMajority && this.leastFlips(needed, sum) <= left) leaving[o]! += 1;
      }
    }
    return leaving.some((count, o) =>
      votes[o]! > 0 ? 2 * count >= votes[o]! : 2 * count > -votes[o]!,
    );
  }

  /** Return how many flips change the sign of each neuron of a member that reads inputs, sorted. */
  private flipsOfNeurons(m: number): number[] {
    const { sums, reach } = this;
    const { inputCount, nodeCount } = this.members[0]!.topology;
    const neurons = nodeCount - inputCount;
    const needed: number[] = [];
    for (let place = m * neurons; place < (m + 1) * neurons; place++) {
      const [sum, each] = [sums[place]!, reach[place]!];
      if (each > 0) needed.push(sum > 0 ? Math.ceil(sum / each) : Math.floor(-sum / each) + 1);
    }
    return needed.sort((a, b) => a - b);
  }

  /** Return how many flips an output needs at least, given those of the neurons before it. */
  private leastFlips(needed: readonly number[], sum: number): number {
    if (!this.isShallow) return needed[0]!;
    const change = sum > 0 ? sum : 1 - sum;
    const neuronCount = Math.ceil(change / this.outputReach); // hidden neurons that must change
    return needed[neuronCount - 1] ?? Number.POSITIVE_INFINITY;
  }
}

/** Find the fewest flips; after `budget` neurons, return how many flips are needed at least. */
export function robustness(
  members: readonly Network[],
  inputs: ArrayLike<number>,
  budget = 10_000_000,
): Robustness {
  const probe = new Probe(members, inputs);
  const groups = alike(probe.effects);
  const before = probe.answer();
  const used = groups.map(() => 0);
  let spent = 0;

  /** Try all ways to flip `left` more inputs from group g on; null if the budget is spent. */
  const search = (g: number, left: number): boolean | null => {
    spent += probe.sums.length;
    if (spent > budget) return null;
    const isChanged = probe.answer().some((spin, o) => spin !== before[o]);
    if (isChanged || left === 0) return isChanged;
    if (!probe.mightChange(left)) return false;
    for (let group = g; group < groups.length; group++) {
      const { effect, inputs: own } = groups[group]!;
      if (used[group] === own.length) continue;
      probe.add(effect, 1);
      used[group]! += 1;
      const found = search(group, left - 1);
      if (found) return true;
      probe.add(effect, -1);
      used[group]! -= 1;
      if (found === null) return null;
    }
    return false;
  };

  for (let flips = 1; flips <= probe.effects.length; flips++) {
    const found = search(0, flips);
    if (found === null) return { flips, isExact: false, inputs: [] };
    if (found) {
      const chosen = groups.flatMap((group, g) => group.inputs.slice(0, used[g]));
      return { flips, isExact: true, inputs: chosen };
    }
  }
  return { flips: Number.POSITIVE_INFINITY, isExact: true, inputs: [] };
}

function alike(effects: readonly Int32Array[]): { effect: Int32Array; inputs: number[] }[] {
  const groups = new Map<string, { effect: Int32Array; inputs: number[] }>();
  effects.forEach((effect, input) => {
    const key = effect.join();
    const group = groups.get(key) ?? { effect, inputs: [] };
    group.inputs.push(input);
    groups.set(key, group);
  });
  return [...groups.values()];
}
