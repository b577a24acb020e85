/** The task: images of classes, or points of the plane, drawn by hand. */

import { type Image, LETTERS, MORE_LETTERS, readImage, resized } from "../engine/images";
import { forward, majority, nearestClass, votes } from "../engine/network";
import { className, type Labelled, LIMITS, type Point, thermometer } from "../engine/state";
import type { App } from "./app";
import { card, choice, h, inks, roving, setText, sized, slider } from "./dom";

/** An image whose pixels are buttons. */
export class Pixels {
  readonly element: HTMLElement;
  private buttons: HTMLButtonElement[] = [];
  private shown: Image = [];

  constructor(
    private readonly name: string,
    private readonly onChange: (image: Image) => void,
  ) {
    this.element = h("div", { class: "pixels", role: "group", "aria-label": name });
    let paint: number | null = null; // the spin that the pointer draws
    const drawAt = (target: EventTarget | null) => {
      const place = this.buttons.indexOf(target as HTMLButtonElement);
      if (place < 0 || paint === null || this.shown[place] === paint) return;
      this.set(this.shown.map((spin, n) => (n === place ? paint! : spin)));
      this.onChange(this.shown);
    };
    this.element.addEventListener("pointerdown", (event) => {
      const place = this.buttons.indexOf(event.target as HTMLButtonElement);
      if (place < 0 || event.button !== 0) return;
      paint = -this.shown[place]!;
      this.element.releasePointerCapture?.(event.pointerId);
      drawAt(event.target);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (paint !== null) drawAt(document.elementFromPoint(event.clientX, event.clientY));
    });
    window.addEventListener("pointerup", () => {
      paint = null;
    });
    this.element.addEventListener("click", (event) => {
      if (event.detail !== 0) return; // a key, not the pointer
      const place = this.buttons.indexOf(event.target as HTMLButtonElement);
      if (place < 0) return;
      this.set(this.shown.map((spin, n) => (n === place ? -spin : spin)));
      this.onChange(this.shown);
    });
  }

  set(image: Image, marked: readonly number[] = []): void {
    const side = Math.sqrt(image.length);
    if (this.buttons.length !== image.length) {
      this.buttons = image.map((_, place) =>
        h("button", {
          type: "button",
          "aria-label": `${this.name}, row ${Math.floor(place / side) + 1}, column ${(place % side) + 1}`,
        }),
      );
      this.element.replaceChildren(...this.buttons);
      this.element.style.setProperty("--side", String(side));
      roving(this.element, this.buttons, side);
    }
    this.shown = image;
    image.forEach((spin, place) => {
      const button = this.buttons[place]!;
      button.setAttribute("aria-pressed", String(spin > 0));
      button.classList.toggle("marked", marked.includes(place));
    });
  }
}

export function taskCard(app: App): HTMLElement {
  const tabs = choice(
    "Kind of task",
    [
      ["images", "Images"],
      ["points", "Points"],
    ],
    (task) => app.change({ task, pulled: [], pull: 0 }),
  );
  const images = imagesView(app);
  const points = pointsView(app);
  app.onPose(({ state }) => {
    tabs.set(state.task);
    images.hidden = state.task !== "images";
    points.hidden = state.task !== "points";
  });
  return card("task", "Draw the task", tabs.element, images, points);
}

// ---- images ----

function imagesView(app: App): HTMLElement {
  const list = h("div", { class: "classes" });
  const add = h("button", { type: "button", onclick: () => addClass(app) }, "Add class");
  const reset = h("button", { type: "button", onclick: () => resetClasses(app) }, "Letters");
  const size = h(
    "select",
    { id: "side", onchange: () => resize(app, Number(size.value)) },
    ...[5, 6, 7, 8].map((side) => h("option", { value: side }, `${side} × ${side}`)),
  );
  let entries: {
    root: HTMLElement;
    pixels: Pixels;
    name: HTMLInputElement;
    remove: HTMLButtonElement;
  }[] = [];
  let pending = 0;
  const change = (n: number, image: Image) => {
    const classes = app.state.classes.map((one, i) => (i === n ? { ...one, image } : one));
    app.state = { ...app.state, classes };
    clearTimeout(pending);
    pending = window.setTimeout(() => app.change({}), 120); // one new start for a stroke
  };
  app.onPose(({ state }) => {
    while (entries.length < state.classes.length) entries.push(entry(app, entries.length, change));
    entries = entries.slice(0, state.classes.length);
    if (list.children.length !== entries.length)
      list.replaceChildren(...entries.map(({ root }) => root));
    state.classes.forEach(({ name, image }, n) => {
      entries[n]!.pixels.set(image);
      if (document.activeElement !== entries[n]!.name) entries[n]!.name.value = name;
      entries[n]!.remove.disabled = state.classes.length <= LIMITS.classes[0];
    });
    size.value = String(state.side);
    add.disabled = state.classes.length >= LIMITS.classes[1];
  });
  return h(
    "div",
    {},
    h("p", { class: "quiet" }, "One image for each class. Click or drag to change pixels."),
    list,
    h(
      "div",
      { class: "row" },
      add,
      reset,
      h("label", { for: "side", class: "visually-hidden" }, "Size of images"),
      size,
    ),
  );
}

