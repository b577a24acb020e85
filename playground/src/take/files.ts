/** Networks and QUBOs -> files that qubonn and other programs read. */

import type { Network } from "../engine/network";
import { type Problem, UNIT } from "../engine/problem";
import { couplingCount, type Qubo } from "../engine/qubo";
import type { Topology } from "../engine/topology";
import { npz, type Part } from "./npz";

/** Return a .qubonn file of one network. */
export function networkFile({ topology, spins }: Network): Uint8Array<ArrayBuffer> {
  return npz([
    ...topologyParts(topology),
    { name: "weight_bits", values: packed(spins.subarray(0, topology.weightCount)) },
    { name: "bias_bits", values: packed(spins.subarray(topology.weightCount)) },
  ]);
}

/** Return a .qubonn file of networks that vote. */
export function committeeFile(members: readonly Network[]): Uint8Array<ArrayBuffer> {
  const { topology } = members[0]!;
  const rows = (name: string, start: number, end?: number): Part => {
    const values = members.map(({ spins }) => packed(spins.subarray(start, end)));
    const flat = Uint8Array.from(values.flatMap((row) => [...row]));
    return { name, values: flat, shape: [members.length, values[0]!.length] };
  };
  return npz([
    ...topologyParts(topology),
    rows("committee_weight_bits", 0, topology.weightCount),
    rows("committee_bias_bits", topology.weightCount),
    { name: "committee_reading", values: new TextEncoder().encode("signs") },
  ]);
}

function topologyParts(topology: Topology): Part[] {
  const { layers, shapes, hasSkips } = topology;
  const description: Record<string, unknown> = { format: "qubonn-network", version: 2 };
  const isDense = !hasSkips && layers.every((layer) => layer.kind === "dense");
  if (isDense) {
    description["layer_shapes"] = shapes;
    description["levels"] = layers.map((layer) => [layer.levels, layer.thresholds]);
    return [text("description", description)];
  }
  description["inputs"] = topology.inputCount;
  description["outputs"] = topology.outputCount;
  description["nodes"] = topology.nodeCount;
  description["weights"] = topology.weightCount;
  if (!hasSkips) description["layer_shapes"] = shapes;
  if (topology.hasConstant) description["has_constant"] = true;
  return [
    text("description", description),
    { name: "source_of", values: topology.sourceOf },
    { name: "target_of", values: topology.targetOf },
    { name: "weight_of", values: topology.weightOf },
  ];
}

const text = (name: string, value: unknown): Part => ({
  name,
  values: new TextEncoder().encode(JSON.stringify(value)),
});

/** Return spins as bits, eight to a byte, the first in the highest place. */
function packed(spins: Int8Array): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(spins.length / 8));
  spins.forEach((spin, i) => {
    if (spin > 0) bytes[i >> 3]! |= 128 >> (i & 7);
  });
  return bytes;
}

/** Return the QUBO in the format of qbsolv, with offset and labels in comments. */
export function quboFile(problem: Problem, qubo: Qubo): string {
  const lines = ["c qubonn qubo 1", `c offset : ${decimal(qubo.offset)}`];
  labels(problem).forEach((label, i) => {
    lines.push(`c label ${i} ${label}`);
  });
  lines.push(`p qubo 0 ${qubo.variableCount} ${qubo.variableCount} ${couplingCount(qubo)}`);
  qubo.linear.forEach((value, i) => {
    lines.push(`${i} ${i} ${decimal(value)}`);
  });
  for (let i = 0; i < qubo.variableCount; i++) {
    const pairs: [number, number][] = [];
    for (let e = qubo.starts[i]!; e < qubo.starts[i + 1]!; e++)
      if (qubo.columns[e]! > i) pairs.push([qubo.columns[e]!, qubo.couplings[e]!]);
    pairs.sort((a, b) => a[0] - b[0]);
    for (const [j, value] of pairs) lines.push(`${i} ${j} ${decimal(value)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Return thousandths as a decimal number. */
const decimal = (thousandths: number): string => String(thousandths / UNIT);

function labels(problem: Problem): string[] {
  const { topology, neuronCount, exampleCount, hiddenCount, topBit, productArcs } = problem;
  const first = topology.inputCount;
  const found: string[] = [];
  for (let w = 0; w < topology.weightCount; w++) found.push(`["weight", ${w}]`);
  for (let j = 0; j < neuronCount; j++) found.push(`["bias", ${first + j}]`);
  for (let k = 0; k < exampleCount; k++)
    for (let h = 0; h < hiddenCount; h++) found.push(`["activation", ${k}, ${first + h}]`);
  for (let k = 0; k < exampleCount; k++)
    topBit.forEach((bits, j) => {
      for (let l = 0; l < bits; l++) found.push(`["count", ${k}, ${first + j}, ${l}]`);
    });
  for (let k = 0; k < exampleCount; k++)
    for (const arc of productArcs) found.push(`["product", ${k}, ${arc}]`);
  return found;
}

/** Return what each variable of the QUBO is called on the page. */
export function variableName(problem: Problem, i: number): string {
  return labels(problem)
    [i]!.replace(/[[\]"]/g, "")
    .replace(/,/g, "");
}
