/** The engine computes what the Python package computes; vectors.json was written by it. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Replica, sweep, temperatures, type View } from "../src/engine/annealing";
import { decay, logarithm } from "../src/engine/arithmetic";
import { LETTERS, readImage, testImages } from "../src/engine/images";
import { LiftedView, liftBack, liftedTerms } from "../src/engine/lifted";
import { forward, grayCode, type Network, nearestClass, votes } from "../src/engine/network";
import { type Problem, plainStrengths, pose, sizeOfProblem, total } from "../src/engine/problem";
import { buildQubo, couplingCount, Layout, QuboView, quboTerms } from "../src/engine/qubo";
import { Generator } from "../src/engine/random";
import { robustness } from "../src/engine/robustness";
import {
  connect,
  notation,
  PAPER,
  readNotation,
  type Shape,
  type Topology,
} from "../src/engine/topology";

interface Case {
  notation: string;
  inputs: number[];
  outputs: number;
  examples: number[][];
  wanted: number[][];
  product?: number;
  margin?: number;
  field?: number[];
}

const vectors: any = JSON.parse(readFileSync("tests/vectors.json", "utf8"));

function topologyOf(one: Pick<Case, "notation" | "inputs" | "outputs">): Topology {
  const layers = readNotation(one.notation, one.outputs);
  assert(typeof layers !== "string", String(layers));
  const topology = connect(one.inputs as unknown as Shape, layers);
  assert(typeof topology !== "string", String(topology));
  return topology;
}

function problemOf(one: Case): Problem {
  const topology = topologyOf(one);
  const plain = plainStrengths(topology);
  return pose(topology, one.examples, one.wanted, {
    product: one.product ?? plain.product,
    margin: one.margin ?? 0,
    field: one.field ? Int32Array.from(one.field) : plain.field,
  });
}

const bitsOf = (text: string): Uint8Array => Uint8Array.from(text, Number);
const textOf = (bits: Uint8Array): string => bits.join("");

test("the generator gives the numbers of its twin", () => {
  for (const [seed, stream, numbers] of vectors.random) {
    const generator = new Generator(seed, stream);
    assert.deepEqual(
      Array.from({ length: 6 }, () => generator.next()),
      numbers,
    );
  }
});

test("exponential, logarithm and temperatures equal those of Python to the last bit", () => {
  for (const [x, value] of vectors.decay) assert.equal(decay(x), value);
  for (const [x, value] of vectors.logarithm) assert.equal(logarithm(x), value);
  const [hottest, coldest, sweeps, values] = vectors.temperatures;
  assert.deepEqual([...temperatures({ hottest, coldest, sweeps })], values);
});

test("the exponential and the logarithm are accurate", () => {
  for (let x = 0; x < 22; x += 0.37) assert(Math.abs(decay(x) / Math.exp(-x) - 1) < 1e-13);
  for (let x = 0.01; x < 100; x *= 1.7) assert(Math.abs(logarithm(x) - Math.log(x)) < 1e-13);
});

test("test images are those of Python", () => {
  const images = LETTERS.map(([, drawing], number) => testImages(readImage(drawing), 9, number));
  assert.deepEqual(images, vectors.images);
});

test("classes have the codewords of Python", () => {
  assert.deepEqual([2, 3, 4, 5, 6, 7, 8].map(grayCode), vectors.gray);
  assert.equal(nearestClass(grayCode(3), Int8Array.from([1, -1])), 0);
});

test("arcs are numbered as in Python", () => {
  for (const one of vectors.topologies) {
    const topology = topologyOf(one);
    assert.equal(topology.nodeCount, one.nodes);
    assert.deepEqual([...topology.sourceOf], one.source_of, one.notation);
    assert.deepEqual([...topology.targetOf], one.target_of, one.notation);
    assert.deepEqual([...topology.weightOf], one.weight_of, one.notation);
  }
});

test("the notation of layers reads back as the same layers", () => {
  for (const one of vectors.topologies) {
    const { layers } = topologyOf(one);
    assert.deepEqual(readNotation(notation(layers), one.outputs), layers);
  }
});

test("wrong layers get a sentence", () => {
  for (const text of ["fc(0)", "", "conv(3)", "fc(4, levels=1)", "fc(3)+pool(2)"])
    assert.equal(typeof readNotation(text, 2), "string", text);
  const layers = readNotation("fc(4)+conv(2x2)", 2);
  assert(typeof layers !== "string");
  assert.match(connect([1, 5, 5], layers) as string, /before dense layers/);
});

test("the 18 networks of the paper have its counts, and the couplings of Python's QUBO", () => {
  const images = LETTERS.map(([, drawing]) => readImage(drawing));
  PAPER.forEach((text, number) => {
    const one = { notation: text, inputs: [1, 5, 5], outputs: 2, examples: images as number[][] };
    const problem = problemOf({ ...one, wanted: grayCode(4) });
    const counts = [...Object.values(sizeOfProblem(problem)), couplingCount(buildQubo(problem))];
    assert.deepEqual(counts, vectors.sizes[number]);
  });
});

test("the QUBO has the coefficients of Python's", () => {
  for (const one of vectors.energies) {
    const qubo = buildQubo(problemOf(one.case));
    assert.deepEqual([...qubo.linear], one.linear);
    assert.equal(qubo.offset, one.offset);
    let checksum = 0;
    for (let i = 0; i < qubo.variableCount; i++)
      for (let e = qubo.starts[i]!; e < qubo.starts[i + 1]!; e++) {
        const j = qubo.columns[e]!;
        if (i < j) checksum += qubo.couplings[e]! * (i * 31 + j * 17 + 1);
      }
    assert.deepEqual([couplingCount(qubo), checksum], one.couplings);
  }
});

test("terms, violations and energies of assignments equal those of Python", () => {
  for (const one of vectors.energies) {
    const problem = problemOf(one.case);
    for (const state of one.states) {
      const terms = quboTerms(new Layout(problem), bitsOf(state.bits));
      const { activation, product, margin, field, brokenNeurons, brokenProducts } = terms;
      assert.deepEqual([activation, product, margin, field], state.terms);
      assert.deepEqual([brokenNeurons, brokenProducts], state.broken);
      assert.equal(total(problem, terms), state.energy);
    }
  }
});

for (const [number, one] of vectors.runs.entries())
  test(`run ${number}, ${one.case.notation}: equal seeds give the flips and energies of Python`, () => {
    const problem = problemOf(one.case);
    const views: Record<string, View> = {
      lifted: new LiftedView(problem),
      qubo: new QuboView(problem),
    };
    for (const run of one.runs) {
      const view = views[run.view]!;
      const replica = view.start(new Generator(run.seed, run.replica));
      const energies = [replica.energy];
      for (const temperature of temperatures({ hottest: 5, coldest: 0.116, sweeps: run.sweeps })) {
        sweep(view, replica, temperature);
        energies.push(replica.energy);
      }
      assert.deepEqual(energies, run.energies);
      assert.equal(replica.flips, run.flips);
      assert.equal(textOf(replica.bits), run.bits);
      assert.equal(total(problem, replica.terms()), replica.energy);
    }
  });

test("single flips make the same sweep as a whole one", () => {
  const view = new LiftedView(problemOf(vectors.runs[0].case));
  const whole = view.start(new Generator(4, 2));
  const single = view.start(new Generator(4, 2));
  sweep(view, whole, 2);
  while (single.next < view.variableCount) single.propose(view.variableCount, 2, true);
  assert.deepEqual(single.bits, whole.bits);
  assert.equal(single.flips, whole.flips);
});

test("a lifted state has the energy of the full assignment it implies", () => {
  for (const { case: one } of vectors.energies) {
    const problem = problemOf(one);
    const view = new LiftedView(problem);
    const replica: Replica = view.start(new Generator(1, 1));
    const full = quboTerms(new Layout(problem), liftBack(view, replica.bits));
    assert.equal(full.product, 0);
    assert.equal(total(problem, full), replica.energy);
    assert.deepEqual(liftedTerms(view, replica.bits), full);
  }
});

test("forward passes, votes and robustness equal those of Python", () => {
  for (const one of vectors.networks) {
    const topology = topologyOf(one);
    const members: Network[] = one.spins.map((spins: number[]) => ({
      topology,
      spins: Int8Array.from(spins),
    }));
    one.images.forEach((image: number[], k: number) => {
      assert.deepEqual([...forward(members[0]!, image).sums], one.sums[k]);
      assert.deepEqual([...votes(members, image)], one.votes[k]);
      const single = robustness(members.slice(0, 1), image);
      const all = robustness(members, image);
      // in Python, one more than there are inputs: no flips change the answer
      assert.deepEqual(
        [single.flips, all.flips].map((flips) =>
          Number.isFinite(flips) ? flips : image.length + 1,
        ),
        [one.flips[k], one.committee_flips[k]],
      );
      assert(single.isExact && all.isExact);
    });
  }
});

test("the pace of network 10 is printed; with TIMED=1 it is two million proposals a second", () => {
  const view = new LiftedView(problemOf(vectors.runs[0].case));
  const replica = view.start(new Generator(0, 0));
  const start = process.cpuUsage(); // other programs do not count
  for (let n = 0; n < 20000; n++) sweep(view, replica, 0.5);
  const rate = (replica.proposals / process.cpuUsage(start).user) * 1e6;
  console.log(`${(rate / 1e6).toFixed(1)} million proposals a second`);
  if (process.env.TIMED === "1") assert(rate > 2e6, `${rate}`);
});
