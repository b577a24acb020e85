/**
 * The paper's QUBO: weights, biases, activations, count bits and products as flat bits.
 *
 * Problem -> Qubo -> replicas. Coefficients are whole thousandths. Twin: TrainingProblem.qubo().
 */

import { accepts, type Replica, type View } from "./annealing";
import { fieldReward, type Problem, type Terms, UNIT } from "./problem";
import type { Generator } from "./random";

export interface Qubo {
  readonly variableCount: number;
  readonly offset: number;
  readonly linear: Float64Array;
  readonly starts: Int32Array; // neighbours of variable i: starts[i] to starts[i + 1]
  readonly columns: Int32Array;
  readonly couplings: Int32Array;
}

export const couplingCount = (qubo: Qubo): number => qubo.columns.length / 2;

/** An affine form of bits: constant + sum of values times bits. */
interface Affine {
  constant: number;
  readonly variables: number[];
  readonly values: number[];
}

class Builder {
  offset = 0;
  readonly linear: Float64Array;
  private readonly rows: Map<number, number>[];

  constructor(readonly variableCount: number) {
    this.linear = new Float64Array(variableCount);
    this.rows = Array.from({ length: variableCount }, () => new Map<number, number>());
  }

  couple(i: number, j: number, value: number): void {
    const row = this.rows[Math.min(i, j)]!;
    const column = Math.max(i, j);
    row.set(column, (row.get(column) ?? 0) + value);
  }

  addSquare({ constant, variables, values }: Affine, factor: number): void {
    this.offset += factor * constant * constant;
    variables.forEach((i, a) => {
      const value = values[a]!;
      this.linear[i]! += factor * value * (value + 2 * constant);
      for (let b = 0; b < a; b++) this.couple(i, variables[b]!, 2 * factor * value * values[b]!);
    });
  }

  finish(): Qubo {
    const degrees = new Int32Array(this.variableCount + 1);
    this.rows.forEach((row, i) => {
      for (const [j, value] of row) {
        if (value === 0) row.delete(j);
        else {
          degrees[i + 1]! += 1;
          degrees[j + 1]! += 1;
        }
      }
    });
    const starts = new Int32Array(this.variableCount + 1);
    for (let i = 0; i < this.variableCount; i++) starts[i + 1] = starts[i]! + degrees[i + 1]!;
    const filled = starts.slice();
    const columns = new Int32Array(starts[this.variableCount]!);
    const couplings = new Int32Array(columns.length);
    this.rows.forEach((row, i) => {
      for (const [j, value] of row) {
        columns[filled[i]!] = j;
        couplings[filled[i]!++] = value;
        columns[filled[j]!] = i;
        couplings[filled[j]!++] = value;
      }
    });
    const { variableCount, offset, linear } = this;
    return { variableCount, offset, linear, starts, columns, couplings };
  }
}

/** Build H = H1 + alpha * H2 - gamma * H_som - H_ext. */
export function buildQubo(problem: Problem): Qubo {
  const builder = new Builder(problem.starts[5]!);
  const layout = new Layout(problem);
  for (let k = 0; k < problem.exampleCount; k++) {
    for (let j = 0; j < problem.neuronCount; j++) {
      builder.addSquare(layout.residual(k, j), UNIT);
      if (problem.strengths.margin) addMargin(builder, layout, k, j);
    }
    problem.productArcs.forEach((arc, rank) => {
      addProduct(builder, layout, k, arc, rank);
    });
  }
  problem.strengths.field.forEach((strength, i) => {
    builder.linear[i]! -= 2 * strength;
    builder.offset += strength;
  });
  return builder.finish();
}

/** H2 of one product: v*y - 2*v*p - 2*y*p + 3*p is zero exactly if p = v*y. */
function addProduct(builder: Builder, layout: Layout, k: number, arc: number, rank: number): void {
  const { topology, strengths } = layout.problem;
  const alpha = strengths.product;
  const v = topology.weightOf[arc]!;
  const y = layout.activation(k, topology.sourceOf[arc]!);
  const p = layout.product(k, rank);
  builder.couple(v, y, alpha);
  builder.couple(v, p, -2 * alpha);
  builder.couple(y, p, -2 * alpha);
  builder.linear[p]! += 3 * alpha;
}

