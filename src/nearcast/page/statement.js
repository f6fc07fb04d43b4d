// Statements of the language: written from what is drawn and chosen, and read back only for the shapes in them.

const TEXT = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`/g;
const NUMBER = /[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi;
/** Of a polygon with several parts, one of them: a ring and its holes. */
const PART = /\((?:\s*\([^()]*\)\s*,?)+\s*\)/g;
const METRES = { m: 1, km: 1000, ft: 0.3048, yd: 0.9144, mi: 1609.344, nmi: 1852 };

export const quoted = (text) =>
  `'${text.replace(/['\\]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t")}'`;

export const number = (value, digits = 6) => String(Number(value.toFixed(digits)));

const pair = ([x, y]) => `${number(x)} ${number(y)}`;

export const point = (at) => `POINT(${pair(at)})`;
export const disc = (centre, radius) => `DISC(${pair(centre)}, ${number(radius, 1)} m)`;
export const box = ([west, south, east, north]) => `BOX(${pair([west, south])}, ${pair([east, north])})`;

/** One of a ring, or of several that are apart. */
export function polygon(rings) {
  const parts = rings.map((ring) => `((${[...ring, ring[0]].map(pair).join(", ")}))`);
  return parts.length === 1 ? `POLYGON${parts[0]}` : `MULTIPOLYGON(${parts.join(", ")})`;
}

export const onFloor = (shape, floor) => (floor === null ? shape : `${shape} FLOOR ${number(floor)}`);

/** A subscription to whoever is in a shape. */
export function inside(shape, { where = "", dwell = 0 } = {}) {
  const further = where.trim() ? ` AND (${where.trim()})` : "";
  return `SELECT WHERE &location IN ${shape}${further}${dwell > 0 ? ` DWELL ${number(dwell, 3)} s` : ""}`;
}

// ---- reading -----------------------------------------------------------------------------------

/** The shapes that a statement names, with the range of floors of each; what is inside quotes is none. */
export function shapesIn(text) {
  const bare = bareOf(text);
  const shapes = [];
  for (const found of bare.matchAll(/\b(POINT|DISC|BOX|POLYGON|MULTIPOLYGON)\s*\(/gi)) {
    const start = found.index + found[0].length;
    const end = closing(bare, start);
    if (end < 0) continue;
    const shape = shapeOf(found[1].toUpperCase(), bare.slice(start, end));
    if (shape) shapes.push({ ...shape, floor: floorAfter(bare.slice(end + 1)) });
  }
  return shapes;
}

const bareOf = (text) => text.replace(TEXT, (found) => " ".repeat(found.length));

/** Whether what a statement matches is not only a matter of now. */
export const hangsOnThePast = (text) => /\b(?:DWELL|HYSTERESIS)\b/i.test(bareOf(text));

function closing(text, from) {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")" && --depth === 0) return at;
  }
  return -1;
}

const numbers = (text) => (text.match(NUMBER) ?? []).map(Number);

function pairs(text) {
  const all = numbers(text);
  return Array.from({ length: all.length >> 1 }, (_, at) => [all[2 * at], all[2 * at + 1]]);
}

function shapeOf(kind, inner) {
  const all = numbers(inner);
  if (kind === "POINT" && all.length >= 2) return { kind: "point", centre: [all[0], all[1]] };
  if (kind === "DISC" && all.length >= 3) {
    const unit = inner.trim().match(/[a-z]+$/i)?.[0].toLowerCase() ?? "m";
    return { kind: "disc", centre: [all[0], all[1]], radius: all[2] * (METRES[unit] ?? 1) };
  }
  if (kind === "BOX" && all.length >= 4) {
    const [west, south, east, north] = all;
    const right = east < west ? east + 360 : east;
    return { kind: "polygon", parts: [[[[west, south], [right, south], [right, north], [west, north]]]] };
  }
  const texts = kind === "MULTIPOLYGON" ? [...inner.matchAll(PART)].map(([found]) => found) : [inner];
  const parts = texts.map((text) => [...text.matchAll(/\(([^()]*)\)/g)].map((found) => pairs(found[1])));
  return parts.every((rings) => rings.length > 0) ? { kind: "polygon", parts } : null;
}

function floorAfter(text) {
  const found = text.match(/^\s*(?:ALTITUDE\s*[[(][^\])]*[\])]\s*)?FLOOR\s*(?:[[(]([^\])]*)[\])]|(-?[\d.]+))/i);
  if (!found) return null;
  if (found[2] !== undefined) return [Number(found[2]), Number(found[2])];
  const [low, high] = found[1].split(",").map((end) => (end.trim() === "" ? null : Number(end)));
  return [low ?? null, high ?? null];
}
