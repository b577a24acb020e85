/**
 * The picture of a network: weights as cells above their neurons, activations of every example
 * below, with pre-activations; what is violated has a red frame.
 */

import { activationsOf, positiveTerms } from "../engine/lifted";
import { forward, networkOf } from "../engine/network";
import { Layout } from "../engine/qubo";
import { type Posed, thermometer } from "../engine/state";
import type { Frame } from "../protocol";
import { drawImage, inks, prefersStill, sized } from "./dom";
import { type Column, columnsOf, HEAD, type Plan, planOf } from "./layout";

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
