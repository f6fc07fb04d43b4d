// Standard questions, easily chosen, as the Active Map Service has them: to be answered now, or as a subscription that
// goes on telling. Each is a statement of the language, which is shown.

import { Latest, byId, countText, el, metresText, say, sentences } from "./dom.js";
import { middle, view } from "./ground.js";
import { box, inside, number, point, quoted, shapesIn } from "./statement.js";

const LISTED = 100;
const VIEW = "";

/** Each question: what it is called, its fields, and the statement that it makes of their values. */
const QUESTIONS = [
  {
    name: "place",
    title: "Who is in a place?",
    fields: (at) => [choice("place", "Place", at.regions.placeNames, "There are no places here.")],
    text: ({ place }) => (place ? `SELECT WHERE &location IN PLACE ${quoted(place)}` : null),
    keep: ({ place }) => `in ${place}`,
  },
  {
    name: "nearest",
    title: "What is nearest?",
    fields: (at) => [
      amount("k", "How many", 3, 1, 1000),
      choice("layer", "Of", [["", "clients"], ...at.regions.layerNames.map((name) => [name, `regions of ${name}`])]),
      choice("from", "To", [["middle", "the middle of the map"], ["me", "me"]]),
    ],
    text: ({ k, layer, from }, at) =>
      `SELECT${layer ? ` FROM LAYER ${quoted(layer)}` : ""}${from === "me" ? "" : ` AT ${point(middle(at.map))}`} NEAREST ${Math.round(k)}`,
    keep: ({ k }) => `nearest ${Math.round(k)}`,
  },
  {
    name: "near",
    title: "Who is near me?",
    fields: (at) => [amount("metres", "Within, in metres", 500, 1), here(at)],
    text: ({ metres }) => `SELECT WHERE &location WITHIN ${number(metres, 1)} m OF #location`,
    keep: ({ metres }) => `within ${metresText(metres)} of me`,
  },
  {
    name: "zone",
    title: "What is in this zone?",
    fields: (at) => [choice("zone", "Zone", [[VIEW, "what the map shows"], ...at.zones.all.filter(({ text }) => shapesIn(text).length > 0).map(({ id }) => id)])],
    text: ({ zone }, at) => (zone === VIEW ? inside(box(view(at.map))) : shapeText(at.zones.textOf(zone))),
    keep: ({ zone }) => `in ${zone === VIEW ? "view" : zone}`,
  },
  {
    name: "follow",
    title: "Where is …?",
    fields: (at) => [words("who", "Client", "a name", [...at.movers.all.keys()].sort().slice(0, 500))],
    text: ({ who }) => (who ? `SELECT WHERE &owner = ${quoted(who)}` : null),
    keepText: ({ who }) => `SELECT WHERE &owner = ${quoted(who)} WITH UPDATES`,
    keep: ({ who }) => `where is ${who}`,
  },
  {
    name: "like",
    title: "Who is like this?",
    fields: () => [words("where", "Condition", "&type = 'person'"), choice("reach", "Where", [["view", "in what the map shows"], ["all", "anywhere"]])],
    text: ({ where, reach }, at) => {
      if (!where) return null;
      return reach === "all" ? `SELECT WHERE ${where}` : inside(box(view(at.map)), { where });
    },
    keep: ({ where }) => where,
  },
  {
    name: "own",
    title: "A statement of your own",
    fields: () => [area("text", "Statement", "SELECT WHERE &location WITHIN 1 km OF #location")],
    text: ({ text }) => text || null,
    keep: () => "my question",
  },
];

