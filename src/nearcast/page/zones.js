// One's subscriptions: listed, drawn where they name a shape, made by drawing, and removed.

import { path } from "./api.js";
import { arrange, byId, el, icon, oneAtATime, repeat, say, sentences } from "./dom.js";
import { Draft } from "./draw.js";
import { TURN, cut, eastward, joined } from "./earth.js";
import { L, isEarth, niceBelow, toLatLng } from "./ground.js";
import { isOnFloor } from "./regions.js";
import { disc, inside, onFloor, polygon, shapesIn } from "./statement.js";

const UNDONE = 8000;
/** Seconds. */
const AGAIN = 60;

export class Zones {
  all = [];
  #api;
  #map;
  #draft;
  #groups = [];
  #floor = null;
  #timer = 0;
  #rows = new Map();

  /** `onRemoved` hears of a subscription that is no more, `onExplain` that one is to be explained. */
  constructor(api, map, { onRemoved, onExplain }) {
    this.#api = api;
    this.#map = map;
    this.onRemoved = onRemoved;
    this.onExplain = onExplain;
    this.#draft = new Draft(map, { onChange: () => this.#changed(), onCancel: () => this.#close() });
    const { signal } = api;
    const on = (id, name, listener) => byId(id).addEventListener(name, listener, { signal });
    on("draw-open", "click", () => (this.#draft.isOpen ? this.#close() : this.open()));
    on("zone-cancel", "click", () => this.#close());
    on("corner-undo", "click", () => this.#draft.undo());
    on("zone-form", "submit", (event) => (event.preventDefault(), this.#submit()));
    on("zone-form", "input", (event) => this.#edited(event.target));
    signal.addEventListener("abort", () => (this.#close(), clearTimeout(this.#timer)));
  }

  get isDrawing() {
    return this.#draft.isOpen;
  }

  load = oneAtATime(async () => {
    const { subscriptions } = await this.#api.get("subscriptions");
    const before = this.all;
    this.all = subscriptions;
    this.#list();
    this.#draw();
    for (const { id } of before) if (this.textOf(id) === null) this.onRemoved(id);
  });

  /** Load them again now and then, since they end elsewhere, too, of which nothing is told. */
  watch() {
    repeat(AGAIN, this.load, this.#api.signal);
  }

  textOf(id) {
    return this.all.find((one) => one.id === id)?.text ?? null;
  }

  /** A name that no subscription has yet. */
  freeName(base) {
    const names = new Set(this.all.map(({ id }) => id));
    for (let n = 1; ; n++) {
      const name = n === 1 && base !== "Zone" ? base : `${base} ${n}`;
      if (!names.has(name)) return name;
    }
  }

  /** Gives what the gateway has to say of it: it may not be what was meant. */
  async subscribe(id, text) {
    const { warnings = [] } = await this.#api.put(path`subscriptions/${id}`, { text });
    await this.load();
    return warnings;
  }

  /** The middle of what a subscription names, if it names a shape. */
  centreOf(id) {
    const bounds = boundsOf(this.#map, this.#shapesOf(this.textOf(id) ?? ""));
    if (!bounds.isValid()) return null;
    const { lat, lng } = bounds.getCenter();
    return [lng, lat];
  }

  /** The shapes that a statement names, whole where one was cut at 180°. */
  #shapesOf(text) {
    const shapes = shapesIn(text);
    return isEarth(this.#map) ? shapes.map((shape) => (shape.parts ? { ...shape, parts: joined(shape.parts) } : shape)) : shapes;
  }

  bounds() {
    return boundsOf(this.#map, this.all.flatMap(({ text }) => this.#shapesOf(text)));
  }

  setFloor(floor) {
    this.#floor = floor;
    this.#draw();
    if (this.#draft.isOpen) this.#changed();
  }

  // ---- the form ----------------------------------------------------------------------------

  open() {
    byId("zone-form").hidden = false;
    byId("draw-open").setAttribute("aria-expanded", "true");
    byId("zone-name").value = this.freeName("Zone");
    byId("zone-where").value = byId("zone-dwell").value = "";
    byId("zone-radius").value = String(sixthOf(this.#map));
    document.body.classList.add("drawing");
    say(byId("zone-problem"), null);
    this.#start();
    byId("zone-name").focus();
    byId("zone-name").select();
  }

  #start() {
    const kind = this.#shape();
    byId("circle-fields").hidden = kind !== "circle";
    byId("polygon-fields").hidden = kind !== "polygon";
    this.#draft.start(kind, Number(byId("zone-radius").value) || 300);
  }

  #shape() {
    return document.querySelector('input[name="zone-shape"]:checked').value;
  }

  #close() {
    this.#draft.stop();
    document.body.classList.remove("drawing");
    const form = byId("zone-form");
    byId("draw-open").setAttribute("aria-expanded", "false");
    if (!form.hidden && form.contains(document.activeElement)) byId("draw-open").focus();
    form.hidden = true;
  }

  #edited(field) {
    if (field.name === "zone-shape") this.#start();
    else if (field.id === "zone-radius") {
      if (field.valueAsNumber > 0) this.#draft.setRadius(field.valueAsNumber);
    } else this.#changed();
  }

  #changed() {
    const { corners, radius } = this.#draft;
    const count = corners.length;
    byId("corner-undo").disabled = count === 0;
    byId("corner-count").textContent = count === 0 ? "No corners yet" : count === 1 ? "1 corner" : `${count} corners`;
    if (document.activeElement !== byId("zone-radius")) byId("zone-radius").value = String(Number(radius.toFixed(1)));
    byId("zone-text").textContent = this.#text() ?? "…";
  }

  #text() {
    const { centre, radius, corners } = this.#draft;
    const shape = this.#shape() === "circle" ? disc(centre, radius) : this.#polygon(corners);
    if (shape === null) return null;
    const further = { where: byId("zone-where").value, dwell: Number(byId("zone-dwell").value) || 0 };
    return inside(onFloor(shape, this.#floor), further);
  }

  #polygon(corners) {
    if (corners.length < 3) return null;
    if (!isEarth(this.#map)) return polygon([corners]);
    const xs = corners.map(([x]) => x);
    return Math.max(...xs) - Math.min(...xs) > TURN ? null : polygon(cut(corners));
  }

  async #submit() {
    const name = byId("zone-name").value.trim();
    const text = this.#text();
    const problem = byId("zone-problem");
    if (!name) return say(problem, "Give it a name.");
    if (this.textOf(name) !== null) return say(problem, `You have one that is called ${name}. Choose another name.`);
    if (text === null) return say(problem, "A polygon needs three corners or more, and goes around the earth once at the most.");
    if (!(this.#draft.radius > 0)) return say(problem, "A circle needs a radius.");
    try {
      const warnings = await this.subscribe(name, text);
      this.#close();
      return this.notice(sentences(`Subscribed to ${name}`, ...warnings));
    } catch (error) {
      return say(problem, error.message);
    }
  }

  // ---- the list ----------------------------------------------------------------------------

  #list() {
    byId("zone-empty").hidden = this.all.length > 0;
    this.#rows = new Map(this.all.map(({ id }) => [id, this.#rows.get(id) ?? this.#row(id)]));
    for (const { id, text } of this.all) fill(this.#rows.get(id), text);
    arrange(byId("zone-list"), [...this.#rows.values()]);
  }

  #row(id) {
    const button = (label, name, listener) =>
      el("button", { type: "button", class: `icon quiet ${name}`, "aria-label": `${label} ${id}`, title: label, click: listener }, icon(name));
    return el("li", { class: "subscription" },
      el("div", { class: "what" }, el("b", {}, id), el("code")),
      el("span", { class: "tools" },
        button("Show", "target", () => this.show(id)),
        button("Explain", "ask", () => this.onExplain(id)),
        button("Remove", "remove", () => this.#remove(id))));
  }

  show(id) {
    const bounds = boundsOf(this.#map, this.#shapesOf(this.textOf(id) ?? ""));
    if (bounds.isValid()) this.#map.fitBounds(bounds, { padding: [60, 60], maxZoom: 17 });
  }

  async #remove(id) {
    const text = this.textOf(id);
    try {
      await this.#api.delete(path`subscriptions/${id}`);
    } catch (error) {
      if (error.status !== 404) return this.notice(error.message);
    }
    await this.load().catch(() => {});
    this.notice(`Removed ${id}.`, () => this.#restore(id, text));
    // The button that was pressed is gone with its row.
    if (document.activeElement === document.body) byId("zone-notice").querySelector("button").focus();
    return undefined;
  }

  async #restore(id, text) {
    try {
      await this.subscribe(id, text);
    } catch (error) {
      return this.notice(error.message);
    }
    say(byId("zone-notice"), null);
    if (document.activeElement === document.body) this.#rows.get(id)?.querySelector(".remove").focus();
    return undefined;
  }

  /** Something to say, and perhaps a way back. */
  notice(text, undo = null) {
    const notice = byId("zone-notice");
    say(notice, text);
    if (undo) notice.append(" ", el("button", { type: "button", class: "quiet", click: undo }, "Undo"));
    this.#unsayLater();
  }

  /** What was said goes after a while, but not while somebody is on its button. */
  #unsayLater() {
    const notice = byId("zone-notice");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (notice.contains(document.activeElement) ? this.#unsayLater() : say(notice, null)), UNDONE);
  }

  // ---- on the map --------------------------------------------------------------------------

  #draw() {
    for (const group of this.#groups) group.remove();
    this.#groups = this.all.flatMap(({ id, text }) =>
      this.#shapesOf(text).filter(({ floor }) => isOnFloor(floor, this.#floor)).map((shape) => this.#drawn(id, shape)));
  }

  /** One that goes over 180° is drawn at either end of the world, since a map may show the one or the other. */
  #drawn(id, shape) {
    const bounds = boundsOf(this.#map, [shape]);
    const ends = isEarth(this.#map) ? [bounds.getEast() > TURN / 2 && -TURN, bounds.getWest() < -TURN / 2 && TURN] : [];
    const copies = [0, ...ends.filter(Boolean)].flatMap((by) => [
      layerOf(shifted(shape, by), { pane: "zones", className: "zone", weight: 2, dashArray: "6 5" }),
      L.tooltip({ permanent: true, direction: "top", className: "zone-name", pane: "zones", opacity: 1 })
        .setLatLng([bounds.getNorth(), bounds.getCenter().lng + by])
        .setContent(el("span", {}, id)),
    ]);
    return L.layerGroup(copies).addTo(this.#map);
  }
}

function fill(row, text) {
  row.querySelector("code").textContent = text;
  row.querySelector(".target").hidden = shapesIn(text).length === 0;
}

function layerOf(shape, style) {
  const still = { ...style, interactive: false };
  if (shape.kind === "disc") return L.circle(toLatLng(shape.centre), { ...still, radius: shape.radius });
  if (shape.kind === "point") return L.circleMarker(toLatLng(shape.centre), { ...still, radius: 6, dashArray: null });
  return L.polygon(shape.parts.map((rings) => rings.map((ring) => ring.map(toLatLng))), still);
}

function shifted(shape, by) {
  if (shape.parts) return { ...shape, parts: eastward(shape.parts, by) };
  return { ...shape, centre: [shape.centre[0] + by, shape.centre[1]] };
}

/** Metres: a sixth of what the map shows, so that a circle of it can be seen. */
function sixthOf(map) {
  const { x, y } = map.getSize();
  const at = (left, top) => map.containerPointToLatLng([left, top]);
  return niceBelow(Math.min(map.distance(at(0, y / 2), at(x, y / 2)), map.distance(at(x / 2, 0), at(x / 2, y))) / 6);
}

function boundsOf(map, shapes) {
  const bounds = L.latLngBounds([]);
  for (const shape of shapes) {
    if (shape.kind === "polygon") for (const ring of shape.parts.flat()) bounds.extend(ring.map(toLatLng));
    else if (map.options.crs === L.CRS.Simple) {
      const { centre: [x, y], radius = 0 } = shape;
      bounds.extend([[y - radius, x - radius], [y + radius, x + radius]]);
    } else bounds.extend(shape.radius ? toLatLng(shape.centre).toBounds(2 * shape.radius) : toLatLng(shape.centre));
  }
  return bounds;
}
