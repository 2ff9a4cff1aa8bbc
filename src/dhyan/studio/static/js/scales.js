/** Scales between values and pixels, with their ticks: of one axis, and of a plane with the same unit in both directions. */

/**
 * @typedef {object} Axis
 * @property {string} title
 * @property {"linear" | "log" | "names"} [scale] "linear" by default
 * @property {string[]} [names] labels of the positions 0, 1, 2 … of a "names" scale, which has them
 * @property {number} [from] lower limit; the smallest value by default
 * @property {number} [to] upper limit; the largest value by default
 * @property {number} [base] of a logarithmic scale, default 10
 * @property {number[]} [ticks] tick positions; chosen by default
 * @property {(value: number) => string} [format] tick format
 *
 * @typedef {object} Scale
 * @property {(value: number) => number} at the pixel of a value
 * @property {number[]} ticks
 * @property {number} band width of one name in pixels; 0 if the scale has no names
 *
 * @typedef {{left: number, right: number, above: number, below: number}} Box edges in pixels
 * @typedef {[number, number]} Range
 */

/** Values from one limit to the other, evenly over the pixels. @param {Range} values @param {Range} pixels */
export function linearScale([from, to], [start, end]) {
  const unit = (end - start) / (to - from || 1);
  return { from, to, at: (/** @type {number} */ value) => start + (value - from) * unit,
    back: (/** @type {number} */ pixel) => from + (pixel - start) / unit };
}

/**
 * Scale of an axis between two pixel positions.
 * @param {Axis} axis @param {number[]} values all drawn values @param {Range} pixels
 * @param {number} spacing smallest distance of two ticks in pixels
 * @returns {Scale}
 */
export function axisScale(axis, values, [start, end], spacing) {
  if (axis.names) {
    const band = (end - start) / Math.max(axis.names.length, 1);
    return { at: (value) => start + (value + 0.5) * band, ticks: axis.names.map((_, index) => index), band };
  }
  const drawable = values.filter((value) => Number.isFinite(value) && (axis.scale !== "log" || value > 0));
  const maxTicks = Math.max(2, Math.floor(Math.abs(end - start) / spacing));
  const { from, to, ticks } = (axis.scale === "log" ? logarithmic : linear)(axis, drawable, maxTicks);
  const transform = axis.scale === "log" ? Math.log : (/** @type {number} */ value) => value;
  const { at } = linearScale([transform(from), transform(to)], [start, end]);
  const inside = (/** @type {number} */ value) => value >= from - 1e-9 * Math.abs(to) && value <= to + 1e-9 * Math.abs(to);
  return { at: (value) => at(transform(value)), ticks: (axis.ticks ?? ticks).filter(inside), band: 0 };
}

/**
 * The scales of a plane in which a unit is as long across as down, so that distances are true; what is shown
 * stands in the middle of the box.
 * @param {number[][]} points all drawn points
 * @param {Box} box
 * @param {{range?: {x: number[], y: number[]}, padding?: number, largestUnit?: number}} [options] `range` is shown instead of
 *   all points, `padding` is added on every side as a share of their extent, `largestUnit` in pixels
 */
export function planeScale(points, { left, right, above, below }, { range, padding = 0, largestUnit = Infinity } = {}) {
  const extent = (/** @type {number} */ axis) => {
    const values = points.map((point) => point[axis]);
    const [min, max] = [Math.min(...values), Math.max(...values)];
    const margin = (max - min || 1) * padding;
    return [min - margin, max + margin];
  };
  const [x, y] = [range?.x ?? extent(0), range?.y ?? extent(1)];
  const fitting = Math.min((right - left) / (x[1] - x[0]), (below - above) / (y[1] - y[0]), largestUnit);
  const unit = Number.isFinite(fitting) ? fitting : 1; // all points are one
  const inMiddle = (/** @type {number[]} */ [from, to], /** @type {number} */ pixels) => {
    const spare = (pixels / unit - (to - from)) / 2;
    return /** @type {Range} */ ([from - spare, to + spare]);
  };
  const across = linearScale(inMiddle(x, right - left), [left, right]);
  const down = linearScale(inMiddle(y, below - above), [below, above]);
  return { unit, x: across, y: down,
    place: (/** @type {number[]} */ [a, b]) => /** @type {Range} */ ([across.at(a), down.at(b)]),
    back: (/** @type {number[]} */ [a, b]) => /** @type {Range} */ ([across.back(a), down.back(b)]) };
}

/** The multiples of a step between two limits. @param {Range} limits @param {number} step */
export function multiples([from, to], step) {
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, index) => (first + index) * step);
}

/** The next of 1, 2, 5, 10, 20 … not below a step. @param {number} step */
export function niceStep(step) {
  const magnitude = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5].map((factor) => factor * magnitude).find((candidate) => candidate >= step * (1 - 1e-9)) ?? 10 * magnitude;
}

/** Decimals that the multiples of a nice step need. @param {number} step */
export const decimals = (step) => Math.max(0, -Math.floor(Math.log10(step) + 1e-9));

/** @param {Axis} axis @param {number[]} values @param {number} maxTicks */
function linear(axis, values, maxTicks) {
  const min = axis.from ?? (values.length ? Math.min(...values) : 0);
  let max = axis.to ?? (values.length ? Math.max(...values) : 1);
  if (max <= min) max = min + 1;
  const step = niceStep((max - min) / maxTicks);
  const from = axis.from ?? Math.floor(min / step) * step;
  const to = axis.to ?? Math.ceil(max / step) * step;
  return { from, to, ticks: multiples([from, to], step) };
}

/** @param {Axis} axis @param {number[]} values @param {number} maxTicks */
function logarithmic(axis, values, maxTicks) {
  const base = axis.base ?? 10;
  const power = (/** @type {number} */ value) => Math.log(value) / Math.log(base);
  const from = axis.from ?? base ** Math.floor(power(values.length ? Math.min(...values) : 1));
  let to = axis.to ?? base ** Math.ceil(power(values.length ? Math.max(...values) : base));
  if (to <= from) to = from * base;
  const [first, last] = [Math.ceil(power(from) - 1e-9), Math.floor(power(to) + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first + 1) / maxTicks));
  const ticks = [];
  for (let exponent = first; exponent <= last; exponent += every) ticks.push(base ** exponent);
  return { from, to, ticks };
}
