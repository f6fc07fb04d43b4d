// A notification in words, and what it says of where things were.

const MICROS = 1000;

const VERBS = { enter: "entered", leave: "left", snapshot: "is in", reading: "reads", update: "changed in" };
const REASONS = {
  moved: "somebody moved",
  published: "it was published",
  subscribed: "you subscribed",
  edited: "a publication or subscription was changed",
  attributes: "somebody changed what they are like",
  defined: "a space, place, layer or relation was defined, changed or removed",
  retracted: "it was taken back",
  expired: "its time was over",
  gone: "its publisher was forgotten, or has been silent for too long",
  unmatched: "its publisher does not want you to know any more",
  while: "your WHILE turned",
  source: "another one was chosen",
  dwell: "it had held for long enough",
  cooldown: "the pause after the last enter was over",
  time: "time passed",
  emitted: "it emitted a reading",
};

export const kindOf = (event) => event.type.replace(/^nearcast\./, "");
export const millisOf = (event) => Date.parse(event.time);

export function reasonText({ reason, cause }) {
  if (reason === "moved" && cause?.kind === "fix") return `${cause.entity} moved`;
  return REASONS[reason] ?? reason;
}

/** Who did it, what, and where: three pieces of text. */
export function sentence({ kind, publisher, publication, subscription, region, peer, values }) {
  const verb = VERBS[kind] ?? kind;
  if (peer) return [`${publisher} and ${peer}`, kind === "leave" ? "parted" : "met", subscription];
  if (kind === "reading") return [publisher ?? publication, verb, Object.values(values ?? {}).join(", ")];
  if (!publisher) return [region ?? publication, verb, subscription];
  return [publisher, verb, region ?? subscription];
}

/** The fixes that a notification shows: of the publisher, and of oneself. */
export function fixesOf({ publisher, subscriber, why }) {
  const fixes = why?.fixes ?? {};
  return [[publisher, fixes["&"]], [subscriber, fixes["#"]]]
    .filter(([name, fix]) => name && fix)
    .map(([name, fix]) => ({ name, x: fix.x, y: fix.y, place: fix.place, time: fix.time / MICROS }));
}
