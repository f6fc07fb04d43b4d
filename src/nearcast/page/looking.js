// What one token sees: asked for at first, kept up to date, drawn, and picked from.

import { Ask } from "./ask.js";
import { byId, reducedMotion, repeat, say, sleep } from "./dom.js";
import { Events } from "./events.js";
import { Explainer } from "./explain.js";
import { L, boxesOf, fit, makeMap, shownLatLng, toLatLng, view } from "./ground.js";
import { Inside } from "./inside.js";
import { Movers, clearness } from "./movers.js";
import { Past } from "./past.js";
import { Regions } from "./regions.js";
import { Scene } from "./scene.js";
import { Stream } from "./stream.js";
import { choose, onTab } from "./tabs.js";
import { fixesOf, kindOf } from "./told.js";
import { Who } from "./who.js";
import { Zones } from "./zones.js";

const RECENT = 10 * 60_000;
const PAGE = 1000;
/** Seconds between two questions where everyone is, at least; and of the time that passes, how little they take. */
const EVERY = 1;
const SHARE = 20;
/** Clients of whom all are asked about, wherever they are; and those that are shown, at the most. */
const MANY = 500;
const MOST = 3000;
const MYSELF = 15;

export class Looking {
  #waiting = null;
  #stream = { state: "wait" };
  #followed = null;
  #isBoxed = false;
  #hasFit = false;
  #isTouched = false;
  #poke = null;
  /** What of the map was asked about last. */
  #seen = "";
  #settings;

  /** `onState` hears how it goes, `onEntered` who it is. */
  constructor(api, settings, { onState, onEntered }) {
    this.api = api;
    this.#settings = settings;
    this.onState = onState;
    this.onEntered = onEntered;
  }

  close() {
    this.api.close();
    this.map?.remove();
    document.body.dataset.mode = "out";
  }

