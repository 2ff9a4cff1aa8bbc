/** Axes of charts and plots: grid lines and tick labels. */

import { svg } from "./dom.js";
import { textWidth } from "./text_width.js";

/** @typedef {import("./scales.js").Axis} Axis */
/** @typedef {import("./scales.js").Box} Box */
/**
 * @typedef {object} DrawnAxis
 * @property {Pick<import("./scales.js").Scale, "at" | "ticks"> & {band?: number}} scale
 * @property {(value: number) => string} format of its ticks
 * @property {number} [origin] a value whose line stands out
 */

export const ROW = 20; // line height of labels in pixels
const LABEL_GAP = 8; // pixels between an axis and its labels, and least space between two of them

/** Default number format: four significant digits, minus sign U+2212. @param {number} value */
export const formatPlain = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

/** The tick format of an axis. @param {Axis} axis @returns {(value: number) => string} */
export const tickFormat = (axis) =>
  axis.names ? (value) => axis.names?.[value] ?? "" : axis.format ?? formatPlain;

/** Grid lines and tick labels of both axes; an axis of names has no lines. @param {{x: DrawnAxis, y: DrawnAxis}} axes @param {Box} box */
export function axesGrid({ x, y }, { left, right, above, below }) {
  const every = tickInterval(x.scale.ticks.map((tick) => [x.scale.at(tick), textWidth(x.format(tick)) + LABEL_GAP]));
  const columns = x.scale.ticks.flatMap((tick, index) => [
    !x.scale.band && line(x, tick, { x1: x.scale.at(tick), x2: x.scale.at(tick), y1: above, y2: below }),
    index % every === 0 && svg("text", { x: x.scale.at(tick), y: below + ROW - 3, "text-anchor": "middle", class: "axis-tick" }, x.format(tick))]);
  const rows = y.scale.ticks.flatMap((tick) => [
    line(y, tick, { x1: left, x2: right, y1: y.scale.at(tick), y2: y.scale.at(tick) }),
    svg("text", { x: left - LABEL_GAP, y: y.scale.at(tick) + 4, "text-anchor": "end", class: "axis-tick" }, y.format(tick))]);
  return svg("g", { "aria-hidden": "true" }, ...columns, ...rows);
}

/** @param {DrawnAxis} axis @param {number} tick @param {Record<string, number>} ends */
const line = ({ origin }, tick, ends) => svg("line", { ...ends, class: Math.abs(tick - (origin ?? Infinity)) < 1e-9 ? "axis-line" : "axis-grid" });

/** The smallest interval at which labels, each a [centre, width], do not overlap. @param {[number, number][]} labels */
export function tickInterval(labels) {
  const fits = (/** @type {number} */ every) => labels.every(([middle, width], index) => index % every || index < every
    || middle - width / 2 >= labels[index - every][0] + labels[index - every][1] / 2);
  let every = 1;
  while (every < labels.length && !fits(every)) every++;
  return every;
}