/** Minus gamma * (2y - 1) * (2 * (2**n * y + chi - shift) - |P| - 1). */
function addMargin(builder: Builder, layout: Layout, k: number, j: number): void {
  const { problem } = layout;
  const gamma = problem.strengths.margin;
  const node = problem.topology.inputCount + j;
  const top = 1 << problem.topBit[j]!;
  const least = 2 * problem.shift[j]! + problem.topology.fanIn[node]! + 1;
  const isKnown = !layout.isHidden(node);
  const y = isKnown ? layout.knownBit(k, node) : layout.activation(k, node);
  if (isKnown) builder.offset -= gamma * (2 * y - 1) * (2 * top * y - least);
  else {
    builder.linear[y]! -= gamma * (2 * top - 2 * least);
    builder.offset -= gamma * least;
  }
  for (let place = 0; place < problem.topBit[j]!; place++) {
    const s = layout.count(k, j, place);
    const weight = 2 << place;
    if (isKnown) builder.linear[s]! -= gamma * (2 * y - 1) * weight;
    else {
      builder.couple(y, s, -2 * gamma * weight);
      builder.linear[s]! += gamma * weight;
    }
  }
}

/** Where each variable stands. */
export class Layout {
  private readonly arcsInto: number[][];
  private readonly rankOfArc: Int32Array;
  private readonly residuals: Affine[] = [];

  constructor(readonly problem: Problem) {
    const { topology, productArcs } = problem;
    this.arcsInto = Array.from({ length: topology.nodeCount }, () => []);
    topology.targetOf.forEach((target, arc) => {
      this.arcsInto[target]!.push(arc);
    });
    this.rankOfArc = new Int32Array(topology.sourceOf.length).fill(-1);
    productArcs.forEach((arc, rank) => {
      this.rankOfArc[arc] = rank;
    });
  }

  isHidden(node: number): boolean {
    const { inputCount, nodeCount, outputCount } = this.problem.topology;
    return node >= inputCount && node < nodeCount - outputCount;
  }

  knownBit(k: number, node: number): number {
    return this.problem.knownBits[k * this.problem.topology.nodeCount + node]!;
  }

  bias(j: number): number {
    return this.problem.starts[1]! + j;
  }

  activation(k: number, node: number): number {
    const { starts, hiddenCount, topology } = this.problem;
    return starts[2]! + k * hiddenCount + node - topology.inputCount;
  }

  count(k: number, j: number, place: number): number {
    const { starts, countWidth, countStart } = this.problem;
    return starts[3]! + k * countWidth + countStart[j]! + place;
  }

  product(k: number, rank: number): number {
    return this.problem.starts[4]! + k * this.problem.productArcs.length + rank;
  }

  arcs(node: number): readonly number[] {
    return this.arcsInto[node]!;
  }

  /** d + sum of (2 psi - v - y + 1) - 2**n y - chi + shift: zero if neuron j is right. */
  residual(k: number, j: number): Affine {
    const place = k * this.problem.neuronCount + j;
    this.residuals[place] ??= this.written(k, j);
    return this.residuals[place]!;
  }

  private written(k: number, j: number): Affine {
    const { topology, topBit, shift } = this.problem;
    const node = topology.inputCount + j;
    const form: Affine = { constant: shift[j]!, variables: [this.bias(j)], values: [1] };
    const add = (variable: number, value: number) => {
      form.variables.push(variable);
      form.values.push(value);
    };
    for (const arc of this.arcs(node)) this.addArc(form, add, k, arc, topology.sourceOf[arc]!);
    if (this.isHidden(node)) add(this.activation(k, node), -(1 << topBit[j]!));
    else form.constant -= this.knownBit(k, node) << topBit[j]!;
    for (let place = 0; place < topBit[j]!; place++) add(this.count(k, j, place), -(1 << place));
    return merged(form);
  }

  private addArc(
    form: Affine,
    add: (variable: number, value: number) => void,
    k: number,
    arc: number,
    source: number,
  ): void {
    const v = this.problem.topology.weightOf[arc]!;
    if (this.isHidden(source)) {
      add(this.product(k, this.rankOfArc[arc]!), 2);
      add(v, -1);
      add(this.activation(k, source), -1);
      form.constant += 1;
    } else {
      const y = this.knownBit(k, source);
      add(v, 2 * y - 1);
      form.constant += 1 - y;
    }
  }
}

/** Add up the values of variables that occur more than once, as sources of parallel arcs do. */
function merged({ constant, variables, values }: Affine): Affine {
  const sums = new Map<number, number>();
  variables.forEach((variable, a) => {
    sums.set(variable, (sums.get(variable) ?? 0) + values[a]!);
  });
  return { constant, variables: [...sums.keys()], values: [...sums.values()] };
}

