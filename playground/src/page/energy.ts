/** The energy of the shown replica, term by term, and the strengths of its terms. */

import { UNIT } from "../engine/problem";
import type { Frame } from "../protocol";
import type { App } from "./app";
import { card, h, setText, slider } from "./dom";

const TERMS = [
  ["activation", "H₁", "neurons with the wrong sign"],
  ["product", "α·H₂", "products that differ from weight × activation"],
  ["margin", "−γ·H_som", "reward for large margins"],
  ["field", "−H_ext", "reward for following the field"],
] as const;

export function energyCard(app: App): HTMLElement {
  const bars = TERMS.map(([name, symbol, meaning]) => {
    const fill = h("span", { class: `fill ${name}` });
    const value = h("span", { class: "value" });
    const row = h(
      "div",
      { class: "term" },
      h("span", { class: "name", title: meaning }, symbol),
      h("span", { class: "track" }, fill),
      value,
      h("span", { class: "meaning quiet" }, meaning),
    );
    return { row, fill, value };
  });
  const stack = h("div", { class: "stack", role: "img", "aria-label": "Energy as a stacked bar" });
  const pieces = TERMS.map(([name]) => h("span", { class: `piece ${name}` }));
  stack.append(...pieces);
  const sum = h("p", { class: "sum" });
  const margins = h("p", { class: "quiet" });
  const margin = slider("margin", "Margin strength γ", { min: 0, max: 120, step: 5 }, (value) =>
    app.change({ margin: value }),
  );
  const product = slider(
    "product",
    "Product strength α",
    { min: 250, max: 4000, step: 250 },
    (value) => app.change({ product: value }),
  );
  const pull = slider("pull", "Field strength", { min: 0, max: 1000, step: 50 }, (value) => {
    const isSet = app.state.pulled.length > 0;
    app.change({ pull: value, pulled: isSet ? app.state.pulled : meanSpins(app) });
  });
  const renew = h(
    "button",
    {
      type: "button",
      onclick: () => app.change({ pulled: meanSpins(app), pull: app.state.pull || 200 }),
    },
    "Take the field from the replicas",
  );
  app.onPose(({ state }) => {
    margin.set(state.margin, (state.margin / UNIT).toFixed(3));
    product.set(state.product, (state.product / UNIT).toFixed(2));
    pull.set(state.pull, (state.pull / UNIT).toFixed(2));
  });
  app.onFrame((frame) => show(app, frame, bars, pieces, stack, sum, margins));
  return card(
    "energy",
    "The energy",
    sum,
    stack,
    ...bars.map(({ row }) => row),
    margin.element,
    margins,
    h(
      "p",
      { class: "quiet" },
      "Up to 0.03 margins grow and tests improve; beyond, violated constraints pay for larger margins.",
    ),
    product.element,
    pull.element,
    h(
      "p",
      { class: "quiet" },
      "The field pulls each weight towards the mean of that weight in all replicas when it was taken. The paper’s dropout makes such a field from networks trained with nodes left out.",
    ),
    renew,
  );
}

function show(
  app: App,
  frame: Frame,
  bars: readonly { fill: HTMLElement; value: HTMLElement }[],
  pieces: readonly HTMLElement[],
  stack: HTMLElement,
  sum: HTMLElement,
  margins: HTMLElement,
): void {
  const { product, margin } = app.posed.problem.strengths;
  const { terms } = frame;
  const values = [
    terms.activation,
    (product * terms.product) / UNIT,
    (-margin * terms.margin) / UNIT || 0,
    -terms.field / UNIT || 0,
  ];
  const size = Math.max(4, ...values.map(Math.abs));
  const whole = Math.max(
    8,
    values.reduce((all, value) => all + Math.abs(value), 0),
  );
  values.forEach((value, n) => {
    const { fill, value: text } = bars[n]!;
    fill.style.width = `${(100 * Math.abs(value)) / size}%`;
    pieces[n]!.style.width = `${(100 * Math.abs(value)) / whole}%`;
    setText(text, number(value));
  });
  const total = values.reduce((all, value) => all + value, 0);
  const label = `Energy ${number(total)}: ${values.map((value, n) => `${TERMS[n]![1]} ${number(value)}`).join(", ")}`;
  if (!frame.isRunning) stack.setAttribute("aria-label", label);
  setText(sum, `H = ${number(total)}`);
  setText(margins, `Sum of all margins H_som: ${number(terms.margin)}`);
}

const number = (value: number): string =>
  (Math.round(value * 1000) / 1000)
    .toLocaleString("en", { maximumFractionDigits: 2 })
    .replace("-", "−");

/** Return the mean spin of each weight and bias over all replicas, in hundredths. */
function meanSpins(app: App): number[] {
  const { frame, posed } = app;
  if (!frame) return [];
  const count = posed.problem.starts[2]!;
  const replicas = frame.parameters.length / count;
  return Array.from({ length: count }, (_, i) => {
    let sum = 0;
    for (let r = 0; r < replicas; r++) sum += 2 * frame.parameters[r * count + i]! - 1;
    return Math.round((100 * sum) / replicas);
  });
}
