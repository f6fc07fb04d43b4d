// What one is told, as it happens: server-sent events, read by fetch so that the token goes in a header and a refusal
// can be understood. A connection that is lost is made again, and goes on after the last event that was heard.

import { Refused } from "./api.js";
import { sleep } from "./dom.js";

const SOON = 0.3;
const LATE = 15;
const SILENCE = 40;
const REMEMBERED = 4000;
/** The least status that says nothing of what was asked, but that the gateway failed. */
const FAULT = 500;

export class Stream {
  #api;
  #heard = new Set();
  #wake = null;

  /** `after` is a cursor; `onEvent` hears each event once, `onState` "live", or how long it is until the next try. */
  constructor(api, after, { onEvent, onState }) {
    this.#api = api;
    this.after = after;
    this.onEvent = onEvent;
    this.onState = onState;
    addEventListener("online", () => this.#wake?.abort(), { signal: api.signal });
  }

  async run() {
    const over = this.#api.signal;
    for (let wait = SOON; !over.aborted; wait = Math.min(LATE, wait * 2)) {
      let told = null;
      try {
        await this.#listen(() => (wait = SOON / 2));
      } catch (error) {
        if (over.aborted || error.status === 401) return;
        if (error instanceof Refused && !error.isPassing && error.status < FAULT) {
          this.onState({ state: "refused", why: error.message });
          return;
        }
        told = error instanceof Refused ? error.wait : null;
      }
      const pause = Math.max(wait * (0.5 + Math.random()), told ?? 0);
      this.onState({ state: "away", seconds: pause });
      this.#wake = new AbortController();
      await sleep(pause, AbortSignal.any([over, this.#wake.signal]));
    }
  }

  /** One connection. A gateway that says nothing for long, not even that it is there, has gone. */
  async #listen(onOpen) {
    const silent = new AbortController();
    const signal = AbortSignal.any([this.#api.signal, silent.signal]);
    let timer = setTimeout(() => silent.abort(), SILENCE * 1000);
    try {
      const params = { after: this.after, cursor: "off" };
      const answer = await this.#api.send("GET", "events", { params, signal });
      onOpen();
      this.onState({ state: "live" });
      for await (const frame of frames(answer.body)) {
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), SILENCE * 1000);
        this.#take(frame);
      }
    } finally {
      clearTimeout(timer);
      silent.abort();
    }
  }

  #take({ id, data }) {
    if (data) {
      const event = JSON.parse(data);
      if (!this.#heard.has(event.id)) {
        this.remember(event.id);
        this.onEvent(event);
      }
    }
    if (id) this.after = id;
  }

  /** An event that has been heard in another way, such as among those of the last minutes. */
  remember(id) {
    this.#heard.add(id);
    if (this.#heard.size > REMEMBERED) this.#heard.delete(this.#heard.values().next().value);
  }
}

/** The frames of a body of server-sent events. */
async function* frames(body) {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) yield frame(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function frame(block) {
  const found = { id: "", data: "" };
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) found.id = line.slice(4);
    else if (line.startsWith("data: ")) found.data += line.slice(6);
  }
  return found;
}
