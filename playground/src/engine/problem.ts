/**
 * A network, its examples and the strengths of the energy: which variables there are.
 *
 * Energies are whole numbers of thousandths, so that sums are exact in any order. The order of the
 * variables is that of the Python package: weights, biases, activations by example and node, count
 * bits by example, node and place, products by example and arc. Twin: qubonn/formulation.
 */

import type { Topology } from "./topology";

export const UNIT = 1000; // of energy: strengths are given in thousandths

export interface Strengths {
  readonly product: number; // alpha, in thousandths
  readonly margin: number; // gamma, in thousandths
  readonly field: Int32Array; // by weight, then bias, in thousandths; positive favours +1
}

export interface Problem {
  readonly topology: Topology;
  readonly exampleCount: number;
  readonly knownBits: Uint8Array; // examples x nodes; hidden nodes hold 0
  readonly strengths: Strengths;
  readonly neuronCount: number;
  readonly hiddenCount: number;
  readonly topBit: Int32Array; // n_j by neuron
  readonly shift: Int32Array; // floor(kappa_j / 2) by neuron
  readonly countStart: Int32Array; // first count bit of a neuron among those of an example
  readonly countWidth: number; // count bits of an example
  readonly productArcs: Int32Array; // arcs whose source is hidden
  readonly starts: readonly number[]; // of the five kinds of variables, then their total
}

export interface Size {
  readonly nodes: number;
  readonly arcs: number;
  readonly binary: number;
  readonly integer: number;
  readonly constraints: number;
  readonly variables: number;
}

/** Pose a problem: rows of +1 and -1 for the inputs and the wanted outputs of each example. */
export function pose(
  topology: Topology,
  inputs: readonly (readonly number[])[],
  outputs: readonly (readonly number[])[],
  strengths: Strengths,
): Problem {
  const { nodeCount, inputCount, columnCount, outputCount, fanIn } = topology;
  const exampleCount = inputs.length;
  const neuronCount = nodeCount - inputCount;
  const knownBits = new Uint8Array(exampleCount * nodeCount);
  for (let k = 0; k < exampleCount; k++) {
    const row = knownBits.subarray(k * nodeCount, (k + 1) * nodeCount);
    for (let i = 0; i < columnCount; i++) row[i] = Number(inputs[k]![i]! > 0);
    if (topology.hasConstant) row[columnCount] = 1;
    for (let o = 0; o < outputCount; o++)
      row[nodeCount - outputCount + o] = Number(outputs[k]![o]! > 0);
  }
  const terms = fanIn.subarray(inputCount);
  const topBit = terms.map((count) => 31 - Math.clz32(count + 1));
  const shift = terms.map((count, j) => ((2 << topBit[j]!) - count - 2) >> 1);
  const countStart = new Int32Array(neuronCount);
  for (let j = 1; j < neuronCount; j++) countStart[j] = countStart[j - 1]! + topBit[j - 1]!;
  const countWidth = countStart[neuronCount - 1]! + topBit[neuronCount - 1]!;
  const isHidden = (node: number) => node >= inputCount && node < nodeCount - outputCount;
  const productArcs = Int32Array.from(topology.sourceOf.keys()).filter((arc) =>
    isHidden(topology.sourceOf[arc]!),
  );
  const hiddenCount = neuronCount - outputCount;
  const sizes = [
    topology.weightCount,
    neuronCount,
    exampleCount * hiddenCount,
    exampleCount * countWidth,
    exampleCount * productArcs.length,
  ];
  const starts = [0];
  for (const size of sizes) starts.push(starts[starts.length - 1]! + size);
  return {
    topology,
    exampleCount,
    knownBits,
    strengths,
    neuronCount,
    hiddenCount,
    topBit,
    shift,
    countStart,
    countWidth,
    productArcs,
    starts,
  };
}

/** Return strengths without margin and field, alpha one. */
export const plainStrengths = (topology: Topology): Strengths => ({
  product: UNIT,
  margin: 0,
  field: new Int32Array(topology.weightCount + topology.nodeCount - topology.inputCount),
});

/** Return how large a problem is, counted as in the paper's table of networks. */
export function sizeOfProblem(problem: Problem): Size {
  const { topology, exampleCount, neuronCount, hiddenCount, productArcs, starts } = problem;
  const products = exampleCount * productArcs.length;
  return {
    nodes: topology.nodeCount,
    arcs: topology.sourceOf.length,
    binary: topology.weightCount + neuronCount + exampleCount * hiddenCount + products,
    integer: exampleCount * neuronCount,
    constraints: exampleCount * neuronCount + products,
    variables: starts[5]!,
  };
}

/** The parts of the energy before their factors, H_ext in thousandths, and what is violated. */
export interface Terms {
  readonly activation: number; // H1
  readonly product: number; // H2
  readonly margin: number; // H_som
  readonly field: number; // H_ext, in thousandths
  readonly brokenNeurons: number;
  readonly brokenProducts: number;
}

/** Return the energy in thousandths. */
export function total(problem: Problem, terms: Terms): number {
  const { product, margin } = problem.strengths;
  return UNIT * terms.activation + product * terms.product - margin * terms.margin - terms.field;
}

/** Return H_ext in thousandths for bits that begin with weights and biases. */
export function fieldReward(problem: Problem, bits: Uint8Array): number {
  const { field } = problem.strengths;
  let sum = 0;
  for (let i = 0; i < field.length; i++) sum += field[i]! * (2 * bits[i]! - 1);
  return sum;
}
