/**
 * Everything that the page lets one choose, as plain data; what is posed from it; a link that holds
 * it.
 */

import { type Image, LETTERS, readImage, testImages } from "./images";
import { grayCode } from "./network";
import { type Problem, plainStrengths, pose, UNIT } from "./problem";
import { connect, readNotation, type Shape, type Topology } from "./topology";

export type Task = "images" | "points";
export type Road = "lifted" | "qubo";

export interface Named {
  readonly name: string;
  readonly image: Image;
}

export interface Labelled {
  readonly image: Image;
  readonly label: number;
}

/** A point of the plane in hundredths of each side, and its class. */
export type Point = readonly [number, number, number];

export interface State {
  readonly task: Task;
  readonly side: number; // pixels of an image's side
  readonly classes: readonly Named[];
  readonly drawnTests: readonly Labelled[]; // test images made by hand
  readonly points: readonly Point[];
  readonly pointClasses: number;
  readonly grades: number; // thresholds of each coordinate
  readonly networks: Readonly<Record<Task, string>>; // in the paper's notation
  readonly margin: number; // gamma, in thousandths
  readonly product: number; // alpha, in thousandths
  readonly pull: number; // strength of the field, in thousandths
  readonly pulled: readonly number[]; // mean spins of weights and biases, in hundredths; or empty
  readonly hottest: number;
  readonly coldest: number;
  readonly sweeps: number;
  readonly replicas: number;
  readonly seed: number;
  readonly road: Road; // the one whose replica is shown
}

export const LIMITS = {
  classes: [2, 8],
  side: [5, 8],
  replicas: [1, 64],
  sweeps: [10, 3000],
  points: [2, 40],
  pointClasses: [2, 4],
  grades: [3, 9],
  margin: [0, 1000],
  product: [0, 10000],
  pull: [0, 2000],
  seed: [0, 999999],
} as const;

export const START: State = {
  task: "images",
  side: 5,
  classes: LETTERS.map(([name, drawing]) => ({ name, image: readImage(drawing) })),
  drawnTests: [],
  points: rings(),
  pointClasses: 2,
  grades: 7,
  networks: { images: "fc(3)", points: "fc(5, levels=3)" },
  margin: 0,
  product: UNIT,
  pull: 0,
  pulled: [],
  hottest: 5,
  coldest: 0.116,
  sweeps: 300,
  replicas: 24,
  seed: 1,
  road: "lifted",
};

/** Points of two classes: one in the middle, one around it. */
function rings(): Point[] {
  const inner: Point[] = [
    [50, 56, 0],
    [43, 46, 0],
    [57, 45, 0],
    [39, 58, 0],
    [62, 57, 0],
    [50, 36, 0],
  ];
  const outer: Point[] = [];
  for (let n = 0; n < 12; n++) {
    const angle = (n * Math.PI) / 6;
    const far = n % 2 ? 42 : 37;
    outer.push([Math.round(50 + far * Math.cos(angle)), Math.round(50 + far * Math.sin(angle)), 1]);
  }
  return [...inner, ...outer];
}

/** A problem with what is needed to show and to test it. */
export interface Posed {
  readonly state: State;
  readonly topology: Topology;
  readonly problem: Problem;
  readonly inputs: readonly Image[];
  readonly labels: readonly number[];
  readonly codewords: readonly (readonly number[])[];
  readonly classNames: readonly string[];
  readonly tests: readonly Labelled[];
}

export const className = (number: number): string => "ABCDEFGH"[number]!;

/** Return the spins of a point: its first coordinate by rising threshold, then its second. */
export function thermometer(x: number, y: number, grades: number): number[] {
  const spins = (value: number) =>
    Array.from({ length: grades }, (_, n) => (value * (grades + 1) > 100 * (n + 1) ? 1 : -1));
  return [...spins(x), ...spins(y)];
}

export const inputShape = (state: State): Shape =>
  state.task === "images" ? [1, state.side, state.side] : [2 * state.grades];

export const classCount = (state: State): number =>
  state.task === "images" ? state.classes.length : state.pointClasses;

/** Return the topology of a state, or a sentence that says why there is none. */
export function topologyOf(state: State, text = state.networks[state.task]): Topology | string {
  const outputCount = grayCode(classCount(state))[0]!.length;
  const layers = readNotation(text, outputCount);
  return typeof layers === "string" ? layers : connect(inputShape(state), layers);
}

