// The map itself: on the earth or on a plane, with tiles or with a graticule, and with buttons of its own.

import * as L from "./vendor/leaflet/leaflet-src.esm.js";
import { byId, colour, darkMode, font, metresText } from "./dom.js";
import { unrolled, wrapped } from "./earth.js";

const NICE = [1, 2, 5];
const MARGIN = 40;
const WIDEST = 110;
/** Degrees that are all of them, as precisely as a statement says. */
const AROUND = 359.9999;

export { L };

/** A map of a metric, until the signal. `settings` names tiles, if there are any. */
export function makeMap(metric, settings, signal) {
  const earth = metric === "earth";
  const map = L.map("map", {
    crs: earth ? L.CRS.EPSG3857 : L.CRS.Simple,
    center: earth ? [20, 0] : [0, 0],
    zoom: earth ? 2 : 0,
    minZoom: earth ? 1 : -10,
    maxZoom: earth ? 21 : 8,
    zoomControl: false,
    attributionControl: false,
    zoomSnap: settings.tiles ? 1 : 0.25,
    zoomDelta: 1,
    wheelPxPerZoomLevel: 90,
    worldCopyJump: earth,
  });
  for (const [name, order] of [["regions", 350], ["zones", 380], ["movers", 450], ["draft", 480]]) {
    map.createPane(name).style.zIndex = String(order);
  }
  map.getPane("movers").style.pointerEvents = "none";
  if (earth && settings.tiles) {
    const tiles = { maxZoom: 21, maxNativeZoom: 19, subdomains: settings.subdomains, className: "tile" };
    L.tileLayer(settings.tiles, tiles).addTo(map);
    byId("credit").textContent = settings.credit;
  } else {
    addGraticule(map, signal);
  }
  withButtons(map, signal);
  map.on("zoomend moveend resize", () => showScale(map));
  return map;
}

/** Everything that a map should show when it opens, or when asked to. */
export function fit(map, bounds) {
  if (!bounds.isValid()) return;
  map.fitBounds(bounds, { padding: [MARGIN, MARGIN], maxZoom: isEarth(map) ? 16.5 : 5, animate: false });
}

/** Where the middle is, as x and y; a map that was dragged around the earth is brought back. */
export function middle(map) {
  return pointOf(map, map.getCenter());
}

export function pointOf(map, latlng) {
  const at = isEarth(map) ? latlng.wrap() : latlng;
  return [at.lng, at.lat];
}

/** West, south, east and north of what is shown. Where that goes over 180°, west is greater than east. */
export function view(map) {
  const bounds = map.getBounds();
  const [west, south, east, north] = [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()];
  if (!isEarth(map)) return [west, south, east, north];
  const [low, high] = [Math.max(-90, south), Math.min(90, north)];
  return east - west >= AROUND ? [-180, low, 180, high] : [wrapped(west), low, wrapped(east), high];
}

/** The same as boxes of which none goes over 180°. */
export function boxesOf([west, south, east, north]) {
  if (west <= east) return [[west, south, east, north]];
  return [[west, south, 180, north], [-180, south, east, north]];
}

export const isEarth = (map) => map.options.crs !== L.CRS.Simple;

export const toLatLng = ([x, y]) => L.latLng(y, x);

/** Where to show a point: in that copy of the world that is nearest to a longitude, or else to the middle of the map. */
export function shownLatLng(map, [x, y], near = map.getCenter().lng) {
  return L.latLng(y, isEarth(map) ? unrolled(x, near) : x);
}

/** How long so many metres are on the screen, at a latitude. */
export function pixelsOf(map, metres, y) {
  const { crs } = map.options;
  const unit = isEarth(map) ? 2 * Math.PI * crs.R * Math.max(0.01, Math.cos((y * Math.PI) / 180)) : 1;
  return (metres / unit) * crs.scale(map.getZoom());
}

function withButtons(map, signal) {
  byId("zoom-in").addEventListener("click", () => map.zoomIn(), { signal });
  byId("zoom-out").addEventListener("click", () => map.zoomOut(), { signal });
}

// ---- the scale ---------------------------------------------------------------------------------

function showScale(map) {
  const y = map.getSize().y / 2;
  const metres = map.distance(map.containerPointToLatLng([0, y]), map.containerPointToLatLng([WIDEST, y]));
  const nice = niceBelow(metres);
  const scale = byId("scale");
  scale.textContent = metresText(nice);
  scale.style.width = `${Math.round((WIDEST * nice) / metres)}px`;
}

