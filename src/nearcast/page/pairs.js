// Who is in what, as far as one was told: now, and in the past.

import { kindOf } from "./told.js";

export class Pairs {
  /** Of each name, the pairs that it is a part of. Two publications of one client are two, and so are two peers. */
  #of = new Map();

  /** Something was told. A gap is followed by all that is so now. */
  heard(event) {
    if (kindOf(event) === "gap") this.#of.clear();
    else this.noted(event.data);
  }

  /** An enter, a leave or a snapshot; whatever else it is changes nothing. */
  noted({ kind, publisher, publication, subscription, region, peer }) {
    const pair = JSON.stringify([subscription, publication, publisher, region, peer]);
    for (const name of [publisher, peer]) {
      if (!name) continue;
      const known = this.#of.get(name) ?? new Set();
      if (kind === "leave") known.delete(pair);
      else if (kind === "enter" || kind === "snapshot") known.add(pair);
      if (known.size > 0) this.#of.set(name, known);
      else this.#of.delete(name);
    }
  }

  /** A subscription that is no more has nobody in it. */
  dropped(subscription) {
    for (const [name, known] of this.#of) {
      for (const pair of known) if (JSON.parse(pair)[0] === subscription) known.delete(pair);
      if (known.size === 0) this.#of.delete(name);
    }
  }

  has(name) {
    return this.#of.has(name);
  }
}
