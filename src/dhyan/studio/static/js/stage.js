/** A stage of the computation: heading, matrix equation, and one sum in a line. */

import { el, withSubscripts } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { message } from "./messages.js";
import { formula } from "./matrix.js";

const MAX_PRODUCTS = 4; // largest number of products in a line

/** A numbered card. @param {{number, title: string, rule?: string, text?: string}} about */
export function stage({ number, title, rule, text }, ...children) {
  return el("section", { class: "stage", "data-stage": number, "aria-labelledby": `stage-${number}` },
    el("header", {}, el("h2", { id: `stage-${number}` }, el("span", { class: "stage-number" }, String(number)), el("span", {}, ...withSubscripts(title))),
      rule && el("span", { class: "stage-formula" }, formula(rule))),
    text && el("p", { class: "muted" }, ...withSubscripts(text)), ...children);
}

/** Matrices and operators; an operator stays with the matrix after it. @param {...(Node | string)} parts */
export const equation = (...parts) => el("div", { class: "equation" }, ...parts.flatMap((part, index) => {
  if (typeof part === "string") return [];
  const before = parts[index - 1];
  return typeof before === "string" ? el("div", { class: "term" }, el("span", { class: "operator" }, before), part) : part;
}));

/** A weight matrix with its bias below. */
export const withBias = (upper, lower) => el("div", { class: "with-bias" }, upper,
  el("div", { class: "term" }, el("span", { class: "operator" }, "+"), lower));

/** Toggle button of a stage. */
export const switchButton = (key, label, on, onClick) => el("button", { type: "button", class: "switch", "data-switch": key,
  "aria-pressed": on, on: { click: onClick } }, ...withSubscripts(label));

/**
 * A sum of products in one line: 1 · 2 + 3 · 4 = 14; of a long one the first terms are shown, or the largest.
 * @param {string} name @param {number[][]} terms @param {string} result
 * @param {{plus?: number | null, format?: (value: number) => string, largest?: boolean}} [options] `plus` is added to the products
 */
export function sumLine(name, terms, result, { plus = null, format = formatShort, largest = false } = {}) {
  const shownTerms = terms.length <= MAX_PRODUCTS + 1 ? terms : largest ? largestTerms(terms) : terms.slice(0, MAX_PRODUCTS);
  const products = shownTerms.map((term, index) => term.map((factor, position) => bracketed(format(factor), index + position)).join(" · "));
  if (shownTerms.length < terms.length) products.push(`… (${message("qkv_terms", terms.length)})`);
  if (plus !== null) products.push(bracketed(format(plus), 1));
  return `${name} = ${products.join(" + ")} = ${result}`;
}

/** The largest products, in their order. @param {number[][]} terms */
function largestTerms(terms) {
  const size = (term) => Math.abs(term.reduce((product, factor) => product * factor, 1));
  const smallest = terms.map(size).sort((a, b) => b - a)[MAX_PRODUCTS - 1];
  return terms.filter((term) => size(term) >= smallest).slice(0, MAX_PRODUCTS);
}

const bracketed = (words, at) => (at && words.startsWith("−") ? `(${words})` : words);

/** A number with at most four decimals: one more than in a matrix, so that a sum adds up. */
export const formatShort = (value) => {
  const digits = [0, 1, 2].find((count) => Math.abs(Number(value.toFixed(count)) - value) < 1e-9) ?? 4;
  return formatNumber(value, digits);
};
