/** Watch it freeze: controls, the network, and temperature, energy and violations over time. */

import type { Frame } from "../protocol";
import { type App, RATE_NAMES } from "./app";
import { card, choice, h, inks, setText, sized, slider, watchedWidth } from "./dom";
import { Lattice } from "./lattice";

export function freezeCard(app: App): HTMLElement {
  const canvas = h("canvas", { role: "img", "aria-label": "Weights and activations" });
  const lattice = new Lattice(canvas);
  const chart = h("canvas", { role: "img", "aria-label": "Temperature, energy and violations" });
  const status = h("p", { class: "status", role: "status" });
  const picture = h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Picture of the network" },
    canvas,
  );
  const chartBox = h("div", { class: "chart" }, chart);
  const redraw = () => {
    if (app.frame) draw(app.frame);
  };
  const room = watchedWidth(picture, redraw);
  const width = watchedWidth(chartBox, redraw);
  const road = choice(
    "View shown",
    [
      ["lifted", "Lifted"],
      ["qubo", "Paper’s QUBO"],
    ],
    (name) => app.show(name, app.frame?.replica ?? 0),
  );
  const draw = (frame: Frame) => {
    const fades = lattice.draw(frame, room());
    drawChart(chart, width(), frame);
    canvas.setAttribute("aria-label", describe(app, frame));
    setText(status, verdict(frame));
    status.classList.toggle("good", frame.history.broken.at(-1) === 0);
    road.set(frame.road);
    road.enable("qubo", Boolean(frame.roads.qubo));
    if (fades && !frame.isRunning)
      requestAnimationFrame(() => {
        if (app.frame === frame) draw(frame);
      });
  };
  app.onPose((posed) => lattice.pose(posed));
  app.onFrame(draw);
  return card(
    "freeze",
    "Watch it freeze",
    h(
      "p",
      { class: "quiet" },
      "Each square is a weight. Hot, weights flip at random; cooled, they settle where every example gets its answer.",
    ),
    controls(app),
    h("div", { class: "row spread" }, road.element, status),
    picture,
    h(
      "p",
      { class: "legend quiet" },
      h("span", { class: "key plus" }),
      " +1 ",
      h("span", { class: "key minus" }),
      " −1 ",
      h("span", { class: "key broken" }),
      " violated constraint. Numbers are sums before the sign.",
    ),
    chartBox,
  );
}

function controls(app: App): HTMLElement {
  const play = h("button", { type: "button", class: "primary", id: "play" }, "Run");
  play.addEventListener("click", () => {
    const { frame } = app;
    if (frame?.isRunning) app.order({ type: "pause" });
    else if (frame?.isDone) app.restart();
    else app.run();
  });
  const button = (text: string, hint: string, action: () => void) =>
    h("button", { type: "button", title: hint, onclick: action }, text);
  const speed = slider("speed", "Speed", { min: 0, max: 4, step: 1 }, (index) => {
    app.rateIndex = index;
    if (app.frame?.isRunning) app.run();
    speed.set(index, RATE_NAMES[index]!);
  });
  speed.set(app.rateIndex, RATE_NAMES[app.rateIndex]!);
  let isByHand = false;
  const heat = slider("heat", "Temperature", { min: -2.3, max: 1.5, step: 0.01 }, (exponent) => {
    isByHand = true;
    auto.hidden = false;
    app.order({ type: "heat", temperature: 10 ** exponent });
    if (app.frame?.isDone) app.run();
  });
  const auto = h(
    "button",
    {
      type: "button",
      hidden: true,
      onclick: () => {
        isByHand = false;
        auto.hidden = true;
        app.order({ type: "heat", temperature: null });
        heat.input.focus();
      },
    },
    "Cool by schedule",
  );
  const seed = h("input", {
    type: "number",
    id: "seed",
    min: 0,
    max: 999999,
    value: app.state.seed,
  });
  seed.addEventListener("change", () => {
    const value = Math.min(999999, Math.max(0, Math.round(Number(seed.value)) || 0));
    app.change({ seed: value });
  });
  app.onPose(({ state }) => {
    if (document.activeElement !== seed) seed.value = String(state.seed);
    if (app.frame) return; // the run goes on
    setText(play, "Run"); // until the first frame
    isByHand = false;
    auto.hidden = true;
  });
  app.onFrame((frame) => {
    setText(play, frame.isRunning ? "Pause" : frame.isDone ? "Run again" : "Run");
    const { temperature } = frame;
    const exponent = temperature > 0 ? Math.log10(temperature) : -2.3;
    const text = `${temperature >= 0.995 ? temperature.toFixed(1) : temperature.toFixed(2)}${isByHand ? ", by hand" : ""}`;
    heat.set(isByHand ? Number(heat.input.value) : Math.round(exponent * 100) / 100, text);
    speed.set(app.rateIndex, RATE_NAMES[app.rateIndex]!);
  });
  return h(
    "div",
    { class: "controls" },
    h(
      "div",
      { class: "row" },
      play,
      button("One flip", "Propose bits until one flips", () => app.order({ type: "flip" })),
      button("One sweep", "Propose every bit once", () => app.order({ type: "sweep" })),
      button("Restart", "Start again from random bits", () => app.restart(false)),
      h("label", { class: "seed" }, "seed", seed),
      button("Next", "Start again with another seed", () =>
        app.change({ seed: app.state.seed + 1 }, true),
      ),
    ),
    h("div", { class: "row sliders" }, heat.element, auto, speed.element),
  );
}

