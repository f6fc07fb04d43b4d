// The panel: tabs that arrow keys go through, and on a small screen a sheet that folds.

import { byId } from "./dom.js";

const tabs = [...document.querySelectorAll('[role="tab"]')];
const listeners = new Set();

/** Hear which tab is chosen, by the id of its panel. */
export function onTab(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}

export const chosen = () => tabs.find((tab) => tab.getAttribute("aria-selected") === "true").getAttribute("aria-controls");

export function choose(panel, { focus = false } = {}) {
  for (const tab of tabs) {
    const isIt = tab.getAttribute("aria-controls") === panel;
    tab.setAttribute("aria-selected", String(isIt));
    tab.tabIndex = isIt ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !isIt;
    if (isIt && focus) tab.focus();
  }
  unfold(true);
  for (const listener of listeners) listener(panel);
}

export function unfold(isOpen) {
  byId("sheet").setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle("folded", !isOpen);
}

for (const tab of tabs) tab.addEventListener("click", () => choose(tab.getAttribute("aria-controls")));

document.querySelector('[role="tablist"]').addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  const at = tabs.indexOf(event.target.closest('[role="tab"]'));
  if (!step || at < 0) return;
  event.preventDefault();
  const to = Number.isFinite(step) ? (at + step + tabs.length) % tabs.length : step < 0 ? 0 : tabs.length - 1;
  choose(tabs[to].getAttribute("aria-controls"), { focus: true });
});

byId("sheet").addEventListener("click", () => unfold(byId("sheet").getAttribute("aria-expanded") !== "true"));
