// What moves, drawn on one canvas: clients with their trails and names, and a mark where somebody entered or left. One
// canvas draws ten thousand as easily as ten, which as many elements would not.

import { colour, darkMode, font, reducedMotion } from "./dom.js";
import { Sheet, pixelsOf, shownLatLng } from "./ground.js";

const NEAR = 16;
const PULSE = 5000;
const NAMED = 80;
const TRAILED = 600;
const CROWD = 800;
/** Pixels of a circle that is seen around a dot. */
const SEEN = 10;
/** Steps in which a crowd pales. */
const SHADES = 3;
const TURN = Math.PI * 2;
const COLOURS = ["mover", "inside", "enter", "leave", "text", "ground", "accent", "muted", "me"];

export class Scene {
  /** Whom to show: an object with `drawn(now)`, which gives movers, and `isMovingAt(now)`. */
  source = { drawn: () => [], isMovingAt: () => false };
  selected = null;
  found = new Set();
  floor = null;
  #pulses = [];
  #frame = 0;
  #hovered = null;
  #isOver = false;
  #shown = [];

  constructor(map, signal) {
    this.map = map;
    this.canvas = new Sheet({ pane: "movers", padding: 0.3 }).addTo(map);
    this.canvas.on("redraw", () => this.draw());
    this.#readColours();
    darkMode.addEventListener("change", () => (this.#readColours(), this.wake()), { signal });
    signal.addEventListener("abort", () => (this.#isOver = true));
    map.on("mousemove", (event) => this.#hover(event.containerPoint));
    map.on("mouseout", () => this.#hover(null));
  }

  #readColours() {
    this.font = font(12, 600);
    this.colours = Object.fromEntries(COLOURS.map((name) => [name, colour(name)]));
  }

  /** Draw now, and go on for as long as something moves. */
  wake() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#tick());
  }

  #tick() {
    this.#frame = 0;
    if (this.#isOver) return;
    this.draw();
    const now = performance.now();
    this.#pulses = this.#pulses.filter((pulse) => now < pulse.began + PULSE);
    if (this.#pulses.length > 0 || this.source.isMovingAt(now)) this.wake();
  }

  /** A mark where something was told. */
  pulse(at, kind) {
    this.#pulses.push({ at, kind, began: performance.now() });
    if (this.#pulses.length > 200) this.#pulses.shift();
    this.wake();
  }

  forgetPulses() {
    this.#pulses = [];
  }

  /** Who is at a point of the container. */
  hit(point) {
    const at = this.map.containerPointToLayerPoint(point);
    let best = null;
    let least = NEAR * NEAR;
    for (const { mover, x, y } of this.#shown) {
      const far = (x - at.x) ** 2 + (y - at.y) ** 2;
      if (far <= least) [best, least] = [mover, far];
    }
    return best;
  }

  #hover(point) {
    const name = point && (this.hit(point)?.name ?? null);
    if (name === this.#hovered) return;
    this.#hovered = name;
    this.map.getContainer().classList.toggle("over", Boolean(name));
    this.wake();
  }

  // ---- drawing -----------------------------------------------------------------------------

  draw() {
    if (this.canvas.isScaled()) return;
    const now = performance.now();
    const { ink } = this.canvas;
    const { min, max } = this.canvas.bounds();
    this.canvas.clear();
    this.#shown = [];
    for (const mover of this.source.drawn(now)) {
      if (!this.#isOnFloor(mover)) continue;
      const at = shownLatLng(this.map, mover.shownAt(now));
      const { x, y } = this.map.latLngToLayerPoint(at);
      if (x < min.x || y < min.y || x > max.x || y > max.y) continue;
      this.#shown.push({ mover, at, x, y });
    }
    if (this.#shown.length <= TRAILED) {
      for (const one of this.#shown) this.#reach(ink, one);
      for (const one of this.#shown) this.#trail(ink, one);
    }
    for (const pulse of this.#pulses) this.#ring(ink, pulse, now);
    const isCrowd = this.#shown.length > CROWD;
    if (isCrowd) this.#crowd(ink);
    for (const one of this.#shown) if (!isCrowd || this.#isWanted(one.mover.name)) this.#dot(ink, one);
    this.#names(ink);
  }

  #isOnFloor(mover) {
    return this.floor === null || mover.floor === null || mover.floor === undefined || mover.floor === this.floor;
  }

  /** As far as it may be from there. */
  #reach(ink, { mover, at, x, y }) {
    const radius = mover.accuracy ? pixelsOf(this.map, mover.accuracy, at.lat) : 0;
    if (radius < SEEN) return;
    ink.strokeStyle = ink.fillStyle = this.#fill(mover);
    ink.lineWidth = 1;
    ink.beginPath();
    ink.arc(x, y, radius, 0, TURN);
    ink.globalAlpha = 0.1 * (mover.alpha ?? 1);
    ink.fill();
    ink.globalAlpha = 0.5 * (mover.alpha ?? 1);
    ink.stroke();
    ink.globalAlpha = 1;
  }

  #trail(ink, { mover, at: { lng }, x, y }) {
    if (!mover.trail?.length) return;
    const points = mover.trail.map((at) => this.map.latLngToLayerPoint(shownLatLng(this.map, at, lng)));
    ink.strokeStyle = this.#fill(mover);
    ink.lineWidth = 2.5;
    ink.lineCap = "round";
    const last = points.length;
    for (let at = 0; at < last; at++) {
      const to = points[at + 1] ?? { x, y };
      ink.globalAlpha = ((0.5 * (at + 1)) / last) * (mover.alpha ?? 1);
      ink.beginPath();
      ink.moveTo(points[at].x, points[at].y);
      ink.lineTo(to.x, to.y);
      ink.stroke();
    }
    ink.globalAlpha = 1;
  }

  #fill(mover) {
    if (mover.isMe) return this.colours.me;
    return mover.isInside ? this.colours.inside : this.colours.mover;
  }

  #dot(ink, { mover, x, y }) {
    const big = mover.name === this.selected || mover.name === this.#hovered;
    const radius = big ? 8.5 : 6.5;
    ink.globalAlpha = mover.alpha ?? 1;
    if (mover.name === this.selected || this.found.has(mover.name)) {
      ink.strokeStyle = this.colours.accent;
      ink.lineWidth = 2.5;
      ink.beginPath();
      ink.arc(x, y, radius + 6, 0, TURN);
      ink.stroke();
    }
    ink.fillStyle = this.#fill(mover);
    ink.strokeStyle = this.colours.ground;
    ink.lineWidth = 2;
    ink.beginPath();
    if (mover.heading === null || mover.heading === undefined) {
      ink.arc(x, y, radius, 0, TURN);
    } else {
      // A drop whose tip points ahead; y grows downwards on a screen.
      const [ahead, tip] = [-mover.heading, radius + 6];
      ink.arc(x, y, radius, ahead + 0.75, ahead - 0.75 + TURN);
      ink.lineTo(x + Math.cos(ahead) * tip, y + Math.sin(ahead) * tip);
      ink.closePath();
    }
    ink.fill();
    ink.stroke();
    ink.globalAlpha = 1;
  }

  /** Very many, all of a colour at once: the pale ones below. */
  #crowd(ink) {
    const alike = Map.groupBy(this.#shown, ({ mover }) => `${Math.ceil((mover.alpha ?? 1) * SHADES)} ${this.#fill(mover)}`);
    ink.strokeStyle = this.colours.ground;
    ink.lineWidth = 1;
    for (const shade of [...alike.keys()].sort()) {
      ink.beginPath();
      for (const { x, y } of alike.get(shade)) {
        ink.moveTo(x + 4, y);
        ink.arc(x, y, 4, 0, TURN);
      }
      ink.fillStyle = this.#fill(alike.get(shade)[0].mover);
      ink.globalAlpha = Number.parseInt(shade, 10) / SHADES;
      ink.fill();
      ink.stroke();
    }
    ink.globalAlpha = 1;
  }

  #isWanted(name) {
    return name === this.selected || name === this.#hovered || this.found.has(name);
  }

  #ring(ink, { at, kind, began }, now) {
    const age = (now - began) / PULSE;
    const { x, y } = this.map.latLngToLayerPoint(shownLatLng(this.map, at));
    const waves = reducedMotion.matches ? [0.35] : [age, age - 0.14, age - 0.28];
    ink.strokeStyle = ink.fillStyle = kind === "leave" ? this.colours.leave : this.colours.enter;
    for (const wave of waves) {
      if (wave < 0) continue;
      const part = Math.min(1, wave * 2.2);
      // An enter closes in, a leave goes out.
      const radius = kind === "leave" ? 10 + 34 * part : 44 - 34 * part;
      ink.globalAlpha = Math.max(0, (kind === "leave" ? 1 - part : 0.25 + 0.6 * part) * (1 - age));
      ink.lineWidth = 3;
      ink.beginPath();
      ink.arc(x, y, radius, 0, TURN);
      ink.stroke();
    }
    ink.globalAlpha = 1;
  }

  /** Names beside the dots, where they do not cover each other. The one that is pointed at always has its name. */
  #names(ink) {
    const some = this.#shown.filter(({ mover }) => this.#isWanted(mover.name));
    const rest = this.#shown.length <= NAMED * 4 ? this.#shown : [];
    const taken = [];
    ink.font = this.font;
    ink.textBaseline = "middle";
    ink.lineJoin = "round";
    for (const { mover, x, y } of [...some, ...rest]) {
      const label = mover.name.length > 28 ? `${mover.name.slice(0, 27)}…` : mover.name;
      const room = { left: x + 12, right: x + 14 + ink.measureText(label).width, top: y - 8, bottom: y + 8 };
      const isFree = taken.every((t) => room.right < t.left || room.left > t.right || room.bottom < t.top || room.top > t.bottom);
      if (!isFree || taken.length >= NAMED) continue;
      taken.push(room);
      ink.globalAlpha = mover.alpha ?? 1;
      ink.strokeStyle = this.colours.ground;
      ink.lineWidth = 4;
      ink.strokeText(label, x + 13, y);
      ink.fillStyle = this.colours.text;
      ink.fillText(label, x + 13, y);
    }
    ink.globalAlpha = 1;
  }
}
