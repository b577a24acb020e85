/** A state -> Python that makes the same problem and repeats the same run. */

import { drawnRows } from "../engine/images";
import { UNIT } from "../engine/problem";
import type { Posed } from "../engine/state";
import { notation } from "../engine/topology";

/** Return a program that ends with the energy of one replica of one view. */
export function snippet(posed: Posed, replica: number, road = posed.state.road): string {
  const { state } = posed;
  const lines = [
    "import numpy as np",
    "import qubonn as qn",
    "from qubonn.playground import images_with_two_flips, replay",
    "",
    ...(state.task === "images" ? images(posed) : points(posed)),
    "",
    ...network(posed),
    ...problem(posed),
    `run = replay(problem, view="${road}", seed=${state.seed}, replica=${replica},`,
    `             sweeps=${state.sweeps}, hottest=${state.hottest}, coldest=${state.coldest})`,
    'print(f"H = {run.energy:g} after {run.flip_count} flips")',
    "",
    "result = qn.train(problem, seed=0)  # the same problem, faster",
    "print(result.is_feasible)",
  ];
  if (state.task === "images") lines.push(...tests(posed));
  return `${lines.join("\n")}\n`;
}

function images({ state, classNames }: Posed): string[] {
  const rows = state.classes.map(
    ({ image }, n) =>
      `    (${JSON.stringify(classNames[n])}, "${drawnRows(image, state.side).join(" ")}"),`,
  );
  return [
    "drawings = [",
    ...rows,
    "]",
    'inputs = np.array([[1 if mark == "#" else -1 for mark in drawing.replace(" ", "")]',
    "                   for _, drawing in drawings])",
    "labels = np.arange(len(drawings))",
  ];
}

function points({ state }: Posed): string[] {
  const { grades } = state;
  const rows = state.points.map(([x, y, label]) => `    (${x}, ${y}, ${label}),`);
  return [
    "points = np.array([  # in hundredths of each side; class",
    ...rows,
    "])",
    "columns, labels = points[:, :2], points[:, 2]",
    `thresholds = 100 * np.arange(1, ${grades + 1})`,
    `inputs = np.where(columns[:, :, None] * ${grades + 1} > thresholds, 1, -1).reshape(len(points), -1)`,
  ];
}

function network({ state, topology, codewords }: Posed): string[] {
  const outputs = topology.outputCount;
  const book = `book = qn.CodeBook.gray_code(range(${codewords.length}))`;
  if (topology.hasSkips) {
    const arcs = [...topology.sourceOf.keys()].map(
      (arc) => `(${topology.sourceOf[arc]}, ${topology.targetOf[arc]}, ${topology.weightOf[arc]})`,
    );
    const lines: string[] = [];
    for (let i = 0; i < arcs.length; i += 6) lines.push(`    ${arcs.slice(i, i + 6).join(", ")},`);
    const options = topology.hasConstant ? ", has_constant=True" : "";
    return [
      book,
      "arcs = [  # source, target, weight",
      ...lines,
      "]",
      `topology = qn.Topology.from_arcs(arcs, inputs=${topology.inputCount}, outputs=${outputs}${options})`,
    ];
  }
  const shape = state.task === "images" ? `(${state.side}, ${state.side})` : `${2 * state.grades}`;
  const text = notation(topology.layers);
  return [book, `topology = qn.Topology.parse("${text}", inputs=${shape}, outputs=${outputs})`];
}

function problem({ state, problem, topology }: Posed): string[] {
  const options: string[] = [];
  const lines: string[] = [];
  if (state.product !== UNIT) options.push(`product_strength=${state.product / UNIT}`);
  if (state.margin) options.push(`margin_strength=${state.margin / UNIT}`);
  if (problem.strengths.field.some(Boolean)) {
    const values = [...problem.strengths.field];
    lines.push("pull = np.array([", ...wrapped(values), `]) / ${UNIT}`);
    lines.push(`field = qn.Field(*np.split(pull, [${topology.weightCount}]))`);
    options.push("field=field");
  }
  const all = ["topology", "inputs", "book.encode(labels)", ...options];
  return [...lines, `problem = qn.TrainingProblem(${all.join(", ")})`, ""];
}

function wrapped(values: readonly number[]): string[] {
  const lines: string[] = [];
  for (let i = 0; i < values.length; i += 16)
    lines.push(`    ${values.slice(i, i + 16).join(", ")},`);
  return lines;
}

function tests({ state }: Posed): string[] {
  return [
    `tests = np.concatenate([images_with_two_flips(image, seed=${state.seed}, class_number=number)`,
    "                        for number, image in enumerate(inputs)])",
    "wanted = book.encode(np.repeat(labels, 10))",
    "committee = qn.Committee(result.networks)",
    "print(result.network.accuracy(tests, wanted), committee.accuracy(tests, wanted))",
  ];
}
