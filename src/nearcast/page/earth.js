// Longitudes go around: the same meridian has many, a whole turn apart.

export const TURN = 360;
const SEAM = TURN / 2;

/** The longitude of the same meridian that is nearest to another. */
export const unrolled = (x, near) => x + TURN * Math.round((near - x) / TURN);

/** The longitude of the same meridian from -180 to 180. */
export const wrapped = (x) => (Math.abs(x) <= SEAM ? x : unrolled(x, 0));

/** A ring whose longitudes go on over 180°, as rings that do not: cut there, and each from -180 to 180. */
export function cut(ring) {
  const xs = ring.map(([x]) => x);
  const first = Math.floor((Math.min(...xs) + SEAM) / TURN);
  const last = Math.max(first, Math.ceil((Math.max(...xs) - SEAM) / TURN));
  return Array.from({ length: last - first + 1 }, (_, at) => {
    const around = (first + at) * TURN;
    const part = clipped(ring, (x) => x - (around - SEAM));
    return clipped(part, (x) => around + SEAM - x).map(([x, y]) => [x - around, y]);
  });
}

/** What of a ring is where a distance from a meridian is not negative, after Sutherland and Hodgman. */
function clipped(ring, distance) {
  return ring.flatMap((corner, at) => {
    const before = ring.at(at - 1);
    const [from, to] = [distance(before[0]), distance(corner[0])];
    const kept = to >= 0 ? [corner] : [];
    if (from * to >= 0) return kept;
    const part = from / (from - to);
    return [before.map((start, axis) => start + (corner[axis] - start) * part), ...kept];
  });
}

/** The parts of a shape, each a ring and its holes, so many degrees further east. */
export const eastward = (parts, by) => parts.map((rings) => rings.map((ring) => ring.map(([x, y]) => [x + by, y])));

/** The parts of a shape that were cut at 180°: there they are beside each other again. */
export function joined(parts) {
  const touches = ([ring], seam) => ring.some(([x]) => x === seam);
  if (parts.some((part) => touches(part, SEAM) && touches(part, -SEAM))) return parts;
  if (!parts.some((part) => touches(part, SEAM))) return parts;
  return parts.map((part) => (touches(part, -SEAM) ? eastward([part], TURN)[0] : part));
}
