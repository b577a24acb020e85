/** Small helpers for elements and canvases. */

type Value = string | number | boolean | null | undefined | ((event: never) => void);
type Child = Node | string | null | undefined | false;

/** Make an element: names that begin with on are listeners, true is an empty attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function")
      element.addEventListener(name.slice(2), value as unknown as EventListener);
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

/** Set text only if it changed, so that screen readers and layout stay quiet. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function card(id: string, title: string, ...children: Child[]): HTMLElement {
  return h(
    "section",
    { class: "card", id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    ...children,
  );
}

/** A slider with its name and value in a line above it. */
export interface Slider {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  set(value: number, text: string): void;
}

export function slider(
  id: string,
  name: string,
  range: { min: number; max: number; step: number | "any" },
  onInput: (value: number) => void,
  hint = "",
): Slider {
  const input = h("input", { type: "range", id, ...range, title: hint || null });
  const output = h("output", { for: id });
  input.addEventListener("input", () => {
    onInput(Number(input.value));
  });
  const label = h("label", { for: id }, h("span", {}, name), output);
  return {
    element: h("div", { class: "slider" }, label, input),
    input,
    set(value, text) {
      if (document.activeElement !== input || Number(input.value) !== value)
        input.value = String(value);
      input.setAttribute("aria-valuetext", text);
      setText(output, text);
    },
  };
}

/** A row of buttons of which one is pressed. */
export function choice<T extends string>(
  name: string,
  options: readonly (readonly [T, string])[],
  onChoose: (value: T) => void,
): { element: HTMLElement; set(value: T): void; enable(value: T, isEnabled: boolean): void } {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": "false", onclick: () => onChoose(value) }, text),
  );
  return {
    element: h("div", { class: "choice", role: "group", "aria-label": name }, ...buttons),
    set(value) {
      options.forEach(([one], n) => {
        buttons[n]!.setAttribute("aria-pressed", String(one === value));
      });
    },
    enable(value, isEnabled) {
      buttons[options.findIndex(([one]) => one === value)]!.disabled = !isEnabled;
    },
  };
}

/** One stop of the Tab key for many elements; arrows move among them. */
export function roving(group: HTMLElement, items: readonly HTMLElement[], columns: number): void {
  items.forEach((item, n) => {
    item.tabIndex = n === 0 ? 0 : -1;
  });
  group.addEventListener("keydown", (event) => {
    const at = items.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    const target = step === undefined ? undefined : items[at + step];
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    if (!target) return;
    for (const item of items) item.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  });
}

// ---- canvases ----

export interface Inks {
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly soft: string;
  readonly back: string;
  readonly plus: string;
  readonly minus: string;
  readonly none: string;
  readonly bad: string;
  readonly good: string;
  readonly first: string;
  readonly second: string;
  readonly classes: readonly string[];
}

let cached: Inks | null = null;

export function forgetInks(): void {
  cached = null;
}

/** Return the colours of the present theme. */
export function inks(): Inks {
  if (cached) return cached;
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
  cached = {
    ink: get("ink"),
    muted: get("muted"),
    line: get("line"),
    soft: get("soft"),
    back: get("card"),
    plus: get("plus"),
    minus: get("minus"),
    none: get("none"),
    bad: get("bad"),
    good: get("good"),
    first: get("first"),
    second: get("second"),
    classes: ["a", "b", "c", "d"].map((letter) => get(`class-${letter}`)),
  };
  return cached;
}

/** Give a canvas this size in CSS pixels, sharp on any screen, and return its empty context. */
export function sized(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = Math.max(1, window.devicePixelRatio || 1);
  const [w, t] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== t) {
    canvas.width = w;
    canvas.height = t;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Draw an image of spins with cells of a size. */
export function drawImage(
  context: CanvasRenderingContext2D,
  image: readonly number[],
  columns: number,
  left: number,
  top: number,
  cell: number,
  gap = 1,
): void {
  const { ink, none } = inks();
  image.forEach((spin, place) => {
    context.fillStyle = spin > 0 ? ink : none;
    const x = left + (place % columns) * cell;
    const y = top + Math.floor(place / columns) * cell;
    context.fillRect(x, y, cell - gap, cell - gap);
  });
}

/** Follow the width of an element; reading it for every frame would force layouts. */
export function watchedWidth(element: HTMLElement, onChange = (): void => {}): () => number {
  let width = 0;
  new ResizeObserver(() => {
    width = element.clientWidth;
    onChange();
  }).observe(element);
  return () => {
    width ||= element.clientWidth;
    return width;
  };
}

export const prefersStill = (): boolean =>
  window.matchMedia("(prefers-reduced-motion: reduce)").matches;
