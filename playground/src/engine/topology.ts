/**
 * Layers -> arcs, numbered as in the Python package.
 *
 * Nodes are inputs, the constant if some layer has thresholds, hidden layers in order, outputs.
 * Arcs go layer by layer, target by target, source by source, parallel arc by parallel arc; those
 * from the constant come last. Twin: qubonn/topology/layers.py.
 */

export type Shape = readonly [number] | readonly [number, number, number]; // channels, rows, columns

export interface Layer {
  readonly kind: "dense" | "conv";
  readonly size: number; // neurons of a dense layer, filters of a convolution
  readonly rows: number; // of a filter
  readonly columns: number;
  readonly levels: number; // values of a weight: levels - 1 parallel arcs
  readonly thresholds: number; // values of a threshold: the bias and thresholds - 2 constant arcs
  readonly skips: boolean; // also reads all inputs; dense layers only, not the first
}

export interface Topology {
  readonly inputCount: number; // the constant included
  readonly columnCount: number; // columns of the data
  readonly outputCount: number;
  readonly nodeCount: number;
  readonly weightCount: number;
  readonly sourceOf: Int32Array;
  readonly targetOf: Int32Array;
  readonly weightOf: Int32Array;
  readonly fanIn: Int32Array; // by node
  readonly shapes: readonly Shape[]; // of inputs and layers
  readonly layers: readonly Layer[]; // the outputs last
  readonly hasConstant: boolean;
  readonly hasSkips: boolean;
}

export const MOST_ARCS = 6000;

/** The 18 networks of the paper; 7 as its counts say, with two filters. */
export const PAPER: readonly string[] = [
  "conv(2x2)",
  "conv(2x2)+fc(4)",
  "conv(3x3)",
  "conv(3x3x2)",
  "conv(3x3)+fc(4)",
  "conv(4x4)",
  "conv(4x4x2)",
  "conv(4x4x2)+fc(4)",
  ...Array.from({ length: 10 }, (_, n) => `fc(${n + 1})`),
];

export function dense(size: number, options: Partial<Layer> = {}): Layer {
  const plain = { levels: 2, thresholds: 2, skips: false };
  return { ...plain, ...options, kind: "dense", size, rows: 0, columns: 0 };
}

export function conv(rows: number, columns: number, size = 1, options: Partial<Layer> = {}): Layer {
  const plain = { levels: 2, thresholds: 2 };
  return { ...plain, ...options, kind: "conv", size, rows, columns, skips: false };
}

export const sizeOf = (shape: Shape): number => shape.reduce((a: number, b: number) => a * b, 1);

/** Return the shape of a layer, or a sentence that says why it does not fit. */
export function shapeAfter(layer: Layer, before: Shape): Shape | string {
  if (layer.kind === "dense") return [layer.size];
  if (before.length !== 3) return "a convolution must come before dense layers";
  const [, rows, columns] = before;
  if (layer.rows > rows || layer.columns > columns)
    return `a filter must fit ${rows} × ${columns} nodes; got ${layer.rows} × ${layer.columns}`;
  return [layer.size, rows - layer.rows + 1, columns - layer.columns + 1];
}

/** Return the topology, or a sentence that says why there is none. */
export function connect(inputs: Shape, layers: readonly Layer[]): Topology | string {
  const shapes: Shape[] = [inputs];
  for (const layer of layers) {
    const shape = shapeAfter(layer, shapes[shapes.length - 1]!);
    if (typeof shape === "string") return shape;
    shapes.push(shape);
  }
  const columnCount = sizeOf(inputs);
  const hasConstant = layers.some((layer) => layer.thresholds > 2);
  const arcs = new Arcs();
  let firstSource = 0;
  let firstTarget = columnCount + Number(hasConstant);
  layers.forEach((layer, index) => {
    const before = shapes[index]!;
    const constant = hasConstant ? columnCount : -1;
    const skipped = layer.skips && index > 0 ? columnCount : 0;
    arcs.addLayer(layer, before, shapes[index + 1]!, firstSource, firstTarget, constant, skipped);
    firstSource = firstTarget;
    firstTarget += sizeOf(shapes[index + 1]!);
  });
  if (arcs.source.length > MOST_ARCS)
    return `a network here has at most ${MOST_ARCS} connections; got ${arcs.source.length}`;
  const fanIn = new Int32Array(firstTarget);
  for (const target of arcs.target) fanIn[target]! += 1;
  return {
    inputCount: columnCount + Number(hasConstant),
    columnCount,
    outputCount: sizeOf(shapes[shapes.length - 1]!),
    nodeCount: firstTarget,
    weightCount: arcs.weightCount,
    sourceOf: Int32Array.from(arcs.source),
    targetOf: Int32Array.from(arcs.target),
    weightOf: Int32Array.from(arcs.weight),
    fanIn,
    shapes,
    layers,
    hasConstant,
    hasSkips: layers.some((layer, index) => layer.skips && index > 0),
  };
}

class Arcs {
  readonly source: number[] = [];
  readonly target: number[] = [];
  readonly weight: number[] = [];
  weightCount = 0;

