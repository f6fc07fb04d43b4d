// What stays: regions of layers, places, publications with a place of their own, and the floors that they are on.

import { path } from "./api.js";
import { arrange, byId, colour, countText, darkMode, el, repeat } from "./dom.js";
import { L } from "./ground.js";

const DRAWN = 5000;
const NAMED = 150;
/** Seconds. */
const AGAIN = 60;
const STAYING_AGAIN = 10;
const PALETTE = 6;
const PLACES = "places";
const STAYING = "staying";

export class Regions {
  #api;
  #map;
  #drawn = new Map();
  #features = new Map();
  #places = new Map();
  #floors = new Set();
  /** Places with nothing in them, if they are few enough to be named on the map. */
  #rooms = new Set();
  #renderer;
  /** The rows of layers and of floors, which stay the same elements. */
  #rows = new Map();
  #floorRows = new Map();

  /** `onFloor` hears which floor is chosen; null is all of them. `onPick` hears of a publication that is clicked. */
  constructor(api, map, { onFloor, onPick }) {
    this.#api = api;
    this.#map = map;
    this.onFloor = onFloor;
    this.onPick = onPick;
    this.floor = null;
    this.shown = new Map();
    this.#renderer = L.canvas({ pane: "regions", padding: 0.3 });
    darkMode.addEventListener("change", () => this.#draw(), { signal: api.signal });
  }

  async load() {
    const [layers, places, staying] = await Promise.all([
      this.#api.get("layers"),
      this.#api.get("places"),
      this.#api.get("staying"),
    ]);
    this.#places = new Map(places.features.map((feature) => [feature.id, feature]));
    this.#features.set(PLACES, places.features.filter((feature) => feature.geometry));
    this.#rooms = roomsOf(places.features);
    this.#features.set(STAYING, staying.features);
    this.layers = layers.layers;
    const few = this.layers.filter((layer) => layer.regions <= DRAWN);
    for (const name of this.#features.keys()) {
      if (name.startsWith("layer:") && !few.some((layer) => `layer:${layer.name}` === name)) this.#features.delete(name);
    }
    await Promise.all(few.map((layer) => this.#loadLayer(layer)));
    this.#findFloors();
    this.#list();
    this.#draw();
  }

  /** Load it again now and then, since others change it; and more often what only seems to stay, since its publisher
   * lets others see it less precisely. */
  watch() {
    const { signal } = this.#api;
    repeat(AGAIN, () => this.load(), signal);
    repeat(STAYING_AGAIN, () => this.#loadStaying(), signal);
  }

  async #loadStaying() {
    const { features } = await this.#api.get("staying");
    if (JSON.stringify(features) === JSON.stringify(this.#features.get(STAYING))) return;
    this.#features.set(STAYING, features);
    this.#list();
    this.#draw();
  }

  async #loadLayer({ name }) {
    try {
      this.#features.set(`layer:${name}`, (await this.#api.get(path`layers/${name}`)).features);
    } catch (error) {
      if (error.status !== 404) throw error;
      this.#features.delete(`layer:${name}`);
    }
  }

  get placeNames() {
    return [...this.#places.keys()];
  }

  get layerNames() {
    return (this.layers ?? []).map((layer) => layer.name);
  }

  /** Where a place is, how far it reaches, and on which floor; of one without a shape, what it is in. */
  centreOf(path) {
    for (let at = path; at; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
      const feature = this.#places.get(at);
      if (!feature?.geometry) continue;
      const bounds = this.#boundsOf([feature]);
      const [centre, floor] = [bounds.getCenter(), floorOf(feature)];
      return {
        at: [centre.lng, centre.lat],
        width: bounds.getEast() - bounds.getWest(),
        height: bounds.getNorth() - bounds.getSouth(),
        floor: floor && floor[0] === floor[1] ? floor[0] : null,
      };
    }
    return null;
  }

  /** The middle of a region, by its name, of whatever layer. */
  centreOfRegion(id) {
    for (const features of this.#features.values()) {
      const feature = features.find((one) => one.id === id && one.geometry);
      if (feature) {
        const { lat, lng } = this.#boundsOf([feature]).getCenter();
        return [lng, lat];
      }
    }
    return null;
  }

  bounds() {
    return this.#boundsOf([...this.#features.values()].flat());
  }

  #boundsOf(features) {
    const bounds = L.latLngBounds([]);
    for (const { geometry, properties } of features) {
      if (!geometry) continue;
      if (geometry.type === "Point") {
        const [x, y] = geometry.coordinates;
        const across = 2 * (properties.radius ?? 0);
        // Without a map whose scale is known yet, a circle is measured by hand.
        const [wide, high] = this.#map.options.crs === L.CRS.Simple ? [across, across]
          : [across / (111_320 * Math.max(0.05, Math.cos((y * Math.PI) / 180))), across / 111_320];
        bounds.extend([[y - high / 2, x - wide / 2], [y + high / 2, x + wide / 2]]);
      } else {
        const corners = geometry.type === "Polygon" ? geometry.coordinates.flat() : geometry.coordinates.flat(2);
        for (const [x, y] of corners) bounds.extend([y, x]);
      }
    }
    return bounds;
  }

  // ---- drawing -----------------------------------------------------------------------------

  #draw() {
    for (const group of this.#drawn.values()) group.remove();
    this.#drawn.clear();
    for (const [name, features] of this.#features) {
      const tint = this.#tint(name);
      if (this.shown.get(name) === false || features.length === 0) continue;
      const group = L.geoJSON(features, {
        pane: "regions",
        renderer: this.#renderer,
        filter: (feature) => this.#isOnFloor(feature),
        style: () => ({ color: tint, weight: 1.5, opacity: 0.9, fillColor: tint, fillOpacity: 0.14 }),
        pointToLayer: (feature, at) => this.#circle(feature, at, tint),
        onEachFeature: (feature, layer) => this.#label(name, feature, layer),
      });
      this.#drawn.set(name, group.addTo(this.#map));
    }
  }

  #circle({ properties }, at, tint) {
    const style = { renderer: this.#renderer, pane: "regions" };
    if (properties.radius) return L.circle(at, { ...style, radius: properties.radius });
    return L.circleMarker(at, { ...style, radius: 5, fillColor: tint });
  }

  #label(name, feature, layer) {
    const { properties } = feature;
    const title = name === STAYING ? `${properties.client}: ${properties.publication}` : String(feature.id);
    const isRoom = name === PLACES && this.#rooms.has(feature.id);
    const still = { permanent: true, direction: "center", className: "place-name", opacity: 1, pane: "regions" };
    layer.bindTooltip(() => el("span", {}, isRoom ? properties.name : title), isRoom ? still : { sticky: true, className: "tip" });
    if (name === STAYING) layer.on("click", () => this.onPick(properties));
  }

  /** Layers have their colours in the order in which they are listed, whichever came first. */
  #tint(name) {
    if (name === PLACES) return colour("place");
    if (name === STAYING) return colour("staying");
    const number = this.layers.findIndex((layer) => `layer:${layer.name}` === name);
    return colour(`layer-${(number % PALETTE) + 1}`);
  }

  // ---- what is shown -----------------------------------------------------------------------

  #list() {
    const rows = [];
    for (const layer of this.layers) {
      const name = `layer:${layer.name}`;
      const many = layer.regions > DRAWN ? "too many to draw" : countText(layer.regions, "region");
      rows.push(this.#row(name, layer.name, many, this.#features.has(name) ? this.#tint(name) : null));
    }
    const [places, staying] = [this.#features.get(PLACES), this.#features.get(STAYING)];
    if (places.length > 0) rows.push(this.#row(PLACES, "Places", countText(places.length, "place"), this.#tint(PLACES)));
    if (staying.length > 0) rows.push(this.#row(STAYING, "What stays", countText(staying.length, "thing"), this.#tint(STAYING)));
    arrange(byId("layer-list"), rows);
  }

  #row(name, title, note, tint) {
    const row = this.#rows.get(name) ?? this.#newRow(name, title);
    this.#rows.set(name, row);
    const box = row.querySelector("input");
    box.disabled = tint === null;
    box.checked = tint !== null && this.shown.get(name) !== false;
    row.querySelector(".swatch").style.background = tint ?? "";
    row.querySelector("small").textContent = note;
    return row;
  }

  #newRow(name, title) {
    const change = ({ target }) => (this.shown.set(name, target.checked), this.#draw());
    return el("label", { class: "layer" }, el("input", { type: "checkbox", change }),
      el("span", { class: "swatch" }), el("span", { class: "name" }, title), el("small"));
  }

  // ---- floors ------------------------------------------------------------------------------

  /** Someone who moves has been seen on a floor. */
  sawFloor(floor) {
    if (floor === null || floor === undefined || this.#floors.has(floor)) return;
    this.#floors.add(floor);
    this.#listFloors();
  }

  #findFloors() {
    for (const features of this.#features.values()) {
      for (const feature of features) for (const end of floorOf(feature) ?? []) if (end !== null) this.#floors.add(end);
    }
    this.#listFloors();
  }

  #listFloors() {
    const floors = byId("floors");
    floors.hidden = this.#floors.size === 0;
    const choices = [null, ...[...this.#floors].sort((a, b) => b - a)];
    arrange(floors, [floors.querySelector("legend"), ...choices.map((floor) => this.#floorRow(floor))]);
  }

  #floorRow(floor) {
    const row = this.#floorRows.get(floor) ?? this.#newFloorRow(floor);
    this.#floorRows.set(floor, row);
    row.querySelector("input").checked = floor === this.floor;
    return row;
  }

  #newFloorRow(floor) {
    const change = () => this.#choose(floor);
    return el("label", {}, el("input", { type: "radio", name: "floor", value: floor ?? "all", change }),
      el("span", {}, floor === null ? "All" : String(floor)));
  }

  #choose(floor) {
    this.floor = floor;
    this.#draw();
    this.onFloor(floor);
  }

  #isOnFloor(feature) {
    return isOnFloor(floorOf(feature), this.floor);
  }
}

function roomsOf(places) {
  const parents = new Set(places.map(({ id }) => id.slice(0, Math.max(0, id.lastIndexOf("/")))));
  const rooms = places.filter(({ id, geometry }) => geometry && !parents.has(id));
  return new Set(rooms.length <= NAMED ? rooms.map(({ id }) => id) : []);
}

export const isOnFloor = (range, floor) =>
  floor === null || !range || ((range[0] ?? Number.NEGATIVE_INFINITY) <= floor && floor <= (range[1] ?? Number.POSITIVE_INFINITY));

/** The floors that a feature is on: OpenStreetMap says level, and may list them as text. */
function floorOf({ properties }) {
  const given = properties.floor ?? properties.level;
  if (given === undefined || given === null) return null;
  const ends = (Array.isArray(given) ? given : String(given).split(";")).map((end) => (end === null ? null : Number(end)));
  if (ends.some(Number.isNaN)) return null;
  return [ends[0], ends[ends.length - 1]];
}
