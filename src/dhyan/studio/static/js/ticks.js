/** From numbers to places on a line, and which of them are written beside it. */

/**
 * @typedef {object} Axis
 * @property {string} title
 * @property {"linear" | "log" | "names"} [scale] "linear" unless said
 * @property {string[]} [names] of the places 0, 1, 2 … of a scale of names
 * @property {number} [from] the first number shown; else the least there is
 * @property {number} [to] the last number shown; else the largest there is
 * @property {number} [base] of a logarithmic scale; 10 unless said
 * @property {number[]} [ticks] where the axis is written; else chosen
 * @property {(value: number) => string} [written] how a number is written
 */

/** How a number is written where nothing else is asked for: four digits, a true minus. */
export const plainly = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

/** How an axis writes a number. @param {Axis} axis */
export const writer = (axis) =>
  axis.scale === "names" ? (value) => axis.names[value] ?? "" : axis.written ?? plainly;

/**
 * The places of an axis between two pixels: `at(value)`, `ticks`, and the width of one name.
 * @param {Axis} axis @param {number[]} values all that is drawn @param {[number, number]} pixels
 * @param {number} apart the fewest pixels between two ticks
 */
export function placed(axis, values, [start, end], apart) {
  if (axis.scale === "names") {
    const band = (end - start) / Math.max(axis.names.length, 1);
    return { at: (value) => start + (value + 0.5) * band, ticks: axis.names.map((_, index) => index), band };
  }
  const fit = values.filter((value) => Number.isFinite(value) && (axis.scale !== "log" || value > 0));
  const most = Math.max(2, Math.floor(Math.abs(end - start) / apart));
  const { from, to, ticks } = (axis.scale === "log" ? logarithmic : linear)(axis, fit, most);
  const grown = axis.scale === "log" ? Math.log : (value) => value;
  const [low, high] = [grown(from), grown(to)];
  const at = (value) => start + ((grown(value) - low) / (high - low || 1)) * (end - start);
  const inside = (value) => value >= from - 1e-9 * Math.abs(to) && value <= to + 1e-9 * Math.abs(to);
  return { at, ticks: (axis.ticks ?? ticks).filter(inside), band: 0 };
}

function linear(axis, values, most) {
  const least = axis.from ?? (values.length ? Math.min(...values) : 0);
  let largest = axis.to ?? (values.length ? Math.max(...values) : 1);
  if (largest <= least) largest = least + 1;
  const step = nice((largest - least) / most);
  const from = axis.from ?? Math.floor(least / step) * step;
  const to = axis.to ?? Math.ceil(largest / step) * step;
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return { from, to, ticks: Array.from({ length: count }, (_, at) => (first + at) * step) };
}

function logarithmic(axis, values, most) {
  const base = axis.base ?? 10;
  const power = (value) => Math.log(value) / Math.log(base);
  const from = axis.from ?? base ** Math.floor(power(values.length ? Math.min(...values) : 1));
  let to = axis.to ?? base ** Math.ceil(power(values.length ? Math.max(...values) : base));
  if (to <= from) to = from * base;
  const [first, last] = [Math.ceil(power(from) - 1e-9), Math.floor(power(to) + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first + 1) / most));
  const ticks = [];
  for (let exponent = first; exponent <= last; exponent += every) ticks.push(base ** exponent);
  return { from, to, ticks };
}

/** The next of 1, 2, 5, 10, 20 … that is not smaller. */
function nice(step) {
  const tens = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((times) => times * tens).find((one) => one >= step * (1 - 1e-9));
}

let pen = null;

/** How wide words are in the chart's letters, in pixels. */
export function wide(words) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = "13px 'Noto Sans Devanagari', system-ui, sans-serif";
  return pen.measureText(words).width;
}