/** The greatest of 1, 2, 5, 10, 20, … that is not more. */
export function niceBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * NICE.findLast((digit) => digit * power <= value);
}

// ---- a canvas that goes with the map -----------------------------------------------------------

/** A canvas as large as the map and a little more. It fires `redraw` whenever it is empty, and `ink` draws on it. */
export const Sheet = L.Renderer.extend({
  _initContainer() {
    this._container = document.createElement("canvas");
    this.ink = this._container.getContext("2d");
  },

  _destroyContainer() {
    this._container.remove();
    this._container = null;
  },

  getEvents() {
    return { ...L.Renderer.prototype.getEvents.call(this), drag: this._dragged };
  },

  /** A map that is dragged far, or over 180° and so to another copy of the world, has left what was drawn. */
  _dragged() {
    if (!this._bounds.contains(this._map.containerPointToLayerPoint(this._map.getSize().divideBy(2)))) this._update();
  },

  _update() {
    if (this._map._animatingZoom && this._bounds) return;
    L.Renderer.prototype._update.call(this);
    const size = this._bounds.getSize();
    const ratio = globalThis.devicePixelRatio || 1;
    L.DomUtil.setPosition(this._container, this._bounds.min);
    this._container.width = size.x * ratio;
    this._container.height = size.y * ratio;
    this._container.style.width = `${size.x}px`;
    this._container.style.height = `${size.y}px`;
    this.ink.setTransform(ratio, 0, 0, ratio, -this._bounds.min.x * ratio, -this._bounds.min.y * ratio);
    this.fire("redraw");
  },

  /** What it covers, in points of the map's layers. */
  bounds() {
    return this._bounds;
  },

  /** Whether the map is being zoomed by fingers: until they let go, what was drawn is scaled. */
  isScaled() {
    return this._map.getZoom() !== this._zoom;
  },

  clear() {
    const { min, max } = this._bounds;
    this.ink.clearRect(min.x, min.y, max.x - min.x, max.y - min.y);
  },
});

// ---- the graticule -----------------------------------------------------------------------------

const DEGREES = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];
const APART = 110;

/** Meridians and parallels, or a grid of metres, where there are no tiles. */
function addGraticule(map, signal) {
  const sheet = new Sheet({ pane: "tilePane", padding: 0.5 });
  const draw = () => {
    sheet.clear();
    drawLines(sheet.ink, map, sheet.bounds(), isEarth(map));
  };
  sheet.on("redraw", draw);
  sheet.addTo(map);
  darkMode.addEventListener("change", draw, { signal });
}

function drawLines(ink, map, { min, max }, onEarth) {
  const low = map.layerPointToLatLng([min.x, max.y]);
  const high = map.layerPointToLatLng([max.x, min.y]);
  const corner = map.containerPointToLayerPoint([0, 0]);
  const perPixel = (high.lng - low.lng) / (max.x - min.x);
  const step = onEarth
    ? (DEGREES.findLast((degrees) => degrees / perPixel >= APART) ?? DEGREES[0])
    : niceBelow(APART * 2 * perPixel);
  ink.strokeStyle = colour("line");
  ink.fillStyle = colour("line-text");
  ink.font = font(11);
  ink.lineWidth = 1;
  for (let n = Math.ceil(low.lng / step); n * step <= high.lng; n++) {
    const x = Math.round(map.latLngToLayerPoint([low.lat, n * step]).x) + 0.5;
    strokeLine(ink, x, min.y, x, max.y);
    ink.fillText(lineText(onEarth ? wrapped(n * step) : n * step, onEarth, "E", "W"), x + 4, corner.y + 14);
  }
  for (let n = Math.ceil(low.lat / step); n * step <= high.lat; n++) {
    if (onEarth && Math.abs(n * step) > 85) continue;
    const y = Math.round(map.latLngToLayerPoint([n * step, low.lng]).y) + 0.5;
    strokeLine(ink, min.x, y, max.x, y);
    if (y > corner.y + 24 && y < corner.y + map.getSize().y - 36) ink.fillText(lineText(n * step, onEarth, "N", "S"), corner.x + 6, y - 4);
  }
}

function strokeLine(ink, x1, y1, x2, y2) {
  ink.beginPath();
  ink.moveTo(x1, y1);
  ink.lineTo(x2, y2);
  ink.stroke();
}

function lineText(value, onEarth, positive, negative) {
  if (!onEarth) return `${value < 0 ? "−" : ""}${metresText(Math.abs(value))}`;
  return `${Number(Math.abs(value).toFixed(4))}° ${value < 0 ? negative : value > 0 ? positive : ""}`.trim();
}
