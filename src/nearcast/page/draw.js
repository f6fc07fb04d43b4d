// A zone in the making: a circle that is dragged or stays in the middle of the map, or a polygon corner by corner, with
// a mouse, a finger or the keyboard.

import { byId } from "./dom.js";
import { unrolled } from "./earth.js";
import { L, isEarth, middle, pointOf, shownLatLng, toLatLng } from "./ground.js";

const STILL = 6;

export class Draft {
  #map;
  #kind = null;
  #centre = null;
  #radius = 0;
  #corners = [];
  #group = null;
  #pressed = null;
  #over = null;
  /** The longitude of the middle of the map. */
  #middle = 0;

  /** `onChange` hears of every change, `onCancel` of Escape. */
  constructor(map, { onChange, onCancel }) {
    this.#map = map;
    this.onChange = onChange;
    this.onCancel = onCancel;
  }

  get isOpen() {
    return this.#kind !== null;
  }

  /** As they are shown: longitudes go on over 180°. */
  get corners() {
    return this.#corners;
  }

  get radius() {
    return this.#radius;
  }

  get centre() {
    return this.#centre ?? middle(this.#map);
  }

  start(kind, radius) {
    this.stop();
    this.#kind = kind;
    this.#radius = radius;
    this.#centre = null;
    this.#corners = [];
    this.#middle = this.#map.getCenter().lng;
    this.#over = new AbortController();
    const { signal } = this.#over;
    const box = this.#map.getContainer();
    box.classList.add("drawing");
    this.#map.doubleClickZoom.disable();
    if (kind === "circle") this.#map.dragging.disable();
    box.addEventListener("pointerdown", (event) => this.#press(event), { signal });
    addEventListener("pointermove", (event) => this.#drag(event), { signal });
    addEventListener("pointerup", (event) => this.#release(event), { signal });
    addEventListener("pointercancel", () => (this.#pressed = null), { signal });
    box.addEventListener("keydown", (event) => this.#key(event), { signal });
    document.addEventListener("keydown", (event) => this.#escape(event), { signal });
    this.#map.on("move", this.#moved, this);
    this.#draw();
  }

  stop() {
    if (!this.isOpen) return;
    this.#over.abort();
    this.#kind = this.#pressed = null;
    this.#map.getContainer().classList.remove("drawing");
    this.#map.doubleClickZoom.enable();
    this.#map.dragging.enable();
    this.#map.off("move", this.#moved, this);
    this.#group?.remove();
    byId("cross").hidden = true;
  }

  setRadius(radius) {
    this.#radius = radius;
    this.#draw();
  }

  undo() {
    this.#corners.pop();
    this.#draw();
  }

  // ---- by pointer --------------------------------------------------------------------------

  #press(event) {
    if (!event.isPrimary || event.button !== 0) return;
    this.#pressed = { x: event.clientX, y: event.clientY, at: this.#map.mouseEventToLatLng(event), isDrag: false };
  }

  #drag(event) {
    const pressed = this.#pressed;
    if (!pressed || !event.isPrimary) return;
    pressed.isDrag ||= Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > STILL;
    if (!pressed.isDrag || this.#kind !== "circle") return;
    this.#centre = pointOf(this.#map, pressed.at);
    this.#radius = Math.max(1, this.#map.distance(pressed.at, this.#map.mouseEventToLatLng(event)));
    this.#draw();
  }

  #release(event) {
    const pressed = this.#pressed;
    if (!pressed || !event.isPrimary) return;
    this.#pressed = null;
    if (pressed.isDrag) return;
    if (this.#kind === "circle") this.#centre = pointOf(this.#map, pressed.at);
    else this.#addCorner(pressed.at);
    this.#draw();
  }

  // ---- by keyboard -------------------------------------------------------------------------

  /** Wherever one is, unless it closes what is above. */
  #escape(event) {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    if (!document.querySelector("dialog[open]")) this.onCancel();
  }

  #key(event) {
    if (this.#kind === "circle") {
      if (event.key !== "Enter") return undefined;
      this.#centre = middle(this.#map);
    } else if (event.key === "Enter") this.#addCorner(this.#map.getCenter());
    else if (event.key === "Backspace") this.#corners.pop();
    else return undefined;
    event.preventDefault();
    return this.#draw();
  }

  /** A map that is moved over 180° shows another copy of the world, to which what is drawn comes along. */
  #moved() {
    const { lng } = this.#map.getCenter();
    const by = isEarth(this.#map) ? unrolled(this.#middle, lng) - this.#middle : 0;
    this.#middle = lng;
    this.#corners = this.#corners.map(([x, y]) => [x + by, y]);
    if (by !== 0 || (this.#kind === "circle" && !this.#centre)) this.#draw();
  }

  #addCorner({ lng, lat }) {
    this.#corners.push([lng, lat]);
  }

  // ---- drawing -----------------------------------------------------------------------------

  #draw() {
    this.#group?.remove();
    const style = { pane: "draft", className: "draft", interactive: false, weight: 2.5 };
    const shapes = [];
    if (this.#kind === "circle") {
      shapes.push(L.circle(shownLatLng(this.#map, this.centre), { ...style, radius: this.#radius }));
    } else {
      const corners = this.#corners.map(toLatLng);
      if (corners.length > 1) shapes.push(L.polygon(corners, { ...style, fill: corners.length > 2 }));
      shapes.push(...corners.map((at) => L.circleMarker(at, { ...style, className: "draft corner", radius: 5 })));
    }
    this.#group = L.layerGroup(shapes).addTo(this.#map);
    byId("cross").hidden = this.#kind === "circle" && this.#centre !== null;
    this.onChange();
  }
}
