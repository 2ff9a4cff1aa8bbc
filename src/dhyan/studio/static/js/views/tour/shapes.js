/** Shapes of the tour's canvas: parts that light up, strips of numbers, bars, curves. */

import { signedColor, weightColor } from "../../colors.js";
import { svg } from "../../dom.js";
import { LABEL_FONT, labelWidth } from "../../heatmap_layout.js";
import { formatNumber } from "../../numbers.js";
import { truncate } from "../../text_width.js";
import { linkPath } from "../../tree_layout.js";

const CELL = 13; // width of a number in a strip
export const STRIP = 20; // height of a strip
const HALO = 5;

/**
 * A group that belongs to parts of the picture, by name; the prose lights it, and it lights the prose.
 * The first name is its own, the others are those of groups it belongs to.
 * @param {string[]} names @param {{x: number, y: number, width: number, height: number}} box @param {...(Node | null | false)} children
 */
export function part(names, { x, y, width, height }, ...children) {
  return svg("g", { class: "tour-part", "data-parts": names.join(" ") },
    svg("rect", { class: "tour-halo", x: x - HALO, y: y - HALO, width: width + 2 * HALO, height: height + 2 * HALO, rx: 6 }), ...children);
}

/** A text. @param {number} x @param {number} y of its baseline @param {string} content @param {Record<string, unknown>} [attributes] */
export const label = (x, y, content, { kind = "label", ...attributes } = {}) => svg("text", { x, y, class: `tour-${kind}`, ...attributes }, content);

/** A text cut to a width. @param {string} content @param {number} width */
export const fit = (content, width) => truncate(content, width, LABEL_FONT);

/** The first numbers of a vector as colours. @param {number} x @param {number} y @param {ArrayLike<number>} values @param {{count: number, limit: number, cell?: number}} options */
export function strip(x, y, values, { count, limit, cell = CELL }) {
  const drawn = Math.min(count, values.length);
  return svg("g", { class: "tour-strip" },
    ...Array.from({ length: drawn }, (_, index) => svg("rect", { x: x + index * cell, y, width: cell - 1, height: STRIP, fill: signedColor(values[index], limit) },
      svg("title", {}, formatNumber(values[index], 3)))),
    svg("rect", { class: "tour-outline", x: x - 1, y: y - 1, width: drawn * cell + 1, height: STRIP + 2, rx: 2 }),
    values.length > drawn && label(x + drawn * cell + 4, y + STRIP - 5, "…", { kind: "note" }));
}

/** The width of a strip. @param {number} count */
export const stripWidth = (count, cell = CELL) => count * cell + 20;

/** A bar from a zero line: to the right if positive, else to the left. */
export function signedBar(x, y, value, largest, half) {
  const length = (Math.abs(value) / (largest || 1)) * half;
  return svg("g", {}, svg("line", { class: "tour-zero", x1: x + half, x2: x + half, y1: y - 3, y2: y + STRIP + 3 }),
    svg("rect", { x: value < 0 ? x + half - length : x + half, y, width: Math.max(length, 1), height: STRIP, rx: 2, fill: signedColor(value, largest) }));
}

/** A bar of a share from 0 to 1. */
export const shareBar = (x, y, value, length) => svg("g", {},
  svg("rect", { class: "tour-track", x, y, width: length, height: STRIP, rx: 2 }),
  svg("rect", { x, y, width: Math.max(value * length, 1), height: STRIP, rx: 2, fill: weightColor(0.35 + 0.65 * value) }));

/** A curve between two points; its width shows a weight. */
export function curve(x1, y1, x2, y2, { weight = 0.1 } = {}) {
  return svg("path", { class: "tour-link", d: linkPath(x1, y1, x2, y2),
    "stroke-width": (1 + 9 * weight).toFixed(2), "stroke-opacity": (0.25 + 0.65 * weight).toFixed(2) });
}

/** A straight arrow. */
export function arrow(x1, y1, x2, y2) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - 8 * dx, y2 - 8 * dy];
  return svg("path", { class: "tour-arrow", d: `M${x1} ${y1} L${x2} ${y2} M${bx - 4 * dy} ${by + 4 * dx} L${x2} ${y2} L${bx + 4 * dy} ${by - 4 * dx}` });
}

/** Words in lines of a width: each with its place. @param {{text: string}[]} words */
export function flow(words, x, y, width, { gap = 12, line = 38 } = {}) {
  let [at, top] = [x, y];
  return words.map((word) => {
    const own = labelWidth(word.text) * 1.2 + 10;
    if (at > x && at + own > x + width) [at, top] = [x, top + line];
    const place = { x: at, y: top, width: own, height: 30 };
    at += own + gap - 6;
    return place;
  });
}
