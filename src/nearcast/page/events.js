// Enters and leaves as they happen: a list, and what is new in it read out.

import { Aloud } from "./aloud.js";
import { byId, el, icon, timeElement } from "./dom.js";
import { chosen, onTab } from "./tabs.js";
import { kindOf, millisOf, sentence } from "./told.js";

const KEPT = 200;
const ICONS = new Set(["enter", "leave", "snapshot", "reading", "gap"]);
const GONE = "Some events are gone; what is so now follows";

export class Events {
  #waiting = [];
  #frame = 0;
  #unread = 0;
  #aloud;

  /** `onPick` hears which event is to be explained; `isQuiet` says whether nothing is to be read out just then. */
  constructor({ onPick, isQuiet, signal }) {
    this.onPick = onPick;
    this.#aloud = new Aloud({ isQuiet, signal });
    byId("event-list").replaceChildren();
    this.#showUnread(0);
    onTab((panel) => panel === "events" && this.#showUnread(0), signal);
    signal.addEventListener("abort", () => cancelAnimationFrame(this.#frame));
  }

  /** Events that come in one frame are put in at once. Updates only move somebody, and are not listed. */
  add(event, { isNew = true } = {}) {
    if (kindOf(event) === "update") return;
    this.#waiting.push(event);
    // A page that nobody sees has no frames.
    if (this.#waiting.length > KEPT) this.#waiting.shift();
    if (isNew) this.#aloud.add(kindOf(event) === "gap" ? GONE : sentence(event.data).join(" "));
    if (isNew && chosen() !== "events") this.#showUnread(this.#unread + 1);
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#put());
  }

  #put() {
    this.#frame = 0;
    const list = byId("event-list");
    const some = this.#waiting.splice(0);
    list.prepend(...some.reverse().map((event) => eventRow(event, () => this.onPick(event))));
    while (list.childElementCount > KEPT) list.lastElementChild.remove();
    byId("event-empty").hidden = list.childElementCount > 0;
  }

  #showUnread(count) {
    this.#unread = count;
    const badge = byId("unread");
    badge.textContent = count > 99 ? "99+" : String(count);
    badge.hidden = count === 0;
  }
}

/** An event as a line that can be asked about. */
export function eventRow(event, onPick) {
  const kind = kindOf(event);
  const time = timeElement(millisOf(event));
  if (kind === "gap") {
    return el("li", { class: "event gap" }, el("span", { class: "mark" }, icon("gap")),
      el("span", { class: "what" }, `${GONE}.`), time);
  }
  const [who, verb, where] = sentence(event.data);
  return el("li", { class: `event ${ICONS.has(kind) ? kind : "snapshot"}` },
    el("button", { type: "button", click: onPick },
      el("span", { class: "mark" }, icon(ICONS.has(kind) ? kind : "snapshot")),
      el("span", { class: "what" }, el("b", {}, who), ` ${verb} `, el("b", {}, where),
        where !== event.data.subscription && el("small", {}, event.data.subscription)),
      time));
}
