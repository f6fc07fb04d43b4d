// Who is in what one subscribed to: asked for once, and kept true by what is told.

import { path } from "./api.js";
import { sleep } from "./dom.js";
import { hangsOnThePast } from "./statement.js";

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

  /** Something was told. */
  heard(event) {
    this.#meanwhile?.push(event);
    this.#movers.pairs.heard(event);
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
    const answers = await Promise.all(some.map((one) => this.#of(one).catch(() => [])));
    answers.forEach((found, at) => {
      const { id, text } = some[at];
      if (this.#zones.textOf(id) !== text) return;
      for (const one of found) this.#movers.pairs.noted({ ...one, kind: "snapshot", subscription: id });
    });
    // An answer may be older than what was told while it came.
    const meanwhile = this.#meanwhile;
    this.#meanwhile = null;
    for (const event of meanwhile) this.heard(event);
  }

  /** What is so of a subscription. A question that is new does not know for how long, nor from where, anybody came in: then
   * the explanations do, of which those come first that were told. */
  async #of({ id, text }) {
    if (!hangsOnThePast(text)) return (await this.#api.post("query", { text })).notifications;
    const { explanations } = await this.#api.get(path`explain/${id}`);
    return explanations.filter(({ told }) => told);
  }
}
