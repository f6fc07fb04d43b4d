// Who is where, as far as one may know: from what is asked now and then, and from the fixes that events carry. Each
// glides from where it is shown to where it was seen, so that movement looks like movement.

import { unrolled } from "./earth.js";
import { Pairs } from "./pairs.js";

const TRAIL = 24;
const GLIDE = [300, 4000];
/** Milliseconds after which what was heard of somebody is not of now any more. */
export const KNOWN = 5 * 60_000;
const PALEST = 0.35;

/** How clearly to draw somebody of whom nothing was heard for so long. */
export const clearness = (age) => Math.min(1, Math.max(PALEST, 1 - age / (2 * KNOWN)));

/** A client as the map shows it. Coordinates are x and y: longitude and latitude, or metres. */
class Mover {
  constructor(name) {
    this.name = name;
    this.at = null;
    this.from = null;
    this.began = 0;
    this.lasts = 1;
    this.heading = null;
    this.time = Number.NEGATIVE_INFINITY;
    this.arrived = 0;
    this.trail = [];
    this.floor = null;
    this.accuracy = null;
    this.place = null;
    this.publications = [];
  }

  /** Where it is shown at a moment of the page's own clock. */
  shownAt(now) {
    const part = Math.min(1, (now - this.began) / this.lasts);
    if (!this.from || part >= 1) return this.at;
    const eased = part * (2 - part);
    return [this.from[0] + (this.at[0] - this.from[0]) * eased, this.from[1] + (this.at[1] - this.from[1]) * eased];
  }

  isMovingAt(now) {
    return this.from !== null && now < this.began + this.lasts;
  }

  /** Count longitudes so that the way to there is the short one, also over 180°. */
  turnTo(x) {
    const by = this.at ? unrolled(this.at[0], x) - this.at[0] : 0;
    if (by === 0) return;
    this.at = [this.at[0] + by, this.at[1]];
    this.from = this.from && [this.from[0] + by, this.from[1]];
  }

  moveTo(at, now, smoothly, stretch) {
    if (this.at && at[0] === this.at[0] && at[1] === this.at[1]) return;
    const shown = this.at && this.shownAt(now);
    if (shown) {
      this.heading = Math.atan2((at[1] - this.at[1]) * stretch, at[0] - this.at[0]);
      this.trail.push(this.at);
      if (this.trail.length > TRAIL) this.trail.shift();
    }
    this.from = smoothly ? shown : null;
    this.began = now;
    this.lasts = Math.min(GLIDE[1], Math.max(GLIDE[0], this.arrived ? now - this.arrived : 0));
    this.arrived = now;
    this.at = at;
  }
}

export class Movers {
  all = new Map();
  /** There are more than those. */
  isCut = false;
  /** What is told of each now. */
  pairs = new Pairs();

  /** `centreOf` says where a place is, for those who only say in which they are; `isSmooth` whether to glide. */
  constructor({ centreOf = () => null, isSmooth = () => true, isEarth = true } = {}) {
    this.centreOf = centreOf;
    this.isSmooth = isSmooth;
    this.isEarth = isEarth;
  }

  /** The answer to a question about all of them: who is not in it is not there any more. */
  saw(rows, now) {
    const named = new Set();
    for (const row of rows) {
      named.add(row.client);
      this.sawOne(row.client, { ...row, time: Date.parse(row.time) }, now);
      const mover = this.all.get(row.client);
      if (!mover) continue;
      mover.publications = row.publications ?? [];
      mover.floor = row.floor ?? this.centreOf(row.place)?.floor ?? null;
      mover.accuracy = row.accuracy ?? null;
    }
    for (const name of this.all.keys()) if (!named.has(name)) this.all.delete(name);
  }

  /** One fix; one that is not newer than what is known changes nothing. Returns the mover, if it is anywhere. */
  sawOne(name, { x, y, lon = x, lat = y, time, place }, now) {
    const at = Number.isFinite(lon) && Number.isFinite(lat) ? [lon, lat] : this.#within(place, name);
    const mover = this.all.get(name) ?? (at ? new Mover(name) : null);
    if (!mover || !at || time < mover.time) return mover;
    if (time > mover.time || !mover.at) {
      mover.time = time;
      mover.place = place ?? null;
      // A degree of longitude is shorter than one of latitude, and directions are as the map shows them.
      const stretch = this.isEarth ? 1 / Math.max(0.05, Math.cos((at[1] * Math.PI) / 180)) : 1;
      if (this.isEarth) mover.turnTo(at[0]);
      mover.moveTo(at, now, this.isSmooth(), stretch);
    }
    this.all.set(name, mover);
    return mover;
  }

  /** Somewhere in a place, always the same for one name, so that those in one room do not cover each other. */
  #within(place, name) {
    const found = place && this.centreOf(place);
    if (!found) return null;
    let hash = 2166136261;
    for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
    const angle = ((hash % 360) * Math.PI) / 180;
    const far = 0.15 + ((hash >>> 9) % 100) / 250;
    return [found.at[0] + Math.cos(angle) * far * found.width, found.at[1] + Math.sin(angle) * far * found.height];
  }

  isMovingAt(now) {
    for (const mover of this.all.values()) if (mover.isMovingAt(now)) return true;
    return false;
  }
}
