/** Where everything stands in the picture of a network: columns of neurons, sizes of cells. */

import type { Posed } from "../engine/state";
import { sizeOf, type Topology } from "../engine/topology";

/** A neuron, or all neurons of a filter: one column of the picture. */
export interface Column {
  readonly neurons: readonly number[]; // node numbers
  readonly mapColumns: number; // of the map of activations
  readonly tiles: readonly Tile[];
  readonly biases: readonly (readonly number[])[]; // variables of the threshold of each neuron
  readonly layer: number;
}

/** Weights to be shown side by side: each cell is the sum of parallel weights. */
export interface Tile {
  readonly cells: readonly (readonly number[])[]; // weight numbers
  readonly columns: number;
}

export const HEAD = 22; // for the names of layers

export interface Plan {
  readonly cell: number; // of weights
  readonly map: number; // of activations of filters
  readonly thumb: number; // pixels of example images
  readonly plane: number; // side of a plane of points
  readonly head: number; // height of the weights
  readonly row: number; // height of an example
  readonly lefts: readonly number[];
  readonly widths: readonly number[];
  readonly gap: number; // between columns
  readonly width: number;
  readonly height: number;
}

/** Choose the largest cells with which the picture fits the room. */
export function planOf(posed: Posed, columns: readonly Column[], room: number): Plan {
  let plan = planWith(posed, columns, 17);
  for (let cell = 16; cell >= 6 && plan.width > room; cell--) plan = planWith(posed, columns, cell);
  return plan.width > room ? planWith(posed, columns, 9) : plan; // it scrolls anyway
}

function planWith(posed: Posed, columns: readonly Column[], cell: number): Plan {
  const { state } = posed;
  const isImages = state.task === "images";
  const gap = cell > 10 ? 18 : 12;
  const map = Math.max(6, Math.min(12, cell - 1));
  const thumb = Math.max(4, Math.min(8, cell - 5));
  const plane = Math.max(44, Math.min(96, cell * 7));
  const widths = columns.map((column) =>
    Math.max(
      cell > 10 ? 52 : 46,
      ...column.tiles.map((tile) => tile.columns * cell),
      column.mapColumns * map,
      isImages ? 0 : plane,
    ),
  );
  const lefts: number[] = [];
  let left = isImages ? state.side * thumb + (cell > 10 ? 36 : 26) : 0;
  for (const width of widths) {
    lefts.push(left);
    left += width + gap;
  }
  const heights = columns.map((column) => {
    const tiles = column.tiles.map(
      (tile) => Math.ceil(tile.cells.length / tile.columns) * cell + 3,
    );
    const biasRows = Math.ceil(
      column.biases.length / Math.min(column.mapColumns, column.biases.length),
    );
    return tiles.reduce((sum, height) => sum + height, 0) + biasRows * cell + 14;
  });
  const maps = columns.map(
    ({ neurons, mapColumns }) => Math.ceil(neurons.length / mapColumns) * map,
  );
  const head = Math.max(...heights);
  const row = Math.max(state.side * thumb, 26, ...maps) + 12;
  const body = isImages ? posed.inputs.length * row : plane + 16;
  return {
    cell,
    map,
    thumb,
    plane,
    head,
    row,
    lefts,
    widths,
    width: left - gap + 1,
    gap,
    height: HEAD + head + body,
  };
}

export function columnsOf(topology: Topology, grades: number): Column[] {
  const columns: Column[] = [];
  const arcs: number[][] = Array.from({ length: topology.nodeCount }, () => []);
  topology.targetOf.forEach((target, arc) => {
    arcs[target]!.push(arc);
  });
  let node = topology.inputCount;
  topology.layers.forEach((layer, index) => {
    const shape = topology.shapes[index + 1]!;
    const before = topology.shapes[index]!;
    const neuronsEach = layer.kind === "conv" ? shape[1]! * shape[2]! : 1;
    const count = sizeOf(shape) / neuronsEach;
    for (let n = 0; n < count; n++) {
      const neurons = Array.from({ length: neuronsEach }, (_, i) => node + i);
      node += neuronsEach;
      const skipped = layer.skips && index > 0 ? topology.columnCount : 0;
      const inner =
        layer.kind === "conv" ? layer.columns : index === 0 && grades ? grades : widthOf(before);
      const outer = grades || widthOf(topology.shapes[0]!);
      columns.push({
        neurons,
        mapColumns: layer.kind === "conv" ? shape[2]! : 1,
        tiles: tilesOf(topology, arcs[neurons[0]!]!, skipped, inner, outer),
        biases: neurons.map((one) => [
          topology.weightCount + one - topology.inputCount,
          ...arcs[one]!.filter(
            (arc) => topology.sourceOf[arc] === topology.columnCount && topology.hasConstant,
          ).map((arc) => topology.weightOf[arc]!),
        ]),
        layer: index,
      });
    }
  });
  return columns;
}

const widthOf = (shape: readonly number[]): number =>
  shape.length === 3 ? shape[2]! : Math.min(5, shape[0]!);

function tilesOf(
  topology: Topology,
  arcs: readonly number[],
  skipped: number,
  inner: number,
  outer: number,
): Tile[] {
  const bySource = new Map<number, number[]>();
  for (const arc of arcs) {
    const source = topology.sourceOf[arc]!;
    if (topology.hasConstant && source === topology.columnCount) continue;
    bySource.set(source, [...(bySource.get(source) ?? []), topology.weightOf[arc]!]);
  }
  const own = [...bySource].filter(([source]) => source >= skipped).map(([, weights]) => weights);
  const fromInputs = [...bySource]
    .filter(([source]) => source < skipped)
    .map(([, weights]) => weights);
  const tiles: Tile[] = [];
  if (fromInputs.length) tiles.push({ cells: fromInputs, columns: outer });
  tiles.push({ cells: own, columns: inner });
  return tiles;
}
