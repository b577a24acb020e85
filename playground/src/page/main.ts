/** The page: all parts, joined to one App. */

import { fromLink, START } from "../engine/state";
import { App } from "./app";
import { forgetInks, h, setText } from "./dom";
import { energyCard } from "./energy";
import { freezeCard } from "./freeze";
import { networkCard } from "./layers";
import { learnCard } from "./learn";
import { roadsCard } from "./roads";
import { takeCard } from "./take";
import { taskCard } from "./task";
import { voteCard } from "./vote";

const THEMES = ["auto", "light", "dark"] as const;

function themeButton(app: App): HTMLElement {
  let theme = 0;
  const button = h("button", { type: "button", class: "plain", id: "theme" }, "Theme: auto");
  const redraw = () => {
    forgetInks();
    if (app.frame) app.order({ type: "show", road: app.frame.road, replica: app.frame.replica });
  };
  button.addEventListener("click", () => {
    theme = (theme + 1) % THEMES.length;
    document.documentElement.dataset["theme"] = THEMES[theme]!;
    setText(button, `Theme: ${THEMES[theme]}`);
    redraw();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  return button;
}

function build(app: App): void {
  const note = h("p", { class: "warning", role: "status" });
  document.getElementById("head")!.append(themeButton(app));
  document
    .getElementById("page")!
    .append(
      learnCard(app),
      note,
      h(
        "div",
        { class: "grid" },
        h("div", { class: "column" }, taskCard(app), networkCard(app)),
        h("div", { class: "column" }, freezeCard(app), roadsCard(app)),
        h("div", { class: "column" }, voteCard(app), energyCard(app)),
        takeCard(app),
      ),
    );
  const read = () => {
    const text = location.hash.slice(1);
    const state = text ? fromLink(text) : START;
    setText(note, typeof state === "string" ? `${state[0]!.toUpperCase()}${state.slice(1)}.` : "");
    app.change(typeof state === "string" ? START : state);
  };
  window.addEventListener("hashchange", read);
  read();
}

build(new App());
