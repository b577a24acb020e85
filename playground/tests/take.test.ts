/**
 * Files that the page saves. Those in tests/saved are read by the tests of the Python package, and
 * here they must be what the page writes today; UPDATE=1 npm test writes them again.
 */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { sweep } from "../src/engine/annealing";
import { LiftedView } from "../src/engine/lifted";
import type { Network } from "../src/engine/network";
import { buildQubo, QuboView } from "../src/engine/qubo";
import { Race } from "../src/engine/race";
import { Generator } from "../src/engine/random";
import { fromLink, posedFrom, START, type State, toLink } from "../src/engine/state";
import { connect, type Layer, readNotation, type Shape } from "../src/engine/topology";
import { cSource, verilogSource } from "../src/take/circuits";
import { committeeFile, networkFile, quboFile } from "../src/take/files";
import { snippet } from "../src/take/snippet";

const SAVED = "tests/saved";
const vectors = JSON.parse(readFileSync("tests/vectors.json", "utf8"));

function same(name: string, content: Uint8Array | string): void {
  const path = `${SAVED}/${name}`;
  if (process.env["UPDATE"]) {
    mkdirSync(SAVED, { recursive: true });
    writeFileSync(path, content);
  }
  assert(readFileSync(path).equals(Buffer.from(content)), `${path} differs`);
}

for (const number of [0, 1, 3, 6]) {
  const one = vectors.networks[number];
  const topology = connect(one.inputs as Shape, readNotation(one.notation, one.outputs) as Layer[]);
  assert(typeof topology !== "string");
  const members: Network[] = one.spins.map((spins: number[]) => ({
    topology,
    spins: Int8Array.from(spins),
  }));
  test(`network ${one.notation} is saved as .qubonn, C and Verilog`, () => {
    same(`network-${number}.qubonn`, networkFile(members[0]!));
    same(`committee-${number}.qubonn`, committeeFile(members));
    same(`network-${number}.c`, cSource(members[0]!));
    same(`network-${number}.v`, verilogSource(members[0]!));
  });
}

const WIDE: State = {
  ...START,
  classes: [...START.classes.slice(0, 2), { name: 'a "b"', image: START.classes[3]!.image }],
  networks: { images: "fc(2)+out(skip, levels=3)", points: "fc(3, levels=3, thresholds=3)" },
  margin: 20,
  product: 1500,
  sweeps: 20,
};

const STATES: Record<string, State> = {
  plain: { ...START, sweeps: 20 },
  wide: {
    ...WIDE,
    pull: 300,
    pulled: Array.from({ length: 162 }, (_, i) => (i % 5) * 40 - 80),
    road: "qubo",
  },
  points: { ...WIDE, task: "points", seed: 5 },
  small: {
    ...WIDE,
    classes: START.classes.slice(0, 2),
    networks: { ...WIDE.networks, images: "fc(1)" },
  },
};

for (const [name, state] of Object.entries(STATES)) {
  const posed = posedFrom(state);
  assert(typeof posed !== "string", String(posed));

  test(`the QUBO of ${name} is saved`, () => {
    if (name === "plain" || name === "small")
      same(`${name}.qubo`, quboFile(posed.problem, buildQubo(posed.problem)));
  });

  test(`the Python of ${name} is saved with the energy and flips that it must print`, () => {
    const view =
      state.road === "qubo" ? new QuboView(posed.problem) : new LiftedView(posed.problem);
    const replica = view.start(new Generator(state.seed, 2));
    const race = new Race(posed.problem, state);
    for (const temperature of race.schedule) sweep(view, replica, temperature);
    const printed = `# H = ${replica.energy / 1000} after ${replica.flips} flips\n`;
    same(`${name}.py.txt`, snippet(posed, 2) + printed);
  });

  test(`a link holds the whole state of ${name}`, () => {
    assert.deepEqual(fromLink(toLink(state)), state);
  });
}

test("a race records what single replicas do, whatever is shown or flipped by hand", () => {
  const state = { ...START, sweeps: 30, replicas: 3 };
  const posed = posedFrom(state);
  assert(typeof posed !== "string");
  const plain = new Race(posed.problem, state);
  const touched = new Race(posed.problem, state);
  while (!plain.isDone) plain.sweep();
  for (let n = 0; n < 200; n++) touched.flip("lifted", 1);
  while (!touched.isDone) touched.sweep();
  for (const road of ["lifted", "qubo"] as const) {
    const [one, other] = [plain.lanes[road]!, touched.lanes[road]!];
    one.replicas.forEach((replica, r) => {
      assert.deepEqual(other.replicas[r]!.bits, replica.bits);
      assert.equal(other.replicas[r]!.flips, replica.flips);
    });
    assert.equal(one.energies[0]!.length, plain.sweeps + 1);
  }
});

test("broken links get a sentence", () => {
  const plain = { ...START, classes: [], drawnTests: [] };
  for (const text of [
    "",
    "x",
    btoa("{}"),
    btoa(JSON.stringify({ ...plain, seed: -1 })),
    toLink({ ...START, side: 8 }),
  ])
    assert.equal(typeof fromLink(text), "string");
});
