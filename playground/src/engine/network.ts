/** A trained network: forward pass, committee, and the fewest input flips that change an answer. */

import type { Topology } from "./topology";

/** Weights by number, then biases by neuron; all -1 or +1. */
export interface Network {
  readonly topology: Topology;
  readonly spins: Int8Array;
}

export function networkOf(topology: Topology, bits: Uint8Array): Network {
  const count = topology.weightCount + topology.nodeCount - topology.inputCount;
  return { topology, spins: Int8Array.from(bits.subarray(0, count), (bit) => 2 * bit - 1) };
}

export interface Pass {
  readonly activations: Int8Array; // by node
  readonly sums: Int32Array; // pre-activations by neuron
}

/** Run one example; f(0) is -1. */
export function forward(network: Network, inputs: ArrayLike<number>): Pass {
  const { topology, spins } = network;
  const { inputCount, nodeCount, sourceOf, targetOf, weightOf, weightCount } = topology;
  const activations = new Int8Array(nodeCount);
  const sums = new Int32Array(nodeCount - inputCount);
  for (let i = 0; i < topology.columnCount; i++) activations[i] = inputs[i]! > 0 ? 1 : -1;
  if (topology.hasConstant) activations[topology.columnCount] = 1;
  let arc = 0;
  for (let node = inputCount; node < nodeCount; node++) {
    let sum = spins[weightCount + node - inputCount]!;
    for (; arc < sourceOf.length && targetOf[arc] === node; arc++)
      sum += spins[weightOf[arc]!]! * activations[sourceOf[arc]!]!;
    sums[node - inputCount] = sum;
    activations[node] = sum > 0 ? 1 : -1;
  }
  return { activations, sums };
}

/** Return the output spins of one example. */
export function outputs(network: Network, inputs: ArrayLike<number>): Int8Array {
  const { nodeCount, outputCount } = network.topology;
  return forward(network, inputs).activations.slice(nodeCount - outputCount);
}

/** Return the sum over members of each output. */
export function votes(members: readonly Network[], inputs: ArrayLike<number>): Int32Array {
  const sums = new Int32Array(members[0]!.topology.outputCount);
  for (const member of members)
    outputs(member, inputs).forEach((spin, o) => {
      sums[o]! += spin;
    });
  return sums;
}

/** Return the majority of each output; ties go to -1. */
export const majority = (sums: Int32Array): Int8Array =>
  Int8Array.from(sums, (sum) => (sum > 0 ? 1 : -1));

// ---- classes ----

/** Return the codeword of each class: a Gray code, most significant spin first. */
export function grayCode(classCount: number): number[][] {
  const width = Math.max(1, 32 - Math.clz32(classCount - 1));
  return Array.from({ length: classCount }, (_, n) =>
    Array.from(
      { length: width },
      (_, place) => 2 * (((n ^ (n >> 1)) >> (width - 1 - place)) & 1) - 1,
    ),
  );
}

/** Return the class whose codeword is nearest, the earliest of equals. */
export function nearestClass(codewords: readonly (readonly number[])[], spins: Int8Array): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  codewords.forEach((word, number) => {
    const distance = word.filter((spin, o) => spin !== spins[o]).length;
    if (distance < least) [best, least] = [number, distance];
  });
  return best;
}
