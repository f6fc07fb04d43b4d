// Why something was told, or was not: what was measured then, and how it stands now.

import { path } from "./api.js";
import { agoText, byId, el, metresText, timeElement } from "./dom.js";
import { kindOf, millisOf, reasonText, sentence } from "./told.js";

const SUBSCRIPTIONS = 12;
const PAIRS = 5;

export class Explainer {
  #api;
  #zones;

  /** `zones` knows one's subscriptions. */
  constructor(api, zones) {
    this.#api = api;
    this.#zones = zones;
    const dialog = byId("why");
    const { signal } = api;
    byId("why-close").addEventListener("click", () => dialog.close(), { signal });
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(), { signal });
    signal.addEventListener("abort", () => dialog.close());
  }

  /** Why an event was told. */
  async event(event) {
    const told = event.data;
    const body = this.#open(sentence(told).join(" "));
    body.append(facts([
      ["When", timeElement(millisOf(event))],
      ["What", kindOf(event)],
      ["Because", reasonText(told)],
      ["Subscription", told.subscription],
      ["Publication", told.publication],
      ["Region", told.region],
      ["Content", told.content === null || told.content === undefined ? null : JSON.stringify(told.content)],
      ["Caused by", causeOf(told.cause)],
    ]));
    const text = this.#zones.textOf(told.subscription);
    if (text) body.append(el("p", { class: "statement" }, el("code", {}, text)));
    await this.#filled(body, async () => {
      const now = await this.#now(told.subscription, told);
      return conditions(now?.conditions ?? [], told, now);
    });
  }

  /** How someone stands to each of one's subscriptions. */
  async client(mover, { onFollow, isFollowed }) {
    const body = this.#open(mover.name);
    const follow = el("button", { type: "button", "aria-pressed": String(isFollowed) }, isFollowed ? "Stop following" : "Follow on the map");
    follow.addEventListener("click", () => (onFollow(), byId("why").close()));
    body.append(
      facts([
        ["Seen", Number.isFinite(mover.time) ? [timeElement(mover.time), ` (${agoText(mover.time)})`] : null],
        ["Where", mover.place ?? (mover.at ? `${mover.at[1].toFixed(5)}, ${mover.at[0].toFixed(5)}` : null)],
        ["Floor", mover.floor],
        ["Accuracy", mover.accuracy === null ? null : metresText(mover.accuracy)],
        ["Publishes", mover.publications.join(", ")],
      ]),
      el("p", { class: "buttons" }, follow),
      el("h3", {}, "Your subscriptions"),
    );
    await this.#filled(body, async () => {
      const some = this.#zones.all.slice(0, SUBSCRIPTIONS);
      const answers = await Promise.all(some.map(({ id }) => this.#api.get(path`explain/${id}`, { publisher: mover.name })));
      const found = answers.flatMap((answer) => answer.explanations.slice(0, PAIRS));
      if (found.length === 0) return el("p", { class: "empty" }, "None that could match.");
      return el("div", {}, found.map((one) => standing(one)));
    });
  }

  /** How everything stands to one subscription. */
  async subscription(id) {
    const body = this.#open(id);
    body.append(el("p", { class: "statement" }, el("code", {}, this.#zones.textOf(id) ?? "")));
    await this.#filled(body, async () => {
      const { explanations, more } = await this.#api.get(path`explain/${id}`);
      if (explanations.length === 0) return el("p", { class: "empty" }, "There is nothing yet that could match.");
      const rest = more || explanations.length > 30 ? el("p", { class: "empty" }, "And more.") : null;
      return el("div", {}, explanations.slice(0, 30).map((one) => standing(one, true)), rest);
    });
  }

  #open(title) {
    byId("why-title").textContent = title;
    const body = byId("why-body");
    body.replaceChildren();
    const dialog = byId("why");
    if (!dialog.open) dialog.showModal();
    return body;
  }

  /** What takes a while to be known. */
  async #filled(body, make) {
    const waiting = el("p", { class: "empty", role: "status" }, "Asking…");
    body.append(waiting);
    try {
      waiting.replaceWith(await make());
    } catch (error) {
      waiting.textContent = this.#api.signal.aborted ? "" : error.message;
    }
  }

  /** How the pair of a notification stands now. */
  async #now(subscription, { publisher, publication, region, peer }) {
    const meant = { publisher, publication, region, peer };
    const { explanations } = await this.#api.get(path`explain/${subscription}`, meant);
    const isSame = (one) => Object.entries(meant).every(([name, value]) => (one[name] ?? null) === (value ?? null));
    return explanations.find(isSame) ?? null;
  }
}