/** Pose the problem of a state; a sentence says why it cannot be posed. */
export function posedFrom(state: State): Posed | string {
  const topology = topologyOf(state);
  if (typeof topology === "string") return topology;
  const codewords = grayCode(classCount(state));
  const isImages = state.task === "images";
  const inputs = isImages
    ? state.classes.map(({ image }) => image)
    : state.points.map(([x, y]) => thermometer(x, y, state.grades));
  const labels = isImages ? state.classes.map((_, n) => n) : state.points.map(([, , n]) => n);
  const plain = plainStrengths(topology);
  const isPulled = state.pulled.length === plain.field.length;
  const field = plain.field.map((_, i) =>
    isPulled ? Math.round((state.pull * state.pulled[i]!) / 100) : 0,
  );
  const strengths = { product: state.product, margin: state.margin, field };
  const wanted = labels.map((label) => codewords[label]!);
  const problem = pose(topology, inputs, wanted, strengths);
  const classNames = isImages
    ? state.classes.map(({ name }) => name)
    : codewords.map((_, n) => className(n));
  const tests = isImages ? testsOf(state) : [];
  return { state, topology, problem, inputs, labels, codewords, classNames, tests };
}

/** Ten images of each class with two pixels inverted, then those drawn by hand. */
function testsOf(state: State): Labelled[] {
  const made = state.classes.flatMap(({ image }, label) =>
    testImages(image, state.seed, label).map((one) => ({ image: one, label })),
  );
  return [...made, ...state.drawnTests];
}

// ---- links ----

const pack = (image: Image): string => image.map((spin) => (spin > 0 ? "1" : "0")).join("");

/** Return the state as text for the part of an address after #. */
export function toLink(state: State): string {
  const plain = {
    ...state,
    classes: state.classes.map(({ name, image }) => [name, pack(image)]),
    drawnTests: state.drawnTests.map(({ image, label }) => [pack(image), label]),
  };
  const bytes = new TextEncoder().encode(JSON.stringify(plain));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Return the state of a link; a sentence if it does not hold one. */
export function fromLink(text: string): State | string {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const state = checked(JSON.parse(new TextDecoder().decode(bytes)));
    const posed = posedFrom(state);
    return typeof posed === "string" ? posed : state;
  } catch {
    return "the link does not hold a state of the playground";
  }
}

/** Return a state whose every part is in range, or throw. */
function checked(given: Record<string, unknown>): State {
  const whole = (name: keyof typeof LIMITS, value: unknown): number => {
    const [least, most] = LIMITS[name];
    if (!Number.isInteger(value) || Number(value) < least || Number(value) > most) throw name;
    return Number(value);
  };
  const temperature = (value: unknown): number => {
    if (typeof value !== "number" || !(value > 0.001 && value < 1000)) throw value;
    return value;
  };
  const side = whole("side", given["side"]);
  const image = (value: unknown): Image => {
    if (typeof value !== "string" || !/^[01]+$/.test(value) || value.length !== side * side)
      throw value;
    return [...value].map((bit) => (bit === "1" ? 1 : -1));
  };
  const list = (value: unknown): unknown[][] => {
    if (!Array.isArray(value)) throw value;
    return value;
  };
  const classes = list(given["classes"]).map(([name, bits]) => ({
    name: String(name).slice(0, 12),
    image: image(bits),
  }));
  whole("classes", classes.length);
  const pointClasses = whole("pointClasses", given["pointClasses"]);
  const among = (value: unknown, count: number): number => {
    if (!Number.isInteger(value) || Number(value) < 0 || Number(value) >= count) throw value;
    return Number(value);
  };
  const points = list(given["points"]).map(
    ([x, y, n]): Point => [among(x, 101), among(y, 101), among(n, pointClasses)],
  );
  whole("points", points.length);
  const networks = given["networks"] as Record<Task, string>;
  const hottest = temperature(given["hottest"]);
  const coldest = temperature(given["coldest"]);
  if (coldest > hottest) throw coldest;
  return {
    task: given["task"] === "points" ? "points" : "images",
    side,
    classes,
    drawnTests: list(given["drawnTests"])
      .slice(0, 40)
      .map(([bits, label]) => ({ image: image(bits), label: among(label, classes.length) })),
    points,
    pointClasses,
    grades: whole("grades", given["grades"]),
    networks: { images: String(networks.images), points: String(networks.points) },
    margin: whole("margin", given["margin"]),
    product: whole("product", given["product"]),
    pull: whole("pull", given["pull"]),
    pulled: (list(given["pulled"]) as unknown as number[]).map((n) => among(n + 100, 201) - 100),
    hottest,
    coldest,
    sweeps: whole("sweeps", given["sweeps"]),
    replicas: whole("replicas", given["replicas"]),
    seed: whole("seed", given["seed"]),
    road: given["road"] === "qubo" ? "qubo" : "lifted",
  };
}
