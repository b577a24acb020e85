/** Take it along: the network, its circuits, the QUBO, Python, and a link. */

import { buildQubo } from "../engine/qubo";
import { toLink } from "../engine/state";
import { cSource, verilogSource } from "../take/circuits";
import { committeeFile, networkFile, quboFile } from "../take/files";
import { snippet } from "../take/snippet";
import type { App } from "./app";
import { card, h, setText } from "./dom";

export function takeCard(app: App): HTMLElement {
  const note = h("p", { class: "quiet", role: "status" });
  const code = h("pre", { tabindex: 0, "aria-label": "Python that repeats this run" });
  const save = (name: string, content: () => Uint8Array<ArrayBuffer> | string) => {
    if (!app.frame) return;
    const url = URL.createObjectURL(new Blob([content()], { type: "application/octet-stream" }));
    const anchor = h("a", { href: url, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    setText(note, `${name} saved.`);
  };
  const button = (id: string, text: string, action: () => void) =>
    h("button", { type: "button", id, onclick: action }, text);
  const copy = async (text: string, what: string) => {
    try {
      await navigator.clipboard.writeText(text);
      setText(note, `${what} copied.`);
    } catch {
      setText(note, `The browser did not allow copying. ${what}: ${text}`);
    }
  };
  const link = () => {
    const address = `${location.href.split("#")[0]}#${toLink(app.state)}`;
    history.replaceState(null, "", address);
    void copy(address, "Link");
  };
  let shown = "";
  const show = () => {
    const { replica = 0, road = app.state.road } = app.frame ?? {};
    const text = snippet(app.posed, replica, road);
    if (text !== shown) setText(code, text);
    shown = text;
  };
  let asked = "";
  app.onPose(show);
  app.onFrame(({ generation, replica, road }) => {
    const key = `${generation} ${replica} ${road}`;
    if (asked !== key) show();
    asked = key;
  });
  const committee = button("save-committee", "Committee (.qubonn)", () =>
    save("committee.qubonn", () => committeeFile(app.committee)),
  );
  app.onFrame((frame) => {
    committee.disabled = !frame.roads[frame.road]?.feasible;
  });
  return card(
    "take",
    "Take it along",
    h(
      "div",
      { class: "row" },
      button("save-network", "Network (.qubonn)", () =>
        save("network.qubonn", () => networkFile(app.network)),
      ),
      committee,
      button("save-c", "C", () => save("network.c", () => cSource(app.network))),
      button("save-verilog", "Verilog", () => save("network.v", () => verilogSource(app.network))),
      button("save-qubo", "QUBO (.qubo)", () =>
        save("problem.qubo", () => quboFile(app.posed.problem, buildQubo(app.posed.problem))),
      ),
      button("copy-link", "Copy link", link),
      button("copy-python", "Copy Python", () => void copy(shown, "Python")),
    ),
    note,
    h(
      "p",
      { class: "quiet" },
      "qubonn.load reads .qubonn files. The Python below poses the same problem and repeats the run of the replica shown, flip by flip, if it was cooled by the schedule.",
    ),
    code,
  );
}