// ---- annealing ----

/** The paper's QUBO as a view. */
export class QuboView implements View {
  readonly name = "qubo";
  readonly variableCount: number;
  readonly layout: Layout;
  readonly qubo: Qubo;

  constructor(readonly problem: Problem) {
    this.layout = new Layout(problem);
    this.qubo = buildQubo(problem);
    this.variableCount = this.qubo.variableCount;
  }

  start(generator: Generator): QuboReplica {
    const bits = Uint8Array.from({ length: this.variableCount }, () => generator.bit());
    return new QuboReplica(this, generator, bits);
  }
}

export class QuboReplica implements Replica {
  energy: number;
  flips = 0;
  proposals = 0;
  sweeps = 0;
  next = 0;
  private readonly slopes: Int32Array; // energy with the bit set minus without

  constructor(
    readonly view: QuboView,
    readonly generator: Generator,
    readonly bits: Uint8Array,
  ) {
    const { linear, starts, columns, couplings, offset } = view.qubo;
    this.slopes = new Int32Array(view.variableCount);
    let twice = 0;
    for (let i = 0; i < view.variableCount; i++) {
      let slope = linear[i]!;
      for (let e = starts[i]!; e < starts[i + 1]!; e++) slope += couplings[e]! * bits[columns[e]!]!;
      this.slopes[i] = slope;
      if (bits[i]) twice += slope + linear[i]!;
    }
    this.energy = offset + twice / 2;
  }

  propose(end: number, temperature: number, stopsAtFlip: boolean): number {
    const { slopes, bits, generator } = this;
    const first = this.next;
    let flipped = -1;
    let i = first;
    for (; i < end && !(stopsAtFlip && flipped >= 0); i++) {
      const cost = bits[i] ? -slopes[i]! : slopes[i]!;
      if (cost > 0 && !accepts(cost, temperature, generator)) continue;
      this.flip(i);
      this.energy += cost;
      this.flips += 1;
      flipped = i;
    }
    this.proposals += i - first;
    this.next = i;
    return flipped;
  }

  private flip(i: number): void {
    const { starts, columns, couplings } = this.view.qubo;
    const { slopes, bits } = this;
    const sign = bits[i] ? -1 : 1;
    bits[i]! ^= 1;
    const last = starts[i + 1]!;
    for (let e = starts[i]!; e < last; e++) slopes[columns[e]!]! += sign * couplings[e]!;
  }

  terms(): Terms {
    return quboTerms(this.view.layout, this.bits);
  }
}

/** Return all terms of a full assignment, straight from their equations. */
export function quboTerms(layout: Layout, bits: Uint8Array): Terms {
  const { problem } = layout;
  const { topology } = problem;
  let [activation, product, margin, brokenNeurons, brokenProducts] = [0, 0, 0, 0, 0];
  for (let k = 0; k < problem.exampleCount; k++) {
    for (let j = 0; j < problem.neuronCount; j++) {
      const residual = evaluated(layout.residual(k, j), bits);
      activation += residual * residual;
      brokenNeurons += Number(residual !== 0);
      margin += writtenMargin(layout, bits, k, j);
    }
    problem.productArcs.forEach((arc, rank) => {
      const v = bits[topology.weightOf[arc]!]!;
      const y = bits[layout.activation(k, topology.sourceOf[arc]!)]!;
      const p = bits[layout.product(k, rank)]!;
      product += v * y - 2 * p * (v + y) + 3 * p;
      brokenProducts += Number(p !== v * y);
    });
  }
  const field = fieldReward(problem, bits);
  return { activation, product, margin, field, brokenNeurons, brokenProducts };
}

function evaluated({ constant, variables, values }: Affine, bits: Uint8Array): number {
  let sum = constant;
  for (let a = 0; a < variables.length; a++) sum += values[a]! * bits[variables[a]!]!;
  return sum;
}

function writtenMargin(layout: Layout, bits: Uint8Array, k: number, j: number): number {
  const { problem } = layout;
  const node = problem.topology.inputCount + j;
  const y = layout.isHidden(node) ? bits[layout.activation(k, node)]! : layout.knownBit(k, node);
  let written = (y << problem.topBit[j]!) - problem.shift[j]!;
  for (let place = 0; place < problem.topBit[j]!; place++)
    written += bits[layout.count(k, j, place)]! << place;
  return (2 * y - 1) * (2 * written - problem.topology.fanIn[node]! - 1);
}