function facts(rows) {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", {}, known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function causeOf(cause) {
  if (!cause || cause.kind === "hidden") return null;
  if (cause.kind === "fix") return [`a fix of ${cause.entity} at `, timeElement(cause.number / 1000)];
  if (cause.kind === "timer") return ["a timer at ", timeElement(cause.number / 1000)];
  return cause.entity ? `a change of ${cause.entity}` : null;
}

/** A table of the conditions: what was found when it was told, and what is so now. */
function conditions(now, told, pair) {
  const own = now.filter(({ clause }) => clause === "WHERE");
  const then = told.why?.where ?? impliedBy(told, own.length);
  const rows = own.map((condition, at) => row(`${condition.text}`, then[at], condition));
  const others = now.filter(({ clause }) => clause !== "WHERE").map((c) => row(`${c.clause} ${c.text}`, undefined, c));
  if (own.length === 0) rows.push(...then.map((found, at) => row(`condition ${at + 1}`, found, undefined)));
  const summary = pair ? `Now: ${pair.summary}.` : "Now: there is no such pair any more, or you may not know of it.";
  return el("div", {}, el("p", { class: "now" }, summary), table([...rows, ...others]));
}

/** What a notification without measures says all the same: if there was but one condition, it held, or held no more. */
function impliedBy({ kind, reason }, count) {
  if (count !== 1) return [];
  if (kind === "enter" || kind === "snapshot") return [{ holds: true }];
  return kind === "leave" && reason === "moved" ? [{ holds: false }] : [];
}

function table(rows) {
  if (rows.length === 0) return "";
  const head = el("tr", {}, ["Condition", "Then", "Now"].map((name) => el("th", { scope: "col" }, name)));
  return el("table", {}, el("thead", {}, head), el("tbody", {}, rows));
}

const row = (text, then, now) =>
  el("tr", {}, el("th", { scope: "row" }, el("code", {}, text)), cell(then), cell(now));

function cell(found) {
  if (!found) return el("td", {}, "–");
  const [mark, word, kind] = found.holds === true ? ["✓", "holds", "yes"] : found.holds === false ? ["✗", "fails", "no"] : ["?", "unknown", "unknown"];
  const { depth } = found;
  const far = depth === null || depth === undefined ? "" : depth < 0 ? `${metresText(-depth)} outside` : `${metresText(depth)} inside`;
  return el("td", { class: kind }, el("b", {}, `${mark} ${word}`), far && el("small", {}, far));
}

/** One pair, as things stand. */
function standing(one, isNamed = false) {
  const who = [one.publisher, one.publication, one.region, one.peer].filter(Boolean).join(" · ");
  const title = isNamed ? who : [one.subscription, one.region].filter(Boolean).join(" · ");
  const rows = one.conditions.map((c) =>
    el("tr", {}, el("th", { scope: "row" }, el("code", {}, c.clause === "WHERE" ? c.text : `${c.clause} ${c.text}`)), cell(c)));
  return el("details", { class: one.told ? "told" : null, open: one.told },
    el("summary", {}, el("b", {}, title), ` ${one.summary}`),
    rows.length > 0 && el("table", {}, el("tbody", {}, rows)));
}