function entry(app: App, n: number, change: (n: number, image: Image) => void) {
  const pixels = new Pixels(`Image of class ${n + 1}`, (image) => change(n, image));
  const name = h("input", {
    type: "text",
    maxlength: 12,
    "aria-label": `Name of class ${n + 1}`,
    onchange: () =>
      app.amend({
        classes: app.state.classes.map((one, i) => (i === n ? { ...one, name: name.value } : one)),
      }),
  });
  const remove = h(
    "button",
    {
      type: "button",
      class: "plain",
      "aria-label": `Remove class ${n + 1}`,
      onclick: () => removeClass(app, n),
    },
    "×",
  );
  const root = h(
    "div",
    { class: "class" },
    pixels.element,
    h("div", { class: "caption" }, name, remove),
  );
  return { root, pixels, name, remove };
}

function addClass(app: App): void {
  const { classes, side } = app.state;
  const known = [...LETTERS, ...MORE_LETTERS];
  const [name, drawing] =
    known.find(([letter]) => classes.every((one) => one.name !== letter)) ?? known[classes.length]!;
  const image = resized(readImage(drawing), 5, side);
  app.change({ classes: [...classes, { name, image }], pulled: [], pull: 0 });
}

function removeClass(app: App, n: number): void {
  const keep = (one: Labelled) => one.label !== n;
  const moved = (one: Labelled) => ({ ...one, label: one.label - Number(one.label > n) });
  app.change({
    classes: app.state.classes.filter((_, i) => i !== n),
    drawnTests: app.state.drawnTests.filter(keep).map(moved),
    pulled: [],
    pull: 0,
  });
}

function resetClasses(app: App): void {
  const classes = LETTERS.map(([name, drawing]) => ({
    name,
    image: resized(readImage(drawing), 5, app.state.side),
  }));
  app.change({ classes, drawnTests: [], pulled: [], pull: 0 });
}

function resize(app: App, side: number): void {
  const { side: before, classes, drawnTests } = app.state;
  const fit = <T extends { image: Image }>(one: T) => ({
    ...one,
    image: resized(one.image, before, side),
  });
  app.change({
    side,
    classes: classes.map(fit),
    drawnTests: drawnTests.map(fit),
    pulled: [],
    pull: 0,
  });
}

// ---- points ----

const PLANE = 264; // pixels of the plane's side

