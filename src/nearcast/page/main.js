// The live map, from entry to sign-out: who looks, and with which token.

import "./trusted.js";
import { Api } from "./api.js";
import { byId, exactText, say, sentences, sleep, timeText } from "./dom.js";
import { Looking } from "./looking.js";
import * as session from "./session.js";

const TOKEN = /^[\x21-\x7e]+$/;
/** Seconds until the gateway is asked once more for what the page begins with: at first, and at the most. */
const SOON = 1;
const LATE = 8;
/** What the gateway answers to a token, or to a name to look as, with which the page cannot begin. */
const USELESS = new Set([400, 401, 403]);

let settings = null;
let looking = null;

async function begin() {
  session.takeFragment();
  settings = await loaded("settings.json");
  showState("off", "Not connected");
  const known = session.kept();
  if (known) open(known);
  else ask();
}

/** A file of the page, asked for until it comes. */
async function loaded(name) {
  for (let wait = SOON; ; wait = Math.min(LATE, wait * 2)) {
    try {
      const answer = await fetch(new URL(name, import.meta.url));
      if (answer.ok) return await answer.json();
    } catch {
      // No answer is none, and so is one that cannot be read.
    }
    showState("wait", `The gateway does not answer; again in ${wait} s`);
    await sleep(wait);
  }
}

/** Ask for a token, and say why if there is something to say. One that may still hold is there to be tried again. */
function ask(why = null, { token = "", as = "" } = {}) {
  say(byId("entry-problem"), why);
  byId("entry-token").value = token;
  byId("entry-as").value = as;
  const entry = byId("entry");
  if (!entry.open) entry.showModal();
  byId("entry-token").focus();
}

async function open({ token, as }) {
  close();
  say(byId("entry-problem"), null);
  if (!TOKEN.test(token)) {
    session.forget();
    return ask("This is not a token: it has letters, digits and signs, and no spaces.");
  }
  showState("wait", "Connecting…");
  const api = new Api(token, {
    as,
    onWait: (waiting) => looking?.api === api && looking.waits(waiting),
    onDenied: (refused) => denied(api, refused),
  });
  const mine = (looking = new Looking(api, settings, { onState: showState, onEntered: entered }));
  try {
    await mine.start();
  } catch (error) {
    if (api.signal.aborted || error.status === 401) return undefined;
    close();
    if (!USELESS.has(error.status)) return ask(error.message, { token, as });
    session.forget();
    ask(error.message);
  }
  return undefined;
}

function entered({ client, role }) {
  if (byId("entry").open) byId("entry").close();
  say(byId("whoami"), role === "client" ? client : `${client} (${role})`);
  byId("sign-out").hidden = false;
}

function close() {
  looking?.close();
  looking = null;
  showState("off", "Not connected");
  byId("whoami").hidden = byId("sign-out").hidden = true;
}

/** The token is not known, or not any more. */
function denied(api, refused) {
  if (looking?.api !== api) return;
  session.forget();
  close();
  ask(sentences(refused.message));
}

/** How it goes. A time beside it is not read out, since it may pass quickly. */
function showState(state, text, time = null) {
  byId("state").dataset.state = state;
  if (byId("state-text").textContent !== text) byId("state-text").textContent = text;
  const clock = byId("state-time");
  say(clock, time === null ? null : timeText(time));
  clock.title = time === null ? "" : exactText(time);
  // What is behind the dialog is dim, and not read out.
  say(byId("entry-state"), byId("entry").open && state === "wait" ? text : null);
}

byId("entry").addEventListener("cancel", (event) => event.preventDefault());
byId("entry-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const [token, as] = ["entry-token", "entry-as"].map((id) => byId(id).value.trim());
  if (!token) return ask("A token is needed.", { as });
  return open(session.keep(token, as));
});
byId("sign-out").addEventListener("click", () => {
  session.forget();
  close();
  ask();
});
addEventListener("hashchange", () => {
  const given = session.takeFragment();
  if (given && settings) open(given);
});

begin();
