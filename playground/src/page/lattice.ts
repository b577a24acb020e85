/**
 * The picture of a network: weights as cells above their neurons, activations of every example
 * below, with pre-activations; what is violated has a red frame.
 */

import { activationsOf, positiveTerms } from "../engine/lifted";
import { forward, networkOf } from "../engine/network";
import { Layout } from "../engine/qubo";
import { type Posed, thermometer } from "../engine/state";
import { sizeOf, type Topology } from "../engine/topology";
import type { Frame } from "../protocol";
import { drawImage, inks, prefersStill, sized } from "./dom";

/** A neuron, or all neurons of a filter: one column of the picture. */
interface Column {
  readonly neurons: readonly number[]; // node numbers
  readonly mapColumns: number; // of the map of activations
  readonly tiles: readonly Tile[];
  readonly biases: readonly (readonly number[])[]; // variables of the threshold of each neuron
  readonly layer: number;
}

/** Weights to be shown side by side: each cell is the sum of parallel weights. */
interface Tile {
  readonly cells: readonly (readonly number[])[]; // weight numbers
  readonly columns: number;
}

const HEAD = 22; // for the names of layers

export class Lattice {
  private columns: Column[] = [];
  private posed: Posed | null = null;
  private before: Uint8Array = new Uint8Array(0);
  private heat: Float32Array = new Float32Array(0); // how recently a bit flipped, 1 to 0
  private layout: Layout | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  pose(posed: Posed): void {
    this.posed = posed;
    this.columns = columnsOf(
      posed.topology,
      posed.state.task === "points" ? posed.state.grades : 0,
    );
    this.layout = new Layout(posed.problem);
    this.before = new Uint8Array(0);
  }

  /** Draw a frame; return whether something still fades. */
  draw(frame: Frame, room: number): boolean {
    const { posed } = this;
    if (!posed) return false;
    const fades = this.notice(frame);
    const isImages = posed.state.task === "images";
    const plan = planOf(posed, this.columns, room);
    const broken = this.violated(frame);
    const bitRows = frame.road === "qubo" ? this.bitRows(plan.width) : 0;
    const context = sized(this.canvas, plan.width, plan.height + bitRows);
    context.font = "500 12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawHeads(context, plan, frame.bits);
    if (isImages) this.drawExamples(context, plan, frame.bits, broken);
    else this.drawPlanes(context, plan, frame.bits);
    if (frame.road === "qubo") this.drawBits(context, plan, frame.bits, broken);
    return fades;
  }

  /** Remember which bits flipped since the last frame. */
  private notice({ bits }: Frame): boolean {
    if (this.before.length !== bits.length) {
      this.before = bits;
      this.heat = new Float32Array(bits.length);
      return false;
    }
    let fades = false;
    const isStill = prefersStill();
    for (let i = 0; i < bits.length; i++) {
      const isNew = bits[i] !== this.before[i];
      this.heat[i] = isStill ? 0 : isNew ? 1 : this.heat[i]! * 0.84;
      if (this.heat[i]! < 0.03) this.heat[i] = 0;
      fades ||= this.heat[i]! > 0;
    }
    this.before = bits;
    return fades;
  }

  /** Return whether the constraint of each example and neuron is violated. */
  private violated({ bits, road }: Frame): boolean[] {
    const { problem } = this.posed!;
    const { neuronCount, exampleCount, topology } = problem;
    if (road === "qubo") {
      const layout = this.layout!;
      return Array.from({ length: exampleCount * neuronCount }, (_, site) => {
        const form = layout.residual(Math.floor(site / neuronCount), site % neuronCount);
        const sum = form.variables.reduce(
          (all, i, a) => all + form.values[a]! * bits[i]!,
          form.constant,
        );
        return sum !== 0;
      });
    }
    const activations = activationsOf(problem, bits);
    const rho = positiveTerms(problem, bits, activations);
    return Array.from(rho, (positive, site) => {
      const j = site % neuronCount;
      const node = topology.inputCount + j;
      const k = Math.floor(site / neuronCount);
      const y = activations[k * topology.nodeCount + node]!;
      return 2 * positive - topology.fanIn[node]! - 1 > 0 !== (y === 1);
    });
  }

