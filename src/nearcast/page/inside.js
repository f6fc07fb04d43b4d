// Who is in what one subscribed to: asked for once, and kept true by what is told.

import { sleep } from "./dom.js";
import { kindOf } from "./told.js";

/** Subscriptions that are asked about at once; and of the time that passes, how little the questions take. */
const ASKED = 20;
const SHARE = 20;

export class Inside {
  #api;
  #movers;
  #zones;
  #meanwhile = null;

  constructor(api, movers, zones) {
    this.#api = api;
    this.#movers = movers;
    this.#zones = zones;
  }

  /** Something was told. A gap is followed by all that is so now. */
  heard(event) {
    this.#meanwhile?.push(event);
    if (kindOf(event) === "gap") this.#movers.forgetInside();
    else this.#movers.noted(event.data);
  }

  /** Who is in what since longer than was read: of all subscriptions, some at a time. */
  async ask() {
    const { signal } = this.#api;
    const all = [...this.#zones.all];
    for (let at = 0; at < all.length && !signal.aborted; at += ASKED) {
      const began = performance.now();
      await this.#askAbout(all.slice(at, at + ASKED));
      await sleep(((performance.now() - began) / 1000) * SHARE, signal);
    }
  }

  async #askAbout(some) {
    this.#meanwhile = [];
    const none = { notifications: [] };
    const answers = await Promise.all(some.map(({ text }) => this.#api.post("query", { text }).catch(() => none)));
    answers.forEach(({ notifications }, at) => {
      const { id, text } = some[at];
      if (this.#zones.textOf(id) !== text) return;
      for (const one of notifications) this.#movers.noted({ ...one, subscription: id });
    });
    // An answer may be older than what was told while it came.
    const meanwhile = this.#meanwhile;
    this.#meanwhile = null;
    for (const event of meanwhile) this.heard(event);
  }
}