/** The same question without the rest of a subscription: who is in its shape. */
function shapeText(text) {
  const found = text?.match(/&location IN (?:DISC|BOX|POLYGON|MULTIPOLYGON)\s*\(/i);
  return found ? text.replace(/ (?:DWELL|HYSTERESIS|COOLDOWN) [^A-Z]+/g, "") : null;
}

export class Ask {
  #api;
  #at;
  #asked = new Latest();

  /** `at` has the map, movers, regions and zones; `onPick` hears of an answer that is chosen, `onFound` of all of them. */
  constructor(api, at, { onPick, onFound, onKept, onHere }) {
    this.#api = api;
    this.#at = { ...at, sayHere: (position, accuracy) => onHere(position, accuracy) };
    Object.assign(this, { onPick, onFound, onKept });
    const { signal } = api;
    const on = (id, name, listener) => byId(id).addEventListener(name, listener, { signal });
    byId("ask-which").replaceChildren(...QUESTIONS.map(({ name, title }) => el("option", { value: name }, title)));
    on("ask-which", "change", () => this.fill());
    on("ask-fields", "input", () => this.#show());
    on("ask-form", "submit", (event) => (event.preventDefault(), this.#ask()));
    on("ask-keep", "click", () => this.#keep());
    on("ask-clear", "click", () => this.clear());
    const show = () => this.#show();
    at.map.on("moveend", show);
    signal.addEventListener("abort", () => (at.map.off("moveend", show), this.clear()));
  }

  get #question() {
    return QUESTIONS.find(({ name }) => name === byId("ask-which").value);
  }

  /** The fields of the question that is chosen. */
  fill() {
    const before = this.#values();
    byId("ask-fields").replaceChildren(...this.#question.fields(this.#at));
    for (const field of byId("ask-fields").querySelectorAll("[name]")) {
      const value = before[field.name];
      const isThere = field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value);
      if (value !== undefined && !Number.isNaN(value) && isThere) field.value = value;
    }
    this.#show();
  }

  #values() {
    const values = {};
    for (const field of byId("ask-fields").querySelectorAll("[name]")) {
      values[field.name] = field.type === "number" ? field.valueAsNumber : field.value.trim();
    }
    return values;
  }

  #text() {
    const values = this.#values();
    if (Object.values(values).some(Number.isNaN)) return null;
    return this.#question.text(values, this.#at);
  }

  #show() {
    byId("ask-text").textContent = this.#text() ?? "…";
  }

  async #ask() {
    const text = this.#text();
    if (!text) return say(byId("ask-problem"), "Something is missing.");
    say(byId("ask-problem"), null);
    const signal = this.#asked.next();
    try {
      const { notifications, warnings = [] } = await this.#api.post("query", { text }, signal);
      say(byId("ask-problem"), sentences(...warnings));
      return this.#answered(notifications);
    } catch (error) {
      if (signal.aborted) return undefined;
      this.clear();
      return say(byId("ask-problem"), error.message);
    }
  }

  #answered(found) {
    byId("ask-count").textContent = found.length === 0 ? "Nobody and nothing." : countText(found.length, "answer");
    byId("ask-list").replaceChildren(...found.slice(0, LISTED).map((one) => this.#row(one)));
    byId("ask-clear").hidden = false;
    this.onFound(new Set(found.map(({ publisher }) => publisher).filter(Boolean)));
  }

  #row(one) {
    const name = one.publisher ?? one.region ?? one.publication;
    const note = [one.publication, one.region, one.peer].filter((part) => part && part !== name).join(" · ");
    return el("li", {}, el("button", { type: "button", click: () => this.onPick(one) }, el("b", {}, name), el("small", {}, note)));
  }

  clear() {
    this.#asked.end();
    say(byId("ask-problem"), null);
    byId("ask-list").replaceChildren();
    byId("ask-count").textContent = "";
    byId("ask-clear").hidden = true;
    this.onFound(new Set());
  }

  async #keep() {
    const text = this.#text();
    if (!text) return say(byId("ask-problem"), "Something is missing.");
    say(byId("ask-problem"), null);
    const [question, values] = [this.#question, this.#values()];
    const name = this.#at.zones.freeName(question.keep(values).slice(0, 60));
    try {
      const warnings = await this.#at.zones.subscribe(name, question.keepText?.(values) ?? text);
      return this.onKept(sentences(`Subscribed: ${name}`, ...warnings));
    } catch (error) {
      return this.#api.signal.aborted ? undefined : say(byId("ask-problem"), error.message);
    }
  }
}

// ---- fields ------------------------------------------------------------------------------------

const field = (label, ...inputs) => el("label", { class: "field" }, `${label} `, ...inputs);

function choice(name, label, options, empty = "") {
  if (options.length === 0) return el("p", { class: "hint" }, empty);
  const rows = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  return field(label, el("select", { name }, rows.map(([value, title]) => el("option", { value }, title))));
}

const amount = (name, label, value, min, max = null) =>
  field(label, el("input", { type: "number", name, value, min, max, step: "any", inputmode: "decimal" }));

function words(name, label, placeholder, known = []) {
  const list = `known-${name}`;
  const input = el("input", { name, placeholder, autocomplete: "off", spellcheck: "false", list: known.length > 0 ? list : null });
  return field(label, input, known.length > 0 && el("datalist", { id: list }, known.map((value) => el("option", { value }))));
}

const area = (name, label, placeholder) =>
  field(label, el("textarea", { name, placeholder, rows: 3, spellcheck: "false" }));

/** Where one is, if one likes to say so: whoever is nowhere is near nobody. */
function here(at) {
  const button = (title, listener) => el("button", { type: "button", click: listener }, title);
  const device = () => navigator.geolocation.getCurrentPosition(
    ({ coords }) => at.sayHere([coords.longitude, coords.latitude], coords.accuracy),
    (error) => say(byId("ask-problem"), error.message),
  );
  const hasDevice = globalThis.isSecureContext && "geolocation" in navigator && at.isEarth;
  return el("p", { class: "buttons" },
    button("I am in the middle of the map", () => at.sayHere(middle(at.map))),
    hasDevice && button("I am where this device is", device));
}