  addLayer(
    layer: Layer,
    before: Shape,
    after: Shape,
    firstSource: number,
    firstTarget: number,
    constant: number,
    skipped: number,
  ): void {
    const parallel = layer.levels - 1;
    const isShared = layer.kind === "conv";
    const firstWeight = this.weightCount;
    const filterSize = isShared ? before[0] * layer.rows * layer.columns : 0;
    let own = firstWeight + (isShared ? layer.size * filterSize * parallel : 0);
    for (let target = 0; target < sizeOf(after); target++) {
      const sources = isShared
        ? window(
            layer,
            before as [number, number, number],
            after as [number, number, number],
            target,
          )
        : range(sizeOf(before));
      const filter = isShared ? Math.floor(target / (after[1]! * after[2]!)) : 0;
      for (let node = 0; node < skipped; node++)
        for (let p = 0; p < parallel; p++) this.add(node, firstTarget + target, own++);
      sources.forEach((source, place) => {
        for (let p = 0; p < parallel; p++) {
          const shared = firstWeight + (filter * filterSize + place) * parallel + p;
          this.add(firstSource + source, firstTarget + target, isShared ? shared : own++);
        }
      });
      for (let p = 0; p < layer.thresholds - 2; p++)
        this.add(constant, firstTarget + target, own++);
    }
    this.weightCount = own;
  }

  private add(source: number, target: number, weight: number): void {
    this.source.push(source);
    this.target.push(target);
    this.weight.push(weight);
  }
}

type Sheet = readonly [number, number, number];

/** Return the sources of a convolution's neuron: channel by channel, row by row. */
function window(layer: Layer, before: Sheet, after: Sheet, target: number): number[] {
  const [channels, rows, columns] = before;
  const place = target % (after[1] * after[2]);
  const row = Math.floor(place / after[2]);
  const column = place % after[2];
  const sources: number[] = [];
  for (let channel = 0; channel < channels; channel++)
    for (let i = 0; i < layer.rows; i++)
      for (let j = 0; j < layer.columns; j++)
        sources.push((channel * rows + row + i) * columns + column + j);
  return sources;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

// ---- the notation of the paper ----

const OPTION = /(?:,|(?<=\())(levels|thresholds)=(\d{1,2})(?=[,)])/g;

/** Read hidden layers such as conv(3x3x2)+fc(4, levels=3); out(...) sets options of the outputs. */
export function readNotation(text: string, outputCount: number): Layer[] | string {
  const parts = text.replace(/\s+/g, "").replace(/×/g, "x").toLowerCase().split("+");
  const last = parts[parts.length - 1]!.startsWith("out(") ? parts.pop()! : "out()";
  const layers: Layer[] = [];
  for (const part of [...parts, last]) {
    const layer = readLayer(part, part === last ? outputCount : 0);
    if (typeof layer === "string") return layer;
    layers.push(layer);
  }
  return layers;
}

function readLayer(text: string, outputCount: number): Layer | string {
  const options: { levels?: number; thresholds?: number; skips?: boolean } = {};
  let sizes = text.replace(OPTION, (_, name: "levels" | "thresholds", value: string) => {
    options[name] = Number(value);
    return "";
  });
  if (/[,(]skip\)/.test(sizes)) options.skips = true;
  sizes = sizes.replace(/,?skip\)/, ")");
  const isWithin = [options.levels ?? 2, options.thresholds ?? 2].every((n) => n >= 2 && n <= 9);
  const filter = /^conv\((\d)x(\d)(?:x(\d{1,2}))?\)$/.exec(sizes);
  const neurons = /^fc\((\d{1,2})\)$/.exec(sizes);
  if (isWithin && filter && !options.skips)
    return conv(Number(filter[1]), Number(filter[2]), Number(filter[3] ?? 1), options);
  if (isWithin && neurons && Number(neurons[1]) > 0) return dense(Number(neurons[1]), options);
  if (isWithin && outputCount && sizes === "out()") return dense(outputCount, options);
  return `a layer must be fc(neurons), conv(rows x columns x filters) or out(); got ${text || "nothing"}`;
}

/** Return the notation of layers, the outputs last; the inverse of readNotation. */
export function notation(layers: readonly Layer[]): string {
  const parts = layers.map((layer, index) => {
    const isOutput = index === layers.length - 1;
    const filters = layer.size > 1 ? `x${layer.size}` : "";
    const options = [
      layer.levels > 2 ? `levels=${layer.levels}` : "",
      layer.thresholds > 2 ? `thresholds=${layer.thresholds}` : "",
      layer.skips && index > 0 ? "skip" : "",
    ].filter(Boolean);
    if (isOutput) return options.length ? `out(${options.join(", ")})` : "";
    const size = layer.kind === "conv" ? `${layer.rows}x${layer.columns}${filters}` : layer.size;
    return `${layer.kind === "conv" ? "conv" : "fc"}(${[size, ...options].join(", ")})`;
  });
  return parts.filter(Boolean).join("+");
}
