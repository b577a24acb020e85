/** Six short steps, each of which sets the page up. */

import { START, type State } from "../engine/state";
import type { App } from "./app";
import { h, setText } from "./dom";

interface Step {
  readonly title: string;
  readonly text: string;
  readonly look: string;
  readonly patch: Partial<State>;
  readonly rateIndex: number;
  readonly neuron?: "sum" | "count";
  readonly goal: string; // id of the part of the page that it is about
}

const PLAIN: Partial<State> = {
  ...START,
  networks: { ...START.networks, images: "fc(3)" },
};

const STEPS: readonly Step[] = [
  {
    title: "A neuron of bits",
    text: "Every input, weight and activation is −1 or +1. A neuron multiplies each input by its weight, adds the products and its bias, and answers +1 if the sum is above zero, otherwise −1.",
    look: "Click the signs of this neuron. In the picture below, blue cells are weights of +1 and orange cells weights of −1.",
    patch: PLAIN,
    rateIndex: 2,
    neuron: "sum",
    goal: "freeze",
  },
  {
    title: "The sign is a bit",
    text: "Theorem 1 of the paper: count the terms that are +1, add a constant that depends only on their number, and write the result in binary. Its top bit is 1 exactly if the sum is positive. So “the neuron answers correctly” is one linear equation between bits.",
    look: "Click the signs and watch the top bit. The other digits are the count bits; the paper’s QUBO has them for each neuron and example.",
    patch: { ...PLAIN, road: "qubo" },
    rateIndex: 1,
    neuron: "count",
    goal: "freeze",
  },
  {
    title: "Penalties",
    text: "A QUBO is an energy made of single bits and pairs of bits. Each equation is squared: zero if it holds, at least one if not. Their sum is H₁. A weight times a hidden activation would make triples, so each such product has its own bit, and H₂ penalises it if it differs. The energy is zero exactly where every constraint holds.",
    look: "The paper’s QUBO is shown: red bits below the network are miscounts and wrong products.",
    patch: { ...PLAIN, road: "qubo" },
    rateIndex: 1,
    goal: "energy",
  },
  {
    title: "Annealing",
    text: "Pick a bit and compute what its flip would add to the energy. If it adds nothing, flip it; if it adds ΔE, flip it with probability exp(−ΔE / T). At a high temperature T bits wander freely; at a low one they freeze. Cooling slowly finds states of low energy.",
    look: "Drag the temperature up and down, or make one flip at a time.",
    patch: { ...PLAIN, road: "lifted" },
    rateIndex: 1,
    goal: "freeze",
  },
  {
    title: "Margins",
    text: "A neuron whose sum is far from zero keeps its answer when a few pixels change. The margin is that distance, and γ is the reward for it.",
    look: "Here γ is 0.02: the sums are larger, and one network alone gets more test images right. Raise γ to 0.1 and violated constraints appear.",
    patch: { ...PLAIN, margin: 20 },
    rateIndex: 2,
    goal: "energy",
  },
  {
    title: "Votes",
    text: "Replicas start from different random bits and freeze into different networks. Each that violates nothing is a solution. On images that none has seen they make different mistakes, so the majority is right more often than a single one.",
    look: "64 replicas anneal without a margin reward. Compare one network with the vote.",
    patch: { ...PLAIN, replicas: 64 },
    rateIndex: 3,
    goal: "vote",
  },
];

export function learnCard(app: App): HTMLElement {
  const title = h("h2", {});
  const text = h("p", {});
  const look = h("p", { class: "look" });
  const demo = neuronDemo();
  const pills = STEPS.map((step, n) =>
    h(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => go(n) },
      h("span", { class: "number" }, String(n + 1)),
      step.title,
    ),
  );
  const body = h(
    "div",
    { class: "step", hidden: true },
    h("div", {}, title, text, look),
    demo.element,
  );
  let open = -1;
  const go = (n: number) => {
    open = open === n ? -1 : n;
    pills.forEach((pill, i) => {
      pill.setAttribute("aria-pressed", String(i === open));
    });
    body.hidden = open < 0;
    document.querySelectorAll(".card.goal").forEach((one) => {
      one.classList.remove("goal");
    });
    const step = STEPS[open];
    if (!step) return;
    setText(title, `${open + 1}. ${step.title}`);
    setText(text, step.text);
    setText(look, step.look);
    demo.show(step.neuron ?? null);
    app.rateIndex = step.rateIndex;
    document.getElementById(step.goal)?.classList.add("goal");
    app.change(step.patch);
  };
  return h(
    "section",
    { class: "learn", "aria-label": "Learn in six steps" },
    h("div", { class: "pills", role: "group", "aria-label": "Steps" }, ...pills),
    body,
  );
}

/** Four inputs, their weights and a bias, all of which can be clicked. */
function neuronDemo(): { element: HTMLElement; show(kind: "sum" | "count" | null): void } {
  const inputs = [1, -1, 1, 1];
  const weights = [1, 1, 1, -1];
  let bias = 1;
  let kind: "sum" | "count" | null = null;
  const element = h("div", { class: "neuron", hidden: true });
  const sign = (value: number) => (value > 0 ? "+1" : "−1");
  const cell = (name: string, value: number, flip: () => void) =>
    h(
      "button",
      {
        type: "button",
        class: value > 0 ? "plus" : "minus",
        "aria-label": `${name}: ${sign(value)}`,
        onclick: () => {
          flip();
          draw(name);
        },
      },
      sign(value),
    );
  const draw = (focus = "") => {
    const terms = [...inputs.map((input, i) => input * weights[i]!), bias];
    const sum = terms.reduce((all, term) => all + term, 0);
    const positive = terms.filter((term) => term > 0).length;
    const row = (name: string, ...cells: (HTMLElement | string)[]) =>
      h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((one) => h("td", {}, one)));
    const table = h(
      "table",
      {},
      row(
        "inputs",
        ...inputs.map((value, i) => cell(`input ${i + 1}`, value, () => (inputs[i]! *= -1))),
        "",
      ),
      row(
        "weights",
        ...weights.map((value, i) => cell(`weight ${i + 1}`, value, () => (weights[i]! *= -1))),
        "",
      ),
      row(
        "terms",
        ...terms.slice(0, 4).map(sign),
        cell("bias", bias, () => (bias = -bias)),
      ),
    );
    const moved = positive + 1; // five terms: n = 2, kappa = 2, and floor(kappa / 2) = 1
    const [four, two, one] = [moved >> 2, (moved >> 1) & 1, moved & 1];
    const result =
      kind === "count"
        ? h(
            "p",
            {},
            `${positive} of 5 terms are +1; plus the constant 1 is ${moved}, in binary `,
            h("strong", { class: "top-bit" }, String(four)),
            h("span", { class: "low-bits" }, `${two}${one}`),
            `. The top bit is ${four}, so the answer is ${sign(four ? 1 : -1)}.`,
          )
        : h(
            "p",
            {},
            `The last term is the bias. Sum ${sum > 0 ? "+" : ""}${sum}`.replace("-", "−"),
            h("strong", {}, ` → ${sign(sum > 0 ? 1 : -1)}`),
          );
    element.replaceChildren(table, result);
    if (focus)
      [...element.querySelectorAll("button")]
        .find((one) => one.getAttribute("aria-label")!.startsWith(`${focus}:`))
        ?.focus();
  };
  return {
    element,
    show(shown) {
      kind = shown;
      element.hidden = !shown;
      draw();
    },
  };
}
