// Elements, and words for numbers and times. Text is always text: nothing here reads a string as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; a function is a listener, and what is null or false is left out. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** An icon of the sprite in the page. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** Show a text, or hide the element if there is none. */
export function say(element, text) {
  element.textContent = text ?? "";
  element.hidden = !text;
}

/** Put children in order. Those that are there already stay, and with them whoever is on one with the keyboard. */
export function arrange(parent, children) {
  const wanted = new Set(children);
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  children.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus();
}

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
export const darkMode = matchMedia("(prefers-color-scheme: dark)");

/** A colour of the style sheet, for what is drawn on a canvas. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The page's font, for the same. */
export const font = (size, weight = 400) => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

// ---- words -------------------------------------------------------------------------------------

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const exact = new Intl.DateTimeFormat(undefined, {
  weekday: "long", day: "numeric", month: "long", year: "numeric",
  hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "longOffset",
});
const DAY = 86_400_000;

/** A time of day, with the day if it is another one. */
export function timeText(millis) {
  if (!Number.isFinite(millis)) return "";
  const is = new Date(millis);
  const other = Math.abs(Date.now() - millis) > DAY / 2 && is.toDateString() !== new Date().toDateString();
  return other ? `${day.format(is)} ${is.getFullYear()}, ${clock.format(is)}` : clock.format(is);
}

/** The same with its date, and how far from UTC it is. */
export const exactText = (millis) => (Number.isFinite(millis) ? exact.format(millis) : "");

/** A time that says exactly which it is to whoever points at it. */
export function timeElement(millis) {
  if (!Number.isFinite(millis)) return el("time");
  return el("time", { datetime: new Date(millis).toISOString(), title: exactText(millis) }, timeText(millis));
}

/** How long ago, roughly. */
export function agoText(millis, now = Date.now()) {
  const seconds = Math.max(0, (now - millis) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}

/** Metres, as precise as one can imagine. */
export function metresText(metres) {
  if (metres >= 10_000) return `${Math.round(metres / 1000)} km`;
  if (metres >= 1000) return `${(metres / 1000).toFixed(1)} km`;
  return `${metres >= 10 ? Math.round(metres) : Number(metres.toFixed(1))} m`;
}

/** What a gateway says, as sentences. */
export const sentences = (...said) =>
  said.map((text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/[^.?!]$/, "$&.")).join(" ");

export const countText = (count, one, many = `${one}s`) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

// ---- time --------------------------------------------------------------------------------------

/** A pause, which a signal ends before its time. Nothing of it is left on the signal, which may be of the whole page. */
export const sleep = (seconds, signal) =>
  new Promise((done) => {
    if (signal?.aborted) return done();
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      done();
    };
    const timer = setTimeout(wake, seconds * 1000);
    signal?.addEventListener("abort", wake);
  });

/** Do something now and then until the signal, but not while nobody looks. The next pause begins when it is done, so that
 * what waits for a gateway does not pile up. What goes wrong is tried again. */
export async function repeat(seconds, something, signal) {
  while (!signal.aborted) {
    await sleep(seconds, signal);
    if (document.hidden || signal.aborted) continue;
    try {
      await something();
    } catch {
      // It is said where somebody waits for an answer. Nobody waits for this one.
    }
  }
}

/** The same, once at a time: whoever wants it while it is under way gets what is found out after that, together with
 * all others who do. So a late answer is never one to an early question. */
export function oneAtATime(something) {
  let [last, next] = [Promise.resolve(), null];
  const begin = () => {
    next = null;
    const done = something();
    last = done.catch(() => {});
    return done;
  };
  return () => (next ??= last.then(begin));
}

/** Of things that take a while, only the last is wanted: a signal for each, which ends the one before. */
export class Latest {
  #over = new AbortController();

  next() {
    this.end();
    this.#over = new AbortController();
    return this.#over.signal;
  }

  end() {
    this.#over.abort();
  }
}