  private drawHeads(context: CanvasRenderingContext2D, plan: Plan, bits: Uint8Array): void {
    const colours = inks();
    const { topology } = this.posed!;
    context.fillStyle = colours.muted;
    context.textAlign = "left";
    context.fillText(
      plan.lefts[0]! > 60 && this.posed!.state.task === "images" ? "example" : "",
      0,
      HEAD / 2 - 1,
    );
    let named = -1;
    this.columns.forEach((column, c) => {
      const left = plan.lefts[c]!;
      const width = plan.widths[c]!;
      if (column.layer !== named) {
        named = column.layer;
        const isLast = named === topology.layers.length - 1;
        context.fillStyle = colours.muted;
        context.textAlign = "left";
        const isConv = topology.layers[named]!.kind === "conv";
        context.fillText(
          isLast ? "outputs" : isConv ? "filters" : "hidden neurons",
          left,
          HEAD / 2 - 1,
        );
        if (c > 0) {
          context.strokeStyle = colours.line;
          context.lineWidth = 1;
          context.beginPath();
          context.moveTo(left - plan.gap / 2 + 0.5, 2);
          context.lineTo(left - plan.gap / 2 + 0.5, plan.height - 2);
          context.stroke();
        }
      }
      let bottom = HEAD + plan.head - 6;
      const bias = column.biases;
      const perRow = Math.min(column.mapColumns, bias.length);
      const biasRows = Math.ceil(bias.length / perRow);
      bottom -= biasRows * plan.cell;
      bias.forEach((variables, n) => {
        const x = left + (width - perRow * plan.cell) / 2 + (n % perRow) * plan.cell;
        this.cell(
          context,
          bits,
          variables,
          x,
          bottom + Math.floor(n / perRow) * plan.cell,
          plan.cell,
        );
      });
      bottom -= 4;
      for (const tile of [...column.tiles].reverse()) {
        const rows = Math.ceil(tile.cells.length / tile.columns);
        bottom -= rows * plan.cell;
        tile.cells.forEach((weights, n) => {
          const x = left + (width - tile.columns * plan.cell) / 2 + (n % tile.columns) * plan.cell;
          this.cell(
            context,
            bits,
            weights,
            x,
            bottom + Math.floor(n / tile.columns) * plan.cell,
            plan.cell,
          );
        });
        bottom -= 3;
      }
    });
  }

  /** One number: the sum of the spins of parallel variables. */
  private cell(
    context: CanvasRenderingContext2D,
    bits: Uint8Array,
    variables: readonly number[],
    x: number,
    y: number,
    size: number,
  ): void {
    const colours = inks();
    let sum = 0;
    let heat = 0;
    for (const i of variables) {
      sum += 2 * bits[i]! - 1;
      heat = Math.max(heat, this.heat[i] ?? 0);
    }
    context.fillStyle = colours.none;
    context.fillRect(x, y, size - 1, size - 1);
    if (sum !== 0) {
      context.globalAlpha = 0.35 + (0.65 * Math.abs(sum)) / variables.length;
      context.fillStyle = sum > 0 ? colours.plus : colours.minus;
      context.fillRect(x, y, size - 1, size - 1);
    }
    if (heat > 0) {
      context.globalAlpha = heat * 0.75;
      context.fillStyle = colours.back;
      const inset = (size - 1) * 0.22;
      context.fillRect(x + inset, y + inset, size - 1 - 2 * inset, size - 1 - 2 * inset);
    }
    context.globalAlpha = 1;
  }

