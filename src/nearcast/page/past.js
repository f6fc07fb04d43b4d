// What one was told, once more: a slider over time, events up to it, and everyone where they were known to be.

import { Latest, byId, colour, countText, exactText, icon, say, timeText } from "./dom.js";
import { unrolled } from "./earth.js";
import { eventRow } from "./events.js";
import { KNOWN, clearness } from "./movers.js";
import { Pairs } from "./pairs.js";
import { fixesOf, kindOf, millisOf } from "./told.js";

const PAGE = 1000;
const MOST = 20_000;
const LISTED = 60;

export class Past {
  isOpen = false;
  #api;
  #loaded = new Latest();
  #events = [];
  #tracks = new Map();
  #now = 0;
  #span = [0, 1];
  #playing = 0;
  #shownAt = -1;
  #insideAt = null;

  /** `onOpen`, `onClose` say that the map is to show this or the present; `onTime` that time passed, `onMark` where. */
  constructor(api, { onOpen, onClose, onTime, onMark, onPick, placeOf, isEarth }) {
    this.#api = api;
    Object.assign(this, { onOpen, onClose, onTime, onMark, onPick, placeOf, isEarth });
    const { signal } = api;
    const on = (id, name, listener) => byId(id).addEventListener(name, listener, { signal });
    on("past-form", "submit", (event) => (event.preventDefault(), this.load()));
    on("past-slider", "input", () => this.#slid());
    on("past-play", "click", () => (this.#playing ? this.#pause() : this.#play()));
    on("past-back", "click", () => this.#step(-1));
    on("past-next", "click", () => this.#step(1));
    on("past-end", "click", () => this.close());
    signal.addEventListener("abort", () => this.close());
    byId("past-count").textContent = "";
  }

  get time() {
    return this.#now;
  }

  get isPlaying() {
    return this.#playing !== 0;
  }

  async load() {
    say(byId("past-problem"), null);
    byId("past-count").textContent = "Reading…";
    const since = Date.now() - Number(byId("past-span").value) * 1000;
    const signal = this.#loaded.next();
    try {
      this.#events = await this.#read(new Date(since).toISOString(), signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      byId("past-count").textContent = "";
      return say(byId("past-problem"), error.message);
    }
    const count = this.#events.length;
    if (count === 0) {
      this.close();
      byId("past-count").textContent = "You were told nothing then.";
      return undefined;
    }
    this.#arrange();
    this.isOpen = true;
    byId("past-player").hidden = false;
    byId("past-count").textContent = count >= MOST ? `The last ${countText(MOST, "event")}` : countText(count, "event");
    this.#density();
    this.onOpen();
    this.#goTo(this.#span[0]);
    return byId("past-slider").focus();
  }

  /** All pages since a time, in the order of what happened. */
  async #read(since, signal) {
    let events = [];
    for (let params = { since, limit: PAGE }; ; ) {
      const page = await this.#api.get("notifications", params, signal);
      events = [...events, ...page.events].slice(-MOST);
      if (page.next === null) break;
      params = { after: page.next, limit: PAGE };
    }
    return events.sort((a, b) => millisOf(a) - millisOf(b));
  }

  /** Where everyone was seen, and when, as far as notifications say. */
  #arrange() {
    this.#tracks.clear();
    this.#shownAt = -1;
    this.#insideAt = null;
    for (const event of this.#events) {
      for (const { name, x, y, place, time } of fixesOf(event.data)) {
        const at = Number.isFinite(x) ? [x, y] : this.placeOf(place);
        if (!at) continue;
        const track = this.#tracks.get(name) ?? [];
        const before = track.at(-1);
        if (!before || before.time < time) track.push({ time, at: before ? this.#onward(before.at, at) : at });
        this.#tracks.set(name, track);
      }
    }
    const times = this.#events.map(millisOf);
    const margin = Math.max(1000, (times.at(-1) - times[0]) / 100);
    this.#span = [times[0] - margin, times.at(-1) + margin];
    const slider = byId("past-slider");
    [slider.min, slider.max] = this.#span.map(String);
    slider.step = String(Math.max(1, Math.round((this.#span[1] - this.#span[0]) / 2000)));
  }

  /** Where somebody went next, by the short way: over 180°, longitudes go on. */
  #onward(from, [x, y]) {
    return [this.isEarth ? unrolled(x, from[0]) : x, y];
  }

  close() {
    this.#loaded.end();
    if (!this.isOpen) return;
    this.#pause();
    this.isOpen = false;
    byId("past-player").hidden = true;
    byId("past-list").replaceChildren();
    byId("past-count").textContent = "";
    this.onClose();
  }

  // ---- time --------------------------------------------------------------------------------

  #slid() {
    this.#pause();
    this.#goTo(byId("past-slider").valueAsNumber, { isQuiet: true });
  }

  #play() {
    if (this.#now >= this.#span[1]) this.#goTo(this.#span[0]);
    let before = performance.now();
    const tick = (now) => {
      const passed = (now - before) * Number(byId("past-speed").value);
      before = now;
      this.#goTo(Math.min(this.#span[1], this.#now + passed));
      if (this.#now >= this.#span[1]) this.#pause();
      else this.#playing = requestAnimationFrame(tick);
    };
    this.#playing = requestAnimationFrame(tick);
    this.#showPlaying();
  }

  #pause() {
    cancelAnimationFrame(this.#playing);
    this.#playing = 0;
    this.#showPlaying();
  }

  #showPlaying() {
    const button = byId("past-play");
    button.setAttribute("aria-label", this.#playing ? "Pause" : "Play");
    button.replaceChildren(icon(this.#playing ? "pause" : "play"));
    this.#tell();
  }

  #step(by) {
    this.#pause();
    const times = this.#events.map(millisOf);
    const to = by > 0 ? times.find((time) => time > this.#now) : times.findLast((time) => time < this.#now);
    if (to !== undefined) this.#goTo(to);
  }

  #goTo(time, { isQuiet = false } = {}) {
    const before = this.#now;
    this.#now = time;
    const slider = byId("past-slider");
    if (!isQuiet) slider.value = String(time);
    const clock = byId("past-clock");
    clock.textContent = timeText(time);
    clock.dateTime = new Date(time).toISOString();
    clock.title = exactText(time);
    this.#tell();
    this.#list();
    if (time > before && time - before < KNOWN) this.#mark(before, time);
    this.onTime(time);
  }

  /** The slider says where it is, but not on and on while it plays. */
  #tell() {
    if (!this.isPlaying) byId("past-slider").setAttribute("aria-valuetext", timeText(this.#now));
  }

  /** Marks for what happened since, but not for all of it at once. */
  #mark(from, to) {
    const passed = this.#events.filter((event) => millisOf(event) > from && millisOf(event) <= to);
    for (const event of passed.slice(-10)) this.onMark(event);
  }

  #list() {
    const end = this.#countTo(this.#now);
    if (end === this.#shownAt) return;
    this.#shownAt = end;
    const some = this.#events.slice(Math.max(0, end - LISTED), end).reverse();
    byId("past-list").replaceChildren(...some.map((event) => eventRow(event, () => this.onPick(event))));
  }

  #countTo(time) {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const half = (low + high) >> 1;
      if (millisOf(this.#events[half]) <= time) low = half + 1;
      else high = half;
    }
    return low;
  }

  // ---- what the map shows ------------------------------------------------------------------

  /** Everyone who has been seen by now: where, between two fixes on the way, and paler the longer ago. */
  drawn() {
    const inside = this.#insideNow();
    const shown = [];
    for (const [name, track] of this.#tracks) {
      const at = track.findLastIndex(({ time }) => time <= this.#now);
      if (at < 0) continue;
      const [last, next] = [track[at], track[at + 1]];
      const isBetween = next && next.time - last.time <= KNOWN;
      const part = isBetween ? (this.#now - last.time) / (next.time - last.time) : 0;
      const place = isBetween ? last.at.map((from, axis) => from + (next.at[axis] - from) * part) : last.at;
      const age = isBetween ? 0 : this.#now - last.time;
      shown.push({
        name,
        shownAt: () => place,
        trail: track.slice(Math.max(0, at - 12), at + 1).map((fix) => fix.at),
        heading: null,
        floor: null,
        alpha: clearness(age),
        isInside: inside.has(name),
      });
    }
    return shown;
  }

  isMovingAt() {
    return this.isPlaying;
  }

  #insideNow() {
    const count = this.#countTo(this.#now);
    if (this.#insideAt?.count !== count) this.#insideAt = { count, pairs: this.#insideAfter(count) };
    return this.#insideAt.pairs;
  }

  #insideAfter(count) {
    const pairs = new Pairs();
    for (const event of this.#events.slice(0, count)) pairs.heard(event);
    return pairs;
  }

  /** How much happened when, above the slider. */
  #density() {
    const canvas = byId("past-density");
    const wide = canvas.clientWidth || 300;
    const ratio = globalThis.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [wide * ratio, 36 * ratio];
    const ink = canvas.getContext("2d");
    ink.scale(ratio, ratio);
    const bars = Math.floor(wide / 5);
    const counts = { enter: new Array(bars).fill(0), leave: new Array(bars).fill(0) };
    for (const event of this.#events) {
      const bar = Math.min(bars - 1, Math.floor(((millisOf(event) - this.#span[0]) / (this.#span[1] - this.#span[0])) * bars));
      counts[kindOf(event) === "leave" ? "leave" : "enter"][bar]++;
    }
    const most = Math.max(...counts.enter, ...counts.leave, 1);
    for (let bar = 0; bar < bars; bar++) {
      for (const [kind, up] of [["enter", -1], ["leave", 1]]) {
        const high = (16 * counts[kind][bar]) / most;
        ink.fillStyle = colour(kind);
        ink.fillRect(bar * 5 + 1, up < 0 ? 18 - high : 18, 3, high);
      }
    }
  }
}
