// Whom one may see, as a list: for whoever looks for a name, and for whoever cannot point.

import { agoText, arrange, byId, countText, el, exactText } from "./dom.js";
import { KNOWN } from "./movers.js";
import { chosen, onTab } from "./tabs.js";

const LISTED = 150;
const EVERY = 2000;

export class Who {
  #movers;
  #rows = new Map();

  constructor(movers, { onPick, signal }) {
    this.#movers = movers;
    this.onPick = onPick;
    this.#rows.clear();
    byId("who-list").replaceChildren();
    byId("who-find").addEventListener("input", () => this.show(), { signal });
    onTab((panel) => panel === "who" && this.show(), signal);
    const timer = setInterval(() => chosen() === "who" && !document.hidden && this.show(), EVERY);
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  /** Rows stay the same elements, so that whoever is on one with the keyboard stays there. */
  show() {
    const wanted = byId("who-find").value.trim().toLowerCase();
    const found = [...this.#movers.all.values()].filter(({ name }) => name.toLowerCase().includes(wanted));
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    const all = countText(found.length, "client") + (this.#movers.isCut ? ", and more; zoom in to see them" : "");
    const count = found.length > LISTED ? `${all}; the first ${LISTED} are listed` : all;
    if (byId("who-count").textContent !== count) byId("who-count").textContent = count;
    const some = found.slice(0, LISTED);
    const rows = new Map(some.map((mover) => [mover.name, this.#rows.get(mover.name) ?? this.#row(mover.name)]));
    for (const mover of some) fill(rows.get(mover.name), mover, this.#movers.pairs.has(mover.name));
    arrange(byId("who-list"), [...rows.values()]);
    this.#rows = rows;
  }

  #row(name) {
    return el("li", {}, el("button", { type: "button", click: () => this.onPick(name) },
      el("span", { class: "dot" }), el("b", {}, name), el("small", {})));
  }
}

function fill(row, mover, isInside) {
  row.classList.toggle("inside", isInside);
  row.classList.toggle("stale", Date.now() - mover.time > KNOWN);
  const floor = mover.floor === null ? "" : `floor ${mover.floor}, `;
  const place = mover.place ? `${mover.place}, ` : "";
  const note = row.querySelector("small");
  note.textContent = `${place}${floor}${agoText(mover.time)}`;
  note.title = exactText(mover.time);
}
