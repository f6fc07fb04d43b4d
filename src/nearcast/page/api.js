// Requests to the gateway. What it cannot take just then is asked again when it says; what it refuses is an error that
// says why.

import { sleep } from "./dom.js";

const BASE = new URL("../v1/", import.meta.url);
const LATER = new Set([429, 502, 503, 504]);
const SOON = 0.5;
const LATE = 8;

/** What the gateway said no to. A status of 0 is that it did not answer. */
export class Refused extends Error {
  constructor(status, detail, field = "", wait = null) {
    super(detail);
    this.status = status;
    this.field = field;
    this.wait = wait;
  }

  get isPassing() {
    return this.status === 0 || LATER.has(this.status);
  }
}

/** A path whose parts are names: path`subscriptions/${id}`. */
export const path = (words, ...names) =>
  words.reduce((all, word, at) => all + encodeURIComponent(names[at - 1]) + word);

export class Api {
  #token;
  #as;
  #over = new AbortController();
  #waiting = new Set();

  /** `onWait` hears what is waited for, and null when it is over; `onDenied` that the token does not hold (any more). */
  constructor(token, { as = "", onWait = () => {}, onDenied = () => {} } = {}) {
    this.#token = token;
    this.#as = as;
    this.onWait = onWait;
    this.onDenied = onDenied;
  }

  /** Stop whatever is under way. */
  close() {
    this.#over.abort();
  }

  get signal() {
    return this.#over.signal;
  }

  get(to, params, signal) {
    return this.#asked("GET", to, { params, signal });
  }

  /** The answer, and the seconds that it took in the end, without what was waited for before. */
  async timed(to, params) {
    let began = 0;
    const answer = await this.#asked("GET", to, { params, onSend: () => (began = performance.now()) });
    return { answer, took: (performance.now() - began) / 1000 };
  }

  put(to, body) {
    return this.#asked("PUT", to, { body });
  }

  post(to, body, signal) {
    return this.#asked("POST", to, { body, signal });
  }

  delete(to) {
    return this.#asked("DELETE", to, {});
  }

  /** One request, not tried again: the answer, or a `Refused`. */
  async send(method, to, { params = {}, body, signal = this.signal } = {}) {
    const url = new URL(to, BASE);
    for (const [name, value] of Object.entries(params)) {
      if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
    }
    if (this.#as) url.searchParams.set("client", this.#as);
    const headers = { Authorization: `Bearer ${this.#token}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch(url, {
        method,
        headers,
        signal,
        body: body === undefined ? undefined : JSON.stringify(body),
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
      });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new Refused(0, "the gateway does not answer");
    }
    if (answer.ok) return answer;
    const refused = await refusal(answer);
    if (refused.status === 401 && !this.signal.aborted) this.onDenied(refused);
    throw refused;
  }

  /** Tried until it is answered, refused for good, or not wanted any more: `signal` says that, of one that may end so.
   * Whatever the page asks for may be done twice: what it posts is a question, or where one is. */
  async #asked(method, to, { params, body, onSend = () => {}, signal = this.signal }) {
    const over = AbortSignal.any([this.signal, signal]);
    const me = Symbol(to);
    try {
      for (let wait = SOON; ; wait = Math.min(LATE, wait * 2)) {
        try {
          onSend();
          return await whole(await this.send(method, to, { params, body, signal: over }), over);
        } catch (error) {
          if (!(error instanceof Refused) || !error.isPassing) throw error;
          const pause = Math.max(wait * (0.75 + Math.random() / 2), error.wait ?? 0);
          this.#waiting.add(me);
          this.onWait({ seconds: pause, why: error.message });
          await sleep(pause, over);
          over.throwIfAborted();
        }
      }
    } finally {
      if (this.#waiting.delete(me) && this.#waiting.size === 0) this.onWait(null);
    }
  }
}

/** What an answer says. One that breaks off, or that somebody in between has written, is none. */
async function whole(answer, signal) {
  try {
    return await answer.json();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Refused(0, "the gateway's answer does not come through");
  }
}

async function refusal(answer) {
  const wait = Number.parseFloat(answer.headers.get("Retry-After") ?? "");
  let said = {};
  try {
    said = await answer.json();
  } catch {
    // A proxy in between answers in its own words.
  }
  const detail = typeof said.detail === "string" ? said.detail : `the gateway answered ${answer.status}`;
  return new Refused(answer.status, detail, said.field ?? "", Number.isFinite(wait) ? wait : null);
}
