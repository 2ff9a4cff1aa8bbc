/** Axis scales and tick positions. */

/**
 * @typedef {object} Axis
 * @property {string} title
 * @property {"linear" | "log" | "names"} [scale] "linear" by default
 * @property {string[]} [names] labels of the positions 0, 1, 2 … of a "names" scale
 * @property {number} [from] lower limit; the smallest value by default
 * @property {number} [to] upper limit; the largest value by default
 * @property {number} [base] of a logarithmic scale, default 10
 * @property {number[]} [ticks] tick positions; chosen by default
 * @property {(value: number) => string} [format] tick format
 */

/** Default number format: four significant digits, minus sign U+2212. */
export const formatPlain = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

/** The tick format of an axis. @param {Axis} axis */
export const tickFormat = (axis) =>
  axis.scale === "names" ? (value) => axis.names[value] ?? "" : axis.format ?? formatPlain;

/**
 * Scale of an axis between two pixel positions: `at(value)`, `ticks`, and the width of one name.
 * @param {Axis} axis @param {number[]} values all drawn values @param {[number, number]} pixels
 * @param {number} spacing smallest distance of two ticks in pixels
 */
export function axisScale(axis, values, [start, end], spacing) {
  if (axis.scale === "names") {
    const band = (end - start) / Math.max(axis.names.length, 1);
    return { at: (value) => start + (value + 0.5) * band, ticks: axis.names.map((_, index) => index), band };
  }
  const drawable = values.filter((value) => Number.isFinite(value) && (axis.scale !== "log" || value > 0));
  const maxTicks = Math.max(2, Math.floor(Math.abs(end - start) / spacing));
  const { from, to, ticks } = (axis.scale === "log" ? logarithmic : linear)(axis, drawable, maxTicks);
  const transform = axis.scale === "log" ? Math.log : (value) => value;
  const [low, high] = [transform(from), transform(to)];
  const position = (value) => start + ((transform(value) - low) / (high - low || 1)) * (end - start);
  const inside = (value) => value >= from - 1e-9 * Math.abs(to) && value <= to + 1e-9 * Math.abs(to);
  return { at: position, ticks: (axis.ticks ?? ticks).filter(inside), band: 0 };
}

function linear(axis, values, maxTicks) {
  const min = axis.from ?? (values.length ? Math.min(...values) : 0);
  let max = axis.to ?? (values.length ? Math.max(...values) : 1);
  if (max <= min) max = min + 1;
  const step = niceStep((max - min) / maxTicks);
  const from = axis.from ?? Math.floor(min / step) * step;
  const to = axis.to ?? Math.ceil(max / step) * step;
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return { from, to, ticks: Array.from({ length: count }, (_, index) => (first + index) * step) };
}

function logarithmic(axis, values, maxTicks) {
  const base = axis.base ?? 10;
  const power = (value) => Math.log(value) / Math.log(base);
  const from = axis.from ?? base ** Math.floor(power(values.length ? Math.min(...values) : 1));
  let to = axis.to ?? base ** Math.ceil(power(values.length ? Math.max(...values) : base));
  if (to <= from) to = from * base;
  const [first, last] = [Math.ceil(power(from) - 1e-9), Math.floor(power(to) + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first + 1) / maxTicks));
  const ticks = [];
  for (let exponent = first; exponent <= last; exponent += every) ticks.push(base ** exponent);
  return { from, to, ticks };
}

/** The next of 1, 2, 5, 10, 20 … not below a step. */
function niceStep(step) {
  const magnitude = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate >= step * (1 - 1e-9));
}

let context2d = null;

/** Width of a text in the chart's font, in pixels. */
export function textWidth(text) {
  context2d ??= document.createElement("canvas").getContext("2d");
  context2d.font = "13px 'Noto Sans Devanagari', system-ui, sans-serif";
  return context2d.measureText(text).width;
}
