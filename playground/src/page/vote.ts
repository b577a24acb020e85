/** The vote: test images, and an image drawn by hand, classified by one network and by all. */

import type { Image } from "../engine/images";
import { forward, majority, type Network, nearestClass, outputs, votes } from "../engine/network";
import type { Labelled } from "../engine/state";
import type { Flips, Frame } from "../protocol";
import type { App } from "./app";
import { card, drawImage, h, roving, setText, sized } from "./dom";
import { Pixels } from "./task";

const EVERY = 150; // milliseconds between two counts of votes

export function voteCard(app: App): HTMLElement {
  const single = score("this network");
  const all = score("all feasible replicas");
  const tests = new Tests(app, (image) => pad.set(image));
  const pad = new Pad(app);
  const images = h("div", {}, tests.element, pad.element);
  const points = h("p", { class: "quiet" }, "Points are classified on the plane itself.");
  let counted = 0;
  const count = (frame: Frame) => {
    counted = performance.now();
    const members = app.committee;
    tests.show(app.network, members, single, all);
    setText(
      all.name,
      members.length ? `vote of ${members.length} feasible replicas` : "no feasible replica yet",
    );
    pad.show(frame);
  };
  app.onPose(({ state }) => {
    images.hidden = state.task !== "images";
    points.hidden = state.task === "images";
    tests.pose();
    pad.pose();
  });
  app.onFrame((frame) => {
    if (!frame.isRunning || performance.now() - counted > EVERY) count(frame);
  });
  return card(
    "vote",
    "The vote",
    h("div", { class: "scores" }, single.element, all.element),
    images,
    points,
  );
}

/** Return the sum of several answers, output by output. */
function summed(answers: readonly Int8Array[]): Int32Array {
  const sums = new Int32Array(answers[0]!.length);
  for (const answer of answers)
    answer.forEach((spin, o) => {
      sums[o]! += spin;
    });
  return sums;
}

interface Score {
  readonly element: HTMLElement;
  readonly value: HTMLElement;
  readonly name: HTMLElement;
}

function score(text: string): Score {
  const value = h("strong", {}, "–");
  const name = h("span", { class: "quiet" }, text);
  return { element: h("div", { class: "scored" }, value, name), value, name };
}

/** Test images as small buttons; a frame says whether the vote is right. */
class Tests {
  readonly element: HTMLElement;
  private readonly grid = h("div", { class: "tests", role: "group", "aria-label": "Test images" });
  private readonly caption = h("p", { class: "quiet" });
  private buttons: HTMLButtonElement[] = [];
  private shown: readonly Labelled[] = [];

  constructor(
    private readonly app: App,
    private readonly load: (image: Image) => void,
  ) {
    this.element = h("div", {}, this.caption, this.grid);
  }

  pose(): void {
    const { tests, state, classNames } = this.app.posed;
    if (tests === this.shown || state.task !== "images") return;
    this.shown = tests;
    this.buttons = tests.map(({ image, label }, n) => {
      const canvas = h("canvas", {});
      const cell = Math.max(2, Math.floor(22 / state.side));
      const button = h(
        "button",
        {
          type: "button",
          "aria-label": `Test image of ${classNames[label]}`,
          onclick: () => this.load(this.shown[n]!.image),
        },
        canvas,
      );
      drawImage(
        sized(canvas, state.side * cell, state.side * cell),
        image,
        state.side,
        0,
        0,
        cell,
        0,
      );
      return button;
    });
    this.grid.replaceChildren(...this.buttons);
    roving(this.grid, this.buttons, 10);
    setText(
      this.caption,
      `${tests.length} test images, most with two pixels inverted. A red frame: the vote is wrong; a dashed one: the network shown is wrong.`,
    );
  }

  show(network: Network, members: readonly Network[], single: Score, all: Score): void {
    const { codewords, classNames, state } = this.app.posed;
    const isImages = state.task === "images";
    const examples: readonly Labelled[] = isImages
      ? this.shown
      : this.app.posed.inputs.map((image, n) => ({ image, label: this.app.posed.labels[n]! }));
    let [rightAlone, rightTogether, rightEach] = [0, 0, 0];
    examples.forEach(({ image, label }, n) => {
      const alone = nearestClass(codewords, outputs(network, image));
      const each = members.map((member) => outputs(member, image));
      const together = members.length ? nearestClass(codewords, majority(summed(each))) : -1;
      rightAlone += Number(alone === label);
      rightTogether += Number(together === label);
      for (const answer of each) rightEach += Number(nearestClass(codewords, answer) === label);
      const button = isImages ? this.buttons[n] : undefined;
      if (!button) return;
      button.classList.toggle("wrong", together >= 0 && together !== label);
      button.classList.toggle("alone", alone !== label);
      const votedAs = together >= 0 ? `, voted ${classNames[together]}` : "";
      const name = `Test image of ${classNames[label]}${votedAs}`;
      if (button.getAttribute("aria-label") !== name) button.setAttribute("aria-label", name);
    });
    const percent = (right: number) =>
      `${Math.round((100 * right) / Math.max(1, examples.length))} %`;
    setText(single.value, percent(rightAlone));
    setText(all.value, members.length ? percent(rightTogether) : "–");
    const mean = members.length ? `; mean of all ${percent(rightEach / members.length)}` : "";
    setText(single.name, `this network${mean}`);
  }
}

