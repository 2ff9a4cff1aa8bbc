/** Widths of texts as they will be drawn. */

import { contextOf } from "./dom.js";

const FAMILY = "'Noto Sans Devanagari', system-ui, sans-serif";
const CHART_FONT = `13px ${FAMILY}`;

/** @type {CanvasRenderingContext2D | undefined} */
let context;

/** The measures of a text in a CSS font. @param {string} text @param {string} font */
export function textMetrics(text, font) {
  context ??= contextOf(document.createElement("canvas"));
  context.font = font;
  return context.measureText(text);
}

/** Width of a text in pixels, by default in the charts' font. @param {string} text */
export const textWidth = (text, font = CHART_FONT) => textMetrics(text, font).width;

/** The font of the page in a size, for SVG labels. @param {number} size in pixels */
export const fontOfSize = (size) => `${size}px ${FAMILY}`;

/** A text cut at the end of a character and marked with an ellipsis, where it is wider than it may be.
 * @param {string} text @param {number} maxWidth in pixels @param {string} font */
export function truncate(text, maxWidth, font) {
  if (textWidth(text, font) <= maxWidth) return text;
  const graphemes = [...new Intl.Segmenter("hi").segment(text)].map((part) => part.segment);
  while (graphemes.length && textWidth(`${graphemes.join("")}…`, font) > maxWidth) graphemes.pop();
  return `${graphemes.join("")}…`;
}