  private drawExamples(
    context: CanvasRenderingContext2D,
    plan: Plan,
    bits: Uint8Array,
    broken: readonly boolean[],
  ): void {
    const { problem, inputs, state, classNames } = this.posed!;
    const { topology, neuronCount } = problem;
    const activations = activationsOf(problem, bits);
    const rho = positiveTerms(problem, bits, activations);
    const colours = inks();
    inputs.forEach((image, k) => {
      const top = HEAD + plan.head + k * plan.row;
      const middle = top + plan.row / 2;
      context.strokeStyle = colours.line;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(0, top + 0.5);
      context.lineTo(plan.width, top + 0.5);
      context.stroke();
      const gap = plan.thumb > 5 ? 1 : 0.5;
      const above = middle - (state.side * plan.thumb) / 2;
      drawImage(context, image, state.side, 0, above, plan.thumb, gap);
      context.fillStyle = colours.ink;
      context.textAlign = "left";
      const name = classNames[k]!.slice(0, plan.cell > 10 ? 3 : 2);
      context.fillText(name, state.side * plan.thumb + 6, middle);
      this.columns.forEach((column, c) => {
        const { mapColumns, neurons } = column;
        const mapRows = Math.ceil(neurons.length / mapColumns);
        neurons.forEach((node, n) => {
          const j = node - topology.inputCount;
          const site = k * neuronCount + j;
          const y = activations[k * topology.nodeCount + node]!;
          const sum = 2 * rho[site]! - topology.fanIn[node]! - 1;
          const centre = plan.lefts[c]! + plan.widths[c]! / 2;
          if (neurons.length === 1) this.activation(context, centre, middle, y, sum, broken[site]!);
          else {
            const size = plan.map;
            const left = centre - (mapColumns * size) / 2 + (n % mapColumns) * size;
            const above = middle - (mapRows * size) / 2 + Math.floor(n / mapColumns) * size;
            context.fillStyle = y ? colours.plus : colours.minus;
            context.globalAlpha = y ? 1 : 0.8;
            context.fillRect(left, above, size - 1, size - 1);
            context.globalAlpha = 1;
            if (broken[site]) frameAround(context, left - 0.5, above - 0.5, size, size);
          }
        });
      });
    });
  }

  /** A disc for +1, a ring for -1, and the pre-activation beside it. */
  private activation(
    context: CanvasRenderingContext2D,
    x: number,
    y: number,
    bit: number,
    sum: number,
    isBroken: boolean,
  ): void {
    const colours = inks();
    context.beginPath();
    context.arc(x - 11, y, 6.5, 0, 7);
    if (bit) {
      context.fillStyle = colours.plus;
      context.fill();
    } else {
      context.lineWidth = 2.5;
      context.strokeStyle = colours.minus;
      context.beginPath();
      context.arc(x - 11, y, 5.2, 0, 7);
      context.stroke();
    }
    context.fillStyle = isBroken ? colours.bad : colours.muted;
    context.textAlign = "left";
    context.fillText(sum > 0 ? `+${sum}` : `${sum}`.replace("-", "−"), x + 1, y + 0.5);
    if (isBroken) frameAround(context, x - 20, y - 12, 43, 24);
  }