/** An image to draw on, classified live. */
class Pad {
  readonly element: HTMLElement;
  private readonly pixels: Pixels;
  private readonly answers = h("div", { class: "answers" });
  private image: Image = [];
  private flips: { single: Flips; all: Flips | null } | null = null;
  private probed = "";
  private readonly label = h("select", {
    id: "pad-label",
    "aria-label": "Class of the drawn image",
  });

  constructor(private readonly app: App) {
    this.pixels = new Pixels("Image to classify", (image) => this.set(image));
    const add = h(
      "button",
      {
        type: "button",
        onclick: () => {
          const drawn = { image: this.image, label: Number(this.label.value) };
          app.amend({ drawnTests: [...app.state.drawnTests, drawn].slice(-40) });
        },
      },
      "Add to tests",
    );
    this.element = h(
      "div",
      { class: "pad" },
      h("h3", {}, "Draw an image"),
      h("div", { class: "pad-row" }, this.pixels.element, this.answers),
      h(
        "div",
        { class: "row" },
        h("label", { for: "pad-label", class: "quiet" }, "as class"),
        this.label,
        add,
      ),
    );
  }

  pose(): void {
    const { state, tests, classNames } = this.app.posed;
    if (state.task !== "images") return;
    if (this.image.length !== state.side ** 2) this.image = tests[0]!.image;
    const chosen = Number(this.label.value) || 0;
    this.label.replaceChildren(
      ...classNames.map((name, n) => h("option", { value: n, selected: n === chosen }, name)),
    );
    this.pixels.set(this.image);
    this.flips = null;
    this.probed = "";
  }

  set(image: Image): void {
    this.image = image;
    this.flips = null;
    this.pixels.set(image);
    if (this.app.frame) this.show(this.app.frame);
  }

  show(frame: Frame): void {
    const { app, image } = this;
    const { state, codewords, classNames, topology } = app.posed;
    if (state.task !== "images" || image.length !== topology.columnCount) return;
    const members = app.committee;
    const pass = forward(app.network, image);
    const { outputCount, nodeCount } = topology;
    const alone = nearestClass(codewords, pass.activations.slice(nodeCount - outputCount));
    const margin = Math.min(...pass.sums.slice(-outputCount).map(Math.abs));
    const single = line("One network", classNames[alone]!, [
      `least output margin ${margin}`,
      flipText(this.flips?.single),
    ]);
    let all = line("Vote", "–", ["no feasible replica yet"]);
    if (members.length) {
      const sums = votes(members, image);
      const together = nearestClass(codewords, majority(sums));
      const agreeing = members.filter(
        (one) => nearestClass(codewords, majority(votes([one], image))) === together,
      );
      const shares = `${agreeing.length} of ${members.length} say so themselves`;
      all = line("Vote", classNames[together]!, [shares, flipText(this.flips?.all)]);
    }
    const key = single.textContent + all.textContent!;
    if (this.answers.dataset["shown"] !== key) {
      this.answers.dataset["shown"] = key;
      this.answers.replaceChildren(single, all);
    }
    this.pixels.set(image, this.flips?.all?.inputs ?? this.flips?.single.inputs ?? []);
    if (!frame.isRunning) this.probe(frame);
  }

  private probe(frame: Frame): void {
    const key = `${frame.generation} ${frame.sweep} ${frame.road} ${frame.replica} ${this.image.join()}`;
    if (this.probed === key) return;
    this.probed = key;
    this.app.probe(this.image, ({ single, all }) => {
      if (this.probed !== key) return;
      this.flips = { single, all };
      if (this.app.frame) this.show(this.app.frame);
    });
  }
}

function line(who: string, answer: string, facts: readonly string[]): HTMLElement {
  const texts = facts.filter(Boolean).map((fact) => h("span", { class: "quiet" }, fact));
  return h(
    "div",
    { class: "answer" },
    h("span", { class: "who" }, who),
    h("strong", {}, answer),
    ...texts,
  );
}

function flipText(flips: Flips | null | undefined): string {
  if (!flips) return "";
  if (!Number.isFinite(flips.flips)) return "no flips change it";
  const pixels = `${flips.flips} pixel${flips.flips > 1 ? "s" : ""}`;
  return `${flips.isExact ? "" : "at least "}${pixels} must flip to change it`;
}