function pointsView(app: App): HTMLElement {
  const canvas = h("canvas", {
    class: "plane",
    tabindex: 0,
    role: "application",
    "aria-label":
      "Plane of points. Arrow keys move the cursor, Enter adds a point of the chosen class, Delete removes the nearest.",
  });
  let chosen = 0;
  let cursor: [number, number] = [50, 50];
  const classes = h("div", { class: "choice", role: "group", "aria-label": "Class of new points" });
  const grades = slider(
    "grades",
    "Thresholds for each coordinate",
    { min: 3, max: 9, step: 1 },
    (value) => app.change({ grades: value, pulled: [], pull: 0 }),
  );
  const note = h("p", { class: "quiet", "aria-live": "polite" });
  const change = (points: readonly Point[]) => {
    const [least, most] = LIMITS.points;
    if (points.length < least || points.length > most)
      setText(note, `There can be ${least} to ${most} points.`);
    else {
      setText(note, "");
      app.change({ points });
    }
  };
  const nearest = (x: number, y: number): [number, number] => {
    const distances = app.state.points.map(([a, b]) => Math.hypot(a - x, b - y));
    const least = Math.min(...distances);
    return [distances.indexOf(least), least];
  };
  const removeAt = (n: number) => change(app.state.points.filter((_, i) => i !== n));
  canvas.addEventListener("pointerdown", (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.round(((event.clientX - box.left) / box.width) * 100);
    const y = Math.round((1 - (event.clientY - box.top) / box.height) * 100);
    cursor = [x, y];
    const [n, distance] = nearest(x, y);
    if (distance < 4) removeAt(n);
    else change([...app.state.points, [x, y, chosen]]);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-3, 0], ArrowRight: [3, 0], ArrowUp: [0, 3], ArrowDown: [0, -3] }[
      event.key
    ];
    const isOurs = step || ["Enter", " ", "Delete", "Backspace"].includes(event.key);
    if (!isOurs) return;
    event.preventDefault();
    if (step)
      cursor = [
        Math.min(100, Math.max(0, cursor[0] + step[0]!)),
        Math.min(100, Math.max(0, cursor[1] + step[1]!)),
      ];
    else if (event.key === "Enter" || event.key === " ")
      change([...app.state.points, [...cursor, chosen]]);
    else removeAt(nearest(...cursor)[0]);
    draw();
  });
  canvas.addEventListener("focus", () => draw());
  canvas.addEventListener("blur", () => draw());

  const showClasses = () => {
    const { pointClasses } = app.state;
    chosen = Math.min(chosen, pointClasses - 1);
    const buttons = Array.from({ length: pointClasses }, (_, n) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(n === chosen),
          onclick: () => {
            chosen = n;
            showClasses();
          },
        },
        h("span", { class: `dot dot-${n}` }),
        className(n),
      ),
    );
    const fewer = h(
      "button",
      {
        type: "button",
        "aria-label": "Fewer classes",
        disabled: pointClasses <= 2,
        onclick: () => setClasses(app, -1),
      },
      "−",
    );
    const more = h(
      "button",
      {
        type: "button",
        "aria-label": "More classes",
        disabled: pointClasses >= 4,
        onclick: () => setClasses(app, 1),
      },
      "+",
    );
    const focused = classes.contains(document.activeElement);
    classes.replaceChildren(...buttons, fewer, more);
    if (focused) buttons[chosen]!.focus();
  };

  const draw = () => {
    if (app.state.task !== "points" || !app.frame) return;
    const context = sized(canvas, PLANE, PLANE);
    drawRegions(context, app, PLANE);
    drawPoints(context, app, PLANE);
    if (document.activeElement === canvas) {
      const [x, y] = [(cursor[0] * PLANE) / 100, PLANE - (cursor[1] * PLANE) / 100];
      context.strokeStyle = inks().ink;
      context.strokeRect(x - 6, y - 6, 12, 12);
    }
  };
  app.onPose(({ state }) => {
    grades.set(state.grades, String(state.grades));
    if (state.task === "points") showClasses();
  });
  app.onFrame(draw);
  return h(
    "div",
    { hidden: true },
    h("p", { class: "quiet" }, "Click to add a point, click a point to remove it."),
    classes,
    canvas,
    note,
    grades.element,
    h(
      "p",
      { class: "quiet" },
      "The colours behind the points are the answers of all feasible networks together; of the network shown while there is none.",
    ),
  );
}

function setClasses(app: App, change: number): void {
  const pointClasses = app.state.pointClasses + change;
  const points = app.state.points.filter(([, , label]) => label < pointClasses);
  app.change({ pointClasses, points, pulled: [], pull: 0 });
}

/** Colour each cell of the grid of thresholds with the answer of the committee, or of one network. */
function drawRegions(context: CanvasRenderingContext2D, app: App, size: number): void {
  const { grades } = app.state;
  const { codewords } = app.posed;
  const members = app.committee;
  const cell = size / (grades + 1);
  const colours = inks().classes;
  context.globalAlpha = 0.28;
  for (let row = 0; row <= grades; row++)
    for (let column = 0; column <= grades; column++) {
      const middle = (n: number) => ((n + 0.5) * 100) / (grades + 1);
      const spins = thermometer(middle(column), middle(row), grades);
      const { nodeCount, outputCount } = app.posed.topology;
      const answer = members.length
        ? majority(votes(members, spins))
        : forward(app.network, spins).activations.slice(nodeCount - outputCount);
      context.fillStyle = colours[nearestClass(codewords, answer)]!;
      context.fillRect(column * cell, size - (row + 1) * cell, cell + 0.5, cell + 0.5);
    }
  context.globalAlpha = 1;
}

export function drawPoints(
  context: CanvasRenderingContext2D,
  app: App,
  size: number,
  radius = 5,
): void {
  const colours = inks();
  for (const [x, y, label] of app.state.points) {
    context.beginPath();
    context.arc((x * size) / 100, size - (y * size) / 100, radius, 0, 7);
    context.fillStyle = colours.classes[label]!;
    context.fill();
    context.lineWidth = radius > 3 ? 1.5 : 0.8;
    context.strokeStyle = colours.back;
    context.stroke();
  }
}
