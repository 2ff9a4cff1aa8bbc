/** Whether the page and the model computed the same, within the rounding error of single precision. */

import { el } from "./dom.js";
import { message } from "./messages.js";
import { formatTiny } from "./numbers.js";

const TOLERANCE = 1e-5; // relative to the largest number

/** Whether a difference is within rounding error, and the text that says so. @param {number} difference @param {number} [largest] magnitude */
export function agreement(difference, largest = 1) {
  const matches = difference <= TOLERANCE * Math.max(1, largest);
  const key = difference === 0 ? "sum_exact" : matches ? "sum_agrees" : "sum_differs";
  return { matches, text: message(key, formatTiny(difference)) };
}

/** The agreement as a badge. @param {number} difference @param {number} [largest] magnitude */
export function agreementBadge(difference, largest) {
  const { matches, text } = agreement(difference, largest);
  return badge(matches, text);
}

/** A badge with a sign as well as a colour. @param {boolean} matches @param {string} text */
export const badge = (matches, text) => el("span", { class: `badge ${matches ? "match" : "mismatch"}` },
  el("span", { "aria-hidden": "true" }, matches ? "✓ " : "≠ "), text);
