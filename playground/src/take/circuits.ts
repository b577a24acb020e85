/** A network -> C and Verilog: sums of +1 and -1, compared with zero. */

import type { Network } from "../engine/network";

/** Return a C99 file: void network(const signed char *x, signed char *y). */
export function cSource({ topology, spins }: Network): string {
  const { columnCount, inputCount, nodeCount, outputCount, sourceOf, targetOf, weightOf } =
    topology;
  const arcs = [...sourceOf.keys()].map((arc) => ({
    source: sourceOf[arc]!,
    target: targetOf[arc]!,
    spin: spins[weightOf[arc]!]!,
  }));
  const neurons = nodeCount - inputCount;
  const starts = Array.from(
    { length: neurons + 1 },
    (_, j) => arcs.filter(({ target }) => target < inputCount + j).length,
  );
  const table = (type: string, name: string, values: ArrayLike<number>) =>
    `static const ${type} ${name}[${values.length}] = {\n${wrapped([...Array.from(values)])}\n};\n`;
  const constant = topology.hasConstant ? `    a[${columnCount}] = 1; /* thresholds */\n` : "";
  return `/* A network of -1 and +1 trained in the qubonn playground: ${topology.shapes
    .map((shape) => shape.join("x"))
    .join(" -> ")}.
   x: ${columnCount} inputs, y: ${outputCount} outputs; above zero is +1, the rest is -1. */

${table("unsigned short", "network_start", starts)}
${table(
  "unsigned short",
  "network_source",
  arcs.map(({ source }) => source),
)}
${table(
  "signed char",
  "network_weight",
  arcs.map(({ spin }) => spin),
)}
${table("signed char", "network_bias", spins.subarray(topology.weightCount))}
void network(const signed char *x, signed char *y)
{
    signed char a[${nodeCount}];
    int i, j, arc;
    for (i = 0; i < ${columnCount}; i++)
        a[i] = x[i] > 0 ? 1 : -1;
${constant}    for (j = 0; j < ${neurons}; j++) {
        int sum = network_bias[j];
        for (arc = network_start[j]; arc < network_start[j + 1]; arc++)
            sum += network_weight[arc] * a[network_source[arc]];
        a[${inputCount} + j] = sum > 0 ? 1 : -1; /* a tie is -1 */
    }
    for (i = 0; i < ${outputCount}; i++)
        y[i] = a[${nodeCount - outputCount} + i];
}
`;
}

function wrapped(values: number[]): string {
  const lines: string[] = [];
  for (let i = 0; i < values.length; i += 20)
    lines.push(`    ${values.slice(i, i + 20).join(", ")}`);
  return lines.join(",\n");
}

/** Return a Verilog module without clock: bit 1 is +1, bit 0 is -1. */
export function verilogSource({ topology, spins }: Network): string {
  const { columnCount, inputCount, nodeCount, outputCount, weightCount, fanIn } = topology;
  const { sourceOf, targetOf, weightOf } = topology;
  const bit = (node: number) =>
    node < columnCount ? `x[${node}]` : node < inputCount ? "1'b1" : `n${node}`;
  const terms: string[][] = Array.from({ length: nodeCount }, () => []);
  targetOf.forEach((target, arc) => {
    const source = bit(sourceOf[arc]!);
    terms[target]!.push(spins[weightOf[arc]!]! > 0 ? source : `!${source}`);
  });
  const lines: string[] = [];
  for (let node = inputCount; node < nodeCount; node++) {
    const count = fanIn[node]! + 1;
    const bias = spins[weightCount + node - inputCount]! > 0 ? "1'b1" : "1'b0";
    const width = 32 - Math.clz32(count);
    const needed = Math.floor(count / 2) + 1; // of +1 terms; a tie is -1
    lines.push(`  wire [${width - 1}:0] c${node} =\n    ${[bias, ...terms[node]!].join(" + ")};`);
    lines.push(`  wire n${node} = c${node} >= ${width}'d${needed};`);
  }
  const outputs = Array.from({ length: outputCount }, (_, o) => `n${nodeCount - 1 - o}`).join(", ");
  return `// A network of -1 and +1 trained in the qubonn playground; bit 1 is +1.
module network(input wire [${columnCount - 1}:0] x, output wire [${outputCount - 1}:0] y);
${lines.join("\n")}
  assign y = {${outputs}};
endmodule
`;
}