  /** For points: where in the plane each neuron answers +1. */
  private drawPlanes(context: CanvasRenderingContext2D, plan: Plan, bits: Uint8Array): void {
    const { topology, state } = this.posed!;
    const { grades, points } = state;
    const network = networkOf(topology, bits);
    const colours = inks();
    const cell = plan.plane / (grades + 1);
    const top = HEAD + plan.head + 8;
    const middle = (n: number) => ((n + 0.5) * 100) / (grades + 1);
    for (let row = 0; row <= grades; row++)
      for (let column = 0; column <= grades; column++) {
        const pass = forward(network, thermometer(middle(column), middle(row), grades));
        this.columns.forEach(({ neurons }, c) => {
          const isPositive = pass.activations[neurons[0]!]! > 0;
          context.fillStyle = isPositive ? colours.plus : colours.minus;
          context.globalAlpha = 0.5;
          const left = plan.lefts[c]! + (plan.widths[c]! - plan.plane) / 2 + column * cell;
          context.fillRect(left, top + plan.plane - (row + 1) * cell, cell - 0.6, cell - 0.6);
        });
      }
    context.globalAlpha = 1;
    this.columns.forEach((_, c) => {
      const left = plan.lefts[c]! + (plan.widths[c]! - plan.plane) / 2;
      for (const [x, y, label] of points) {
        context.beginPath();
        context.arc(
          left + (x * plan.plane) / 100,
          top + plan.plane - (y * plan.plane) / 100,
          2.4,
          0,
          7,
        );
        context.fillStyle = colours.classes[label]!;
        context.fill();
        context.lineWidth = 0.7;
        context.strokeStyle = colours.back;
        context.stroke();
      }
    });
  }

  // ---- count bits and products of the QUBO ----

  private bitRows(width: number): number {
    const { starts } = this.posed!.problem;
    const perRow = Math.floor(width / 7);
    const rows = (count: number) => Math.ceil(count / perRow);
    return 24 + rows(starts[4]! - starts[3]!) * 7 + 24 + rows(starts[5]! - starts[4]!) * 7;
  }

  private drawBits(
    context: CanvasRenderingContext2D,
    plan: Plan,
    bits: Uint8Array,
    broken: readonly boolean[],
  ): void {
    const { problem } = this.posed!;
    const { starts, exampleCount, neuronCount, topBit, productArcs, topology } = problem;
    const perRow = Math.floor(plan.width / 7);
    const wrongCounts: boolean[] = [];
    for (let k = 0; k < exampleCount; k++)
      for (let j = 0; j < neuronCount; j++)
        for (let l = 0; l < topBit[j]!; l++) wrongCounts.push(broken[k * neuronCount + j]!);
    const wrongProducts: boolean[] = [];
    for (let k = 0; k < exampleCount; k++)
      productArcs.forEach((arc, rank) => {
        const v = bits[topology.weightOf[arc]!]!;
        const y = bits[this.layout!.activation(k, topology.sourceOf[arc]!)]!;
        wrongProducts.push(bits[this.layout!.product(k, rank)] !== v * y);
      });
    const wrongNeurons = broken.filter(Boolean).length;
    const failed = wrongProducts.filter(Boolean).length;
    let top = plan.height + 14;
    const strip = (title: string, first: number, wrong: readonly boolean[]) => {
      const colours = inks();
      context.fillStyle = colours.muted;
      context.textAlign = "left";
      context.fillText(title, 0, top);
      top += 10;
      wrong.forEach((isWrong, n) => {
        const x = (n % perRow) * 7;
        const y = top + Math.floor(n / perRow) * 7;
        context.fillStyle = isWrong ? colours.bad : bits[first + n] ? colours.ink : colours.none;
        context.globalAlpha = isWrong ? (bits[first + n] ? 1 : 0.45) : 0.8;
        context.fillRect(x, y, 6, 6);
      });
      context.globalAlpha = 1;
      top += Math.ceil(wrong.length / perRow) * 7 + 14;
    };
    strip(
      `count bits: ${wrongNeurons} of ${broken.length} neurons miscounted`,
      starts[3]!,
      wrongCounts,
    );
    strip(
      `product bits: ${failed} of ${wrongProducts.length} differ from weight × activation`,
      starts[4]!,
      wrongProducts,
    );
  }
}

function frameAround(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.strokeStyle = inks().bad;
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(x, y, width, height, 3);
  context.stroke();
}

// ---- where everything stands ----

interface Plan {
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
function planOf(posed: Posed, columns: readonly Column[], room: number): Plan {
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

function columnsOf(topology: Topology, grades: number): Column[] {
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
