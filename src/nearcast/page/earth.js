// Longitudes go around: the same meridian has many, a whole turn apart.

const TURN = 360;

/** The longitude of the same meridian that is nearest to another. */
export const unrolled = (x, near) => x + TURN * Math.round((near - x) / TURN);

/** The longitude of the same meridian from -180 to 180. */
export const wrapped = (x) => (Math.abs(x) <= TURN / 2 ? x : unrolled(x, 0));