  async start() {
    const { api } = this;
    this.me = await api.get("client");
    const isEarth = this.me.metric === "earth";
    document.body.dataset.mode = "live";
    document.body.dataset.role = this.me.role;
    this.onEntered(this.me);
    const map = (this.map = makeMap(this.me.metric, this.#settings, api.signal));

    this.movers = new Movers({
      centreOf: (path) => this.regions.centreOf(path),
      isSmooth: () => !reducedMotion.matches && !document.hidden,
      isEarth,
    });
    this.scene = new Scene(map, api.signal);
    this.scene.source = this;
    this.regions = new Regions(api, map, {
      onFloor: (floor) => this.#floorChosen(floor),
      onPick: ({ client }) => this.zones.isDrawing || this.pick(client),
    });
    this.zones = new Zones(api, map, {
      onRemoved: (id) => (this.movers.pairs.dropped(id), this.scene.wake()),
      onExplain: (id) => this.explainer.subscription(id),
    });
    this.explainer = new Explainer(api, this.zones);
    this.inside = new Inside(api, this.movers, this.zones);
    this.events = new Events({
      onPick: (event) => this.explainer.event(event),
      isQuiet: () => this.past.isPlaying,
      signal: api.signal,
    });
    this.who = new Who(this.movers, { onPick: (client) => this.pick(client), signal: api.signal });
    const at = { map, movers: this.movers, regions: this.regions, zones: this.zones, isEarth };
    this.asking = new Ask(api, at, {
      onPick: (found) => this.#pickFound(found),
      onFound: (names) => ((this.scene.found = names), this.scene.wake()),
      onKept: (said) => (this.zones.notice(said), choose("zones", { focus: true })),
      onHere: (position, accuracy) => this.#sayHere(position, accuracy),
    });
    this.past = new Past(api, {
      onOpen: () => this.#showPast(true),
      onClose: () => this.#showPast(false),
      onTime: () => (this.#show(), this.scene.wake()),
      onMark: (event) => this.#mark(event, { isPast: true }),
      onPick: (event) => this.explainer.event(event),
      placeOf: (place) => this.regions.centreOf(place)?.at ?? null,
      isEarth,
    });
    this.#listen();
    await Promise.all([this.regions.load(), this.zones.load(), this.#seeAll()]);
    this.asking.fill();
    this.#fitOnce();
    this.regions.watch();
    this.zones.watch();
    this.#watch();
    repeat(MYSELF, () => this.#seeMyself(), api.signal);
    const { after, ids } = await this.#recent();
    this.stream = new Stream(api, after, {
      onEvent: (event) => this.#hear(event),
      onState: (state) => ((this.#stream = state), this.#show()),
    });
    for (const id of ids) this.stream.remember(id);
    this.stream.run();
    this.inside.ask();
  }

  #listen() {
    const { api: { signal }, map } = this;
    const on = (id, name, listener) => byId(id).addEventListener(name, listener, { signal });
    map.on("click", (event) => this.#clicked(event));
    map.on("dragstart zoomstart keydown", () => (this.#isTouched = true));
    map.on("dragstart", () => (this.#followed = null));
    map.on("zoomend", () => this.#moved());
    // Who is followed moves the map with each answer, which is no reason to ask at once.
    map.on("moveend", () => this.#followed || this.#moved());
    on("zoom-fit", "click", () => fit(map, this.#bounds()));
    on("layers-open", "click", () => {
      const isOpen = byId("layers").hidden;
      byId("layers").hidden = !isOpen;
      byId("layers-open").setAttribute("aria-expanded", String(isOpen));
    });
    on("layers", "keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      byId("layers-open").click();
      byId("layers-open").focus();
    });
    onTab((panel) => panel === "ask" && this.asking.fill(), signal);
    onTab((panel) => panel === "zones" && this.zones.load().catch(() => {}), signal);
    document.addEventListener("visibilitychange", () => !document.hidden && this.#poke?.abort(), { signal });
    const fits = new ResizeObserver(() => map.invalidateSize({ animate: false }));
    fits.observe(byId("map"));
    signal.addEventListener("abort", () => fits.disconnect());
  }

  // ---- what is so now ----------------------------------------------------------------------

  /** Where everyone is, and how long it took to know. A map of very many asks only about what it shows. */
  async #seeAll() {
    const { clients, more, took } = this.#isBoxed ? await this.#seeShown() : await this.#see({ limit: MANY });
    if (more && !this.#isBoxed) {
      this.#isBoxed = true;
      this.#fitOnce(clients);
      return this.#seeAll();
    }
    this.movers.saw(clients, performance.now());
    this.movers.isCut = more;
    for (const { floor } of this.movers.all.values()) this.regions.sawFloor(floor);
    if (!this.past?.isOpen) this.#follow();
    this.scene.wake();
    return took;
  }

  async #see(params) {
    const { answer, took } = await this.api.timed("clients", params);
    return { ...answer, took };
  }

  /** The map shows something else, about which to ask soon; or Leaflet says so of one that stays where it is. */
  #moved() {
    if (this.#isBoxed && String(view(this.map)) !== this.#seen) this.#poke?.abort();
  }

  /** Those in what the map shows, up to a number. */
  async #seeShown() {
    const all = { clients: [], more: false, took: 0 };
    const shown = view(this.map);
    this.#seen = String(shown);
    for (const box of boxesOf(shown)) {
      const { clients, more, took } = await this.#see({ limit: MOST, box: box.join(",") });
      all.clients.push(...clients);
      all.more ||= more;
      all.took += took;
    }
    const rest = all.clients.splice(MOST);
    return { ...all, more: all.more || rest.length > 0 };
  }

  /** Ask again and again: often enough to see movement, and seldom enough not to be felt by others. Whoever moves the
   * map does not wait for what others feel, but the least pause is always made. */
  async #watch() {
    const { signal } = this.api;
    while (!signal.aborted) {
      let took = 0;
      this.#poke = new AbortController();
      const either = AbortSignal.any([signal, this.#poke.signal]);
      if (document.hidden) {
        await sleep(3600, either);
        continue;
      }
      try {
        took = await this.#seeAll();
        this.#fitOnce();
      } catch (error) {
        if (signal.aborted || error.status === 401) return;
        this.banner(error.message);
      }
      await sleep(EVERY, signal);
      await sleep(took * SHARE - EVERY, either);
    }
  }

  async #seeMyself() {
    this.me = await this.api.get("client");
    this.scene.wake();
  }

  /** `accuracy` is how far one may be from there, in metres, if a device says so. */
  async #sayHere([lon, lat], accuracy = undefined) {
    try {
      await this.api.post("positions", this.me.metric === "earth" ? { lon, lat, accuracy } : { x: lon, y: lat });
      await this.#seeMyself();
    } catch (error) {
      this.banner(error.message);
    }
  }

  // ---- what is told ------------------------------------------------------------------------

  /** The last minutes, all of them: where the stream goes on, and the ids of those that it may tell once more. */
  async #recent() {
    let params = { since: new Date(Date.now() - RECENT).toISOString(), limit: PAGE };
    for (;;) {
      const { events, next, at } = await this.api.get("notifications", params);
      for (const event of events) {
        this.#note(event);
        this.events.add(event, { isNew: false });
      }
      if (next === null) return { after: at, ids: events.map(({ id }) => id) };
      params = { after: next, limit: PAGE };
    }
  }

  #hear(event) {
    this.#note(event);
    this.events.add(event);
    if (["enter", "leave"].includes(kindOf(event)) && !this.past.isOpen) this.#mark(event);
    if (event.data.reason === "subscribed" && this.zones.textOf(event.data.subscription) === null) this.zones.load().catch(() => {});
    this.scene.wake();
  }

  /** Who is in what, and where the fixes that it shows were. */
  #note(event) {
    this.inside.heard(event);
    for (const fix of fixesOf(event.data)) {
      if (fix.name !== this.me.client && this.movers.all.has(fix.name)) this.movers.sawOne(fix.name, fix, performance.now());
    }
  }

  #mark({ data }, { isPast = false } = {}) {
    const [fix] = fixesOf(data);
    const mover = isPast ? null : this.movers.all.get(data.publisher);
    const at = (fix && Number.isFinite(fix.x) && [fix.x, fix.y])
      || mover?.at || this.regions.centreOfRegion(data.region) || this.zones.centreOf(data.subscription);
    if (at) this.scene.pulse(at, data.kind);
  }

  // ---- what the map shows ------------------------------------------------------------------

  drawn(now) {
    if (this.past?.isOpen) return this.past.drawn(now);
    const shown = [];
    const today = Date.now();
    for (const mover of this.movers.all.values()) {
      mover.isInside = this.movers.pairs.has(mover.name);
      mover.alpha = clearness(today - mover.time);
      shown.push(mover);
    }
    const { lon = this.me.x, lat = this.me.y } = this.me;
    if (Number.isFinite(lon) && Number.isFinite(lat)) {
      const { client, floor = null, accuracy = null, time } = this.me;
      const alpha = clearness(today - Date.parse(time));
      shown.push({ name: `${client} (you)`, shownAt: () => [lon, lat], isMe: true, heading: null, floor, accuracy, alpha });
    }
    return shown;
  }

  isMovingAt(now) {
    return this.past?.isOpen ? this.past.isMovingAt() : this.movers.isMovingAt(now);
  }

  #floorChosen(floor) {
    this.scene.floor = floor;
    this.zones.setFloor(floor);
    this.scene.wake();
  }

  #bounds(rows = []) {
    const bounds = L.latLngBounds([]);
    for (const part of [this.regions.bounds(), this.zones.bounds()]) if (part.isValid()) bounds.extend(part);
    for (const { at } of this.movers.all.values()) bounds.extend(toLatLng(at));
    for (const { lon, lat, x = lon, y = lat } of rows) if (Number.isFinite(x)) bounds.extend([y, x]);
    return bounds;
  }

  /** Show everything as soon as there is something, unless somebody has moved the map. */
  #fitOnce(rows = []) {
    if (this.#hasFit || this.#isTouched) return;
    const bounds = this.#bounds(rows);
    if (!bounds.isValid()) return;
    this.#hasFit = true;
    fit(this.map, bounds);
  }

  #showPast(isPast) {
    document.body.dataset.mode = isPast ? "past" : "live";
    this.scene.forgetPulses();
    this.#show();
    this.scene.wake();
  }

  // ---- picking -----------------------------------------------------------------------------

  #clicked({ containerPoint }) {
    if (this.zones.isDrawing) return;
    const found = this.scene.hit(containerPoint);
    if (found && !found.isMe) this.pick(found.name, { isSeen: true });
  }

  /** Someone: shown on the map, and explained. */
  pick(name, { isSeen = false } = {}) {
    const mover = this.movers.all.get(name);
    this.scene.selected = name;
    this.scene.wake();
    if (!mover) {
      const unseen = { name, time: Number.NaN, at: null, place: null, floor: null, accuracy: null, publications: [] };
      return this.explainer.client(unseen, { onFollow: () => {}, isFollowed: false });
    }
    if (!isSeen) this.map.setView(shownLatLng(this.map, mover.at), Math.max(this.map.getZoom(), this.me.metric === "earth" ? 14 : 0), { animate: !reducedMotion.matches });
    const isFollowed = this.#followed === name;
    return this.explainer.client(mover, { isFollowed, onFollow: () => ((this.#followed = isFollowed ? null : name), this.#follow()) });
  }

  #pickFound({ publisher, region }) {
    if (publisher) return this.pick(publisher);
    const at = this.regions.centreOfRegion(region);
    return at && this.map.setView(shownLatLng(this.map, at), Math.max(this.map.getZoom(), 15));
  }

  #follow() {
    const mover = this.#followed && this.movers.all.get(this.#followed);
    if (mover) this.map.panTo(shownLatLng(this.map, mover.at), { animate: !reducedMotion.matches, duration: 0.8 });
  }

  // ---- how it goes -------------------------------------------------------------------------

  /** Requests that wait, or null when they are through. */
  waits(waiting) {
    this.#waiting = waiting;
    this.#show();
  }

  #show() {
    const { state, seconds, why } = this.#stream;
    const soon = (wait) => (wait < 1.5 ? "again in a moment" : `again in ${Math.round(wait)} s`);
    if (this.past?.isOpen) this.onState("past", "The past", this.past.time);
    else if (this.#waiting) this.onState("wait", `Waiting: ${this.#waiting.why}; ${soon(this.#waiting.seconds)}`);
    else if (state === "live") this.onState("live", "Live");
    else if (state === "away") this.onState("wait", `Connection lost; ${soon(seconds)}`);
    else if (state === "refused") this.onState("off", why);
    else this.onState("wait", "Connecting…");
  }

  banner(text) {
    const banner = byId("banner");
    say(banner, text);
    setTimeout(() => banner.textContent === text && say(banner, null), 8000);
  }
}
