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
  private readonly activations: Int8Array;
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
    const pick = (array: Int32Array) => Int32Array.from(fromNeurons, (arc) => array[arc]!);
    this.later = { source: pick(sourceOf), target: pick(targetOf), weight: pick(weightOf) };
  }

  add(effect: Int32Array, times: number): void {
    const { sums } = this;
    for (let place = 0; place < sums.length; place++) sums[place]! += times * effect[place]!;
  }

  /** Return the answer for the present sums. */
  answer(): Int8Array {
    const { members, sums, activations, later } = this;
    const { inputCount, nodeCount, outputCount } = members[0]!.topology;
    const neurons = nodeCount - inputCount;
    const total = new Int32Array(outputCount);
    members.forEach(({ spins }, m) => {
      const start = m * neurons;
      let arc = 0;
      for (let j = 0; j < neurons; j++) {
        let sum = sums[start + j]!;
        for (; arc < later.source.length && later.target[arc] === inputCount + j; arc++)
          sum += spins[later.weight[arc]!]! * activations[later.source[arc]! - inputCount]!;
        activations[j] = sum > 0 ? 1 : -1;
      }
      for (let o = 0; o < outputCount; o++) total[o]! += activations[neurons - outputCount + o]!;
    });
    return majority(total);
  }
}

/** Find the fewest flips; after `budget` answers, return how many are needed at least. */
export function robustness(
  members: readonly Network[],
  inputs: ArrayLike<number>,
  budget = 300_000,
): Robustness {
  const probe = new Probe(members, inputs);
  const groups = alike(probe.effects);
  const before = probe.answer();
  const used = groups.map(() => 0);
  let spent = 0;

  /** Try all ways to flip `left` more inputs from group g on; return whether one changes it. */
  const search = (g: number, left: number): boolean | null => {
    if (left === 0) {
      if (++spent > budget / members.length) return null;
      return probe.answer().some((spin, o) => spin !== before[o]);
    }
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
