/** The network: one of the paper's, or layers by hand; its counts. */

import { sizeOfProblem } from "../engine/problem";
import { topologyOf } from "../engine/state";
import { conv, dense, type Layer, notation, PAPER, readNotation } from "../engine/topology";
import type { App } from "./app";
import { card, h, setText } from "./dom";

export function networkCard(app: App): HTMLElement {
  const chosen = h(
    "select",
    { id: "network", onchange: () => choose(chosen.value) },
    h("option", { value: "" }, "by hand"),
    h(
      "optgroup",
      { label: "Networks of the paper" },
      ...PAPER.map((text, number) => h("option", { value: text }, `${number}: ${text}`)),
    ),
  );
  const note = h("p", { class: "warning", role: "status" });
  const rows = h("div", { class: "layers" });
  const text = h("code", {});
  const counts = h("dl", { class: "counts" });
  const choose = (written: string) => {
    if (!written) return;
    const networks = { ...app.state.networks, [app.state.task]: written };
    const problem = topologyOf(app.state, written);
    const sentence =
      typeof problem === "string" ? problem : app.change({ networks, pulled: [], pull: 0 });
    setText(note, sentence ? `${sentence[0]!.toUpperCase()}${sentence.slice(1)}.` : "");
  };
  app.onPose((posed) => {
    const written = posed.state.networks[posed.state.task];
    chosen.value = PAPER.includes(written) ? written : "";
    setText(text, written);
    setText(note, "");
    const layers = readNotation(written, posed.topology.outputCount) as Layer[];
    showLayers(rows, layers, posed.state.task === "images", choose);
    showCounts(counts, app);
  });
  let couplings: number | undefined;
  app.onFrame(({ roads }) => {
    if (roads.qubo?.couplings !== couplings) showCounts(counts, app);
    couplings = roads.qubo?.couplings;
  });
  return card(
    "network-card",
    "Choose the network",
    h("label", { for: "network", class: "field" }, h("span", {}, "Network"), chosen),
    h("details", {}, h("summary", {}, "Layers by hand"), rows),
    note,
    h("p", { class: "quiet" }, "In the paper's notation: ", text),
    counts,
  );
}

function showCounts(list: HTMLElement, app: App): void {
  const size = sizeOfProblem(app.posed.problem);
  const couplings = app.frame?.roads.qubo?.couplings;
  const entries: [string, string, string][] = [
    ["neurons", "inputs included", size.nodes.toLocaleString("en")],
    ["connections", "", size.arcs.toLocaleString("en")],
    [
      "binary variables",
      "weights, biases, hidden activations, products",
      size.binary.toLocaleString("en"),
    ],
    [
      "integer variables",
      "one count for each neuron and example",
      size.integer.toLocaleString("en"),
    ],
    ["constraints", "", size.constraints.toLocaleString("en")],
    ["bits of the QUBO", "", size.variables.toLocaleString("en")],
    ["couplings", "pairs of bits with a coefficient", couplings?.toLocaleString("en") ?? "–"],
  ];
  const key = JSON.stringify(entries);
  if (list.dataset["shown"] === key) return;
  list.dataset["shown"] = key;
  list.replaceChildren(
    ...entries.map(([name, hint, value]) =>
      h("div", { title: hint || null }, h("dt", {}, name), h("dd", {}, value)),
    ),
  );
}

function showLayers(
  rows: HTMLElement,
  layers: readonly Layer[],
  hasImages: boolean,
  choose: (written: string) => void,
): void {
  const key = JSON.stringify([layers, hasImages]);
  if (rows.dataset["shown"] === key) return;
  rows.dataset["shown"] = key;
  const focused = document.activeElement?.id ?? "";
  const change = (n: number, layer: Layer | null) => {
    const changed = layers.flatMap((one, i) => (i === n ? (layer ? [layer] : []) : [one]));
    choose(notation(changed));
  };
  const add = h(
    "button",
    {
      type: "button",
      disabled: layers.length > 4,
      onclick: () =>
        choose(notation([...layers.slice(0, -1), dense(4), layers[layers.length - 1]!])),
    },
    "Add layer",
  );
  const last = layers.length - 1;
  rows.replaceChildren(
    ...layers.map((layer, n) =>
      layerRow(layer, n, n === last, hasImages, last > 1, (one) => change(n, one)),
    ),
    add,
  );
  document.getElementById(focused)?.focus();
}

function layerRow(
  layer: Layer,
  n: number,
  isOutput: boolean,
  hasImages: boolean,
  isRemovable: boolean,
  change: (layer: Layer | null) => void,
): HTMLElement {
  const number = (
    name: string,
    value: number,
    min: number,
    max: number,
    set: (value: number) => Layer,
  ) => {
    const input = h("input", {
      type: "number",
      id: `layer-${n}-${name}`,
      min,
      max,
      value,
      onchange: () =>
        change(set(Math.min(max, Math.max(min, Math.round(Number(input.value)) || min)))),
    });
    return h("label", { for: `layer-${n}-${name}` }, h("span", {}, name), input);
  };
  const isConv = layer.kind === "conv";
  const kind = h(
    "select",
    {
      id: `layer-${n}-kind`,
      "aria-label": `Kind of layer ${n + 1}`,
      onchange: () => change(kind.value === "conv" ? conv(3, 3) : dense(4)),
    },
    h("option", { value: "dense", selected: !isConv }, "dense"),
    hasImages && h("option", { value: "conv", selected: isConv }, "convolution"),
  );
  const sizes = isConv
    ? [
        number("rows", layer.rows, 1, 8, (rows) => ({ ...layer, rows })),
        number("columns", layer.columns, 1, 8, (columns) => ({ ...layer, columns })),
        number("filters", layer.size, 1, 4, (size) => ({ ...layer, size })),
      ]
    : isOutput
      ? []
      : [number("neurons", layer.size, 1, 24, (size) => ({ ...layer, size }))];
  const skips = h("input", {
    type: "checkbox",
    id: `layer-${n}-skip`,
    checked: layer.skips,
    onchange: () => change({ ...layer, skips: skips.checked }),
  });
  return h(
    "fieldset",
    {},
    h("legend", {}, isOutput ? "Outputs" : `Layer ${n + 1}`),
    !isOutput && kind,
    ...sizes,
    number("levels", layer.levels, 2, 5, (levels) => ({ ...layer, levels })),
    number("thresholds", layer.thresholds, 2, 9, (thresholds) => ({ ...layer, thresholds })),
    n > 0 && !isConv && h("label", { class: "check" }, skips, h("span", {}, "skip from inputs")),
    !isOutput &&
      isRemovable &&
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-label": `Remove layer ${n + 1}`,
          onclick: () => change(null),
        },
        "×",
      ),
  );
}
