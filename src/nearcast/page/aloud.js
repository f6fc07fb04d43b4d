// What is read out to whoever cannot see it. One element of the page is there for it, whichever tab is open. A burst
// is a few sentences and how many more, since a voice is slow.

import { byId, el } from "./dom.js";

/** Milliseconds in which a burst is gathered; and from one reading to the next, at least. */
const GATHERED = 300;
const APART = 5000;
const NAMED = 2;

export class Aloud {
  #waiting = [];
  #more = 0;
  #timer = 0;

  /** `isQuiet` says whether to keep it for later. */
  constructor({ isQuiet = () => false, signal }) {
    this.isQuiet = isQuiet;
    byId("aloud").replaceChildren();
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  add(text) {
    if (this.#waiting.length < NAMED) this.#waiting.push(text);
    else this.#more++;
    this.#timer ||= setTimeout(() => this.#speak(), GATHERED);
  }

  #speak() {
    this.#timer = 0;
    if (this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => this.#speak(), APART);
    if (this.isQuiet()) return;
    const said = this.#more > 0 ? [...this.#waiting, `${this.#more.toLocaleString()} more`] : this.#waiting;
    // A new element, since the same text once more would not be read.
    byId("aloud").replaceChildren(el("span", {}, `${said.join(". ")}.`));
    [this.#waiting, this.#more] = [[], 0];
  }
}
