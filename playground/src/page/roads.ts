/** The two roads: all replicas of the paper's QUBO and of the lifted view, side by side. */

import { sizeOfProblem } from "../engine/problem";
import { LIMITS, type Road } from "../engine/state";
import type { Frame } from "../protocol";
import type { App } from "./app";
import { card, h, inks, roving, type Slider, setText, sized, slider, watchedWidth } from "./dom";

const TEXTS: Record<Road, [string, string]> = {
  qubo: ["The paper’s QUBO", "Weights, biases, activations, count bits and products all flip."],
  lifted: [
    "Lifted",
    "Products and counts follow from the other bits, so only weights, biases and activations flip.",
  ],
};

export function roadsCard(app: App): HTMLElement {
  const replicas = slider(
    "replicas",
    "Replicas on each road",
    { min: LIMITS.replicas[0], max: LIMITS.replicas[1], step: 1 },
    (value) => app.change({ replicas: value }),
  );
  const sweeps = slider("sweeps", "Sweeps", { min: 50, max: 2000, step: 50 }, (value) =>
    app.change({ sweeps: value }),
  );
  const hottest = temperature("hottest", "Hottest", { min: 0, max: 1.5 }, (value) =>
    app.change({ hottest: value }),
  );
  const coldest = temperature("coldest", "Coldest", { min: -2, max: 0 }, (value) =>
    app.change({ coldest: value }),
  );
  const chart = h("canvas", { role: "img", "aria-label": "Share of replicas without violations" });
  const chartBox = h("div", { class: "chart" }, chart);
  const width = watchedWidth(chartBox);
  const speed = h("p", { class: "quiet" });
  const lanes = { qubo: new LaneView(app, "qubo"), lifted: new LaneView(app, "lifted") };
  app.onPose(({ state }) => {
    replicas.set(state.replicas, String(state.replicas));
    sweeps.set(state.sweeps, String(state.sweeps));
    hottest.set(Math.log10(state.hottest), String(state.hottest));
    coldest.set(Math.log10(state.coldest), String(state.coldest));
  });
  app.onFrame((frame) => {
    lanes.qubo.show(frame);
    lanes.lifted.show(frame);
    drawShares(chart, width(), frame);
    if (frame.isRunning && frame.rate)
      setText(
        speed,
        `${(frame.rate / 1e6).toFixed(1)} million proposals a second on both roads together.`,
      );
  });
  return card(
    "roads",
    "The two roads",
    h(
      "p",
      {},
      "The same problem, the same temperatures, the same number of sweeps. A square is a replica: the redder, the more constraints it violates; green with a tick when all hold. Choose one to see it above.",
    ),
    h("div", { class: "lanes" }, lanes.qubo.element, lanes.lifted.element),
    chartBox,
    h("div", { class: "row sliders" }, replicas.element, sweeps.element),
    h("div", { class: "row sliders" }, hottest.element, coldest.element),
    speed,
  );
}

/** A slider for a temperature of the schedule, on a logarithmic scale, with three digits. */
function temperature(
  id: string,
  name: string,
  range: { min: number; max: number },
  set: (value: number) => void,
): Slider {
  return slider(id, `${name} temperature`, { ...range, step: 0.01 }, (exponent) =>
    set(Number((10 ** exponent).toPrecision(3))),
  );
}

class LaneView {
  readonly element: HTMLElement;
  private readonly strip: HTMLElement;
  private readonly score = h("strong", { class: "score" });
  private readonly facts = h("p", { class: "quiet" });
  private buttons: HTMLButtonElement[] = [];

  constructor(
    private readonly app: App,
    private readonly road: Road,
  ) {
    const [title, text] = TEXTS[road];
    this.strip = h("div", { class: "replicas", role: "group", "aria-label": `Replicas, ${title}` });
    this.element = h(
      "div",
      { class: `lane ${road}` },
      h("h3", {}, h("span", { class: "swatch" }), title),
      h("p", { class: "quiet" }, text),
      this.score,
      this.strip,
      this.facts,
    );
  }

  show(frame: Frame): void {
    const lane = frame.roads[this.road];
    if (!lane) {
      setText(this.score, "not run");
      setText(this.facts, "This QUBO has more than 4,000 bits, too many to anneal smoothly here.");
      this.strip.replaceChildren();
      this.buttons = [];
      return;
    }
    const count = lane.energies.length;
    if (this.buttons.length !== count) {
      this.buttons = Array.from({ length: count }, (_, replica) =>
        h("button", { type: "button", onclick: () => this.app.show(this.road, replica) }),
      );
      this.strip.replaceChildren(...this.buttons);
      roving(this.strip, this.buttons, 16);
    }
    const many = Math.max(4, sizeOfProblem(this.app.posed.problem).constraints / 4);
    this.buttons.forEach((button, replica) => {
      const broken = lane.broken[replica]!;
      const isShown = frame.road === this.road && frame.replica === replica;
      const hot = broken ? Math.min(1, 0.2 + 0.8 * Math.sqrt(broken / many)) : 0;
      const key = `${broken} ${isShown} ${hot.toFixed(2)}`;
      if (button.dataset["shown"] === key) return;
      button.dataset["shown"] = key;
      button.classList.toggle("solved", broken === 0);
      button.setAttribute("aria-pressed", String(isShown));
      button.style.setProperty("--hot", hot.toFixed(2));
      const holds = broken ? `${broken} violated` : "every constraint holds";
      button.setAttribute("aria-label", `Replica ${replica + 1}: ${holds}`);
    });
    setText(this.score, `${lane.feasible} of ${count} at zero violations`);
    const number = (value: number) => value.toLocaleString("en");
    setText(
      this.facts,
      `${number(lane.variables)} bits, ${number(lane.flips)} flips, ${number(lane.proposals)} proposals`,
    );
  }
}

function drawShares(canvas: HTMLCanvasElement, width: number, frame: Frame): void {
  const colours = inks();
  const height = 100;
  const context = sized(canvas, width, height);
  context.font = "500 12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const [top, bottom, right] = [24, height - 8, width - 48];
  context.fillStyle = colours.muted;
  context.fillText("Share of replicas at zero violations, by sweep", 0, 7);
  const last = Math.max(frame.sweepCount, frame.sweep);
  for (const share of [0, 0.5, 1]) {
    const y = Math.round(bottom - (bottom - top) * share) + 0.5;
    context.strokeStyle = colours.line;
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(right, y);
    context.stroke();
    context.fillStyle = colours.muted;
    context.fillText(`${share * 100} %`, right + 6, y);
  }
  const lines: [Road, string][] = [
    ["qubo", colours.second],
    ["lifted", colours.first],
  ];
  for (const [road, colour] of lines) {
    const shares = frame.roads[road]?.feasibleAfter ?? [];
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    shares.forEach((share, sweep) => {
      const [x, y] = [(right * sweep) / last, bottom - (bottom - top) * share];
      if (sweep) context.lineTo(x, y);
      else context.moveTo(x, y);
    });
    context.stroke();
  }
}