function verdict(frame: Frame): string {
  const broken = frame.history.broken.at(-1)!;
  if (broken === 0) return "Every constraint holds";
  return `${broken} constraint${broken > 1 ? "s" : ""} violated`;
}

function describe(app: App, frame: Frame): string {
  const energy = (frame.history.energy.at(-1) ?? 0).toFixed(2);
  return `Network ${app.state.networks[app.state.task]}, replica ${frame.replica + 1}: energy ${energy}, ${verdict(frame).toLowerCase()}, after ${frame.sweep} sweeps.`;
}

// ---- the three curves ----

const LANES = [
  ["temperature", "Temperature"],
  ["energy", "Energy H, on a square-root scale"],
  ["broken", "Violated constraints"],
] as const;
const LANE = 54;
const LEFT = 4;
const RIGHT = 62; // for the present values

function drawChart(canvas: HTMLCanvasElement, width: number, frame: Frame): void {
  const colours = inks();
  const height = LANES.length * (LANE + 24) + 4;
  const context = sized(canvas, width, height);
  context.font = "500 12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const last = Math.max(frame.sweepCount, frame.sweep);
  const across = (sweep: number) => LEFT + ((width - LEFT - RIGHT) * sweep) / last;
  LANES.forEach(([name, title], lane) => {
    const values = frame.history[name];
    const top = lane * (LANE + 24) + 20;
    const [least, most] = extent(name, values);
    const scale = name === "energy" ? squareRoot : (value: number) => value;
    const [low, high] = [scale(least), scale(most)];
    const up = (value: number) => top + LANE - (LANE * (scale(value) - low)) / (high - low);
    const zero = Math.min(top + LANE, Math.max(top, up(Math.max(0, least))));
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(LEFT, Math.round(zero) + 0.5);
    context.lineTo(width - RIGHT, Math.round(zero) + 0.5);
    context.stroke();
    context.fillStyle = colours.muted;
    context.textAlign = "left";
    context.fillText(title, LEFT, top - 10);
    const colour = [colours.second, colours.first, colours.bad][lane]!;
    context.strokeStyle = colour;
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    context.beginPath();
    values.forEach((value, sweep) => {
      const [x, y] = [across(sweep), up(Math.max(least, value))];
      if (sweep) context.lineTo(x, y);
      else context.moveTo(x, y);
    });
    context.stroke();
    const now = name === "temperature" ? frame.temperature : (values.at(-1) ?? 0);
    context.fillStyle = colour;
    context.font = "600 13px system-ui, sans-serif";
    const place = Math.min(top + LANE - 5, Math.max(top + 6, up(Math.max(least, now))));
    context.fillText(shown(now), across(Math.min(frame.sweep, last)) + 7, place);
    context.font = "500 12px system-ui, sans-serif";
  });
  context.fillStyle = colours.muted;
  context.textAlign = "right";
  context.fillText(`sweep ${frame.sweep} of ${last}`, width - 2, 8);
}

const squareRoot = (value: number): number => Math.sign(value) * Math.sqrt(Math.abs(value));

const shown = (value: number): string => {
  const text = Number.isInteger(value)
    ? String(value)
    : value.toFixed(Math.abs(value) < 10 ? 2 : 1);
  return text.replace("-", "−");
};

function extent(name: string, values: Float64Array): [number, number] {
  if (name === "temperature") return [0, Math.max(0.5, ...values)];
  const least = Math.min(0, ...values);
  return [least, Math.max(least + 1, ...values)];
}
