/** The sum of products of every cell, for the arithmetic dialog. */

import { openSum, openVector } from "../../arithmetic.js";
import { sum } from "../../numbers.js";
import { message } from "../../messages.js";
import { formula } from "./formulas.js";

const VECTORS = new Set(["s", "Ws", "h", "Uh", "Wh", "sum", "tanh", "ah", "c", "tilde"]);
const SINGLE = new Set(["s", "Ws", "c", "tilde"]);
const OPERANDS = new Set(["s", "h", "visibility"]);

export const isVector = (row) => VECTORS.has(row);
/** Whether a row has one vector for the whole step instead of one per word. */
export const isSingle = (row) => SINGLE.has(row);

/** Name of a row in plain text, for titles and screen readers. */
export function rowName(row, { after }) {
  const s = after ? "sᵢ" : "sᵢ₋₁";
  return { s, Ws: `W ${s} + b`, h: "hⱼ", Uh: "U hⱼ", Wh: "W hⱼ", sum: `W ${s} + b + U hⱼ`, tanh: "tanh", e: "eᵢⱼ",
    visibility: "gᵢⱼ", exp: "exp(eᵢⱼ)", alpha: "αᵢⱼ", ah: "αᵢⱼ hⱼ", c: "cᵢ", tilde: "s̃ᵢ" }[row];
}

/**
 * Open the arithmetic of a cell: row, word (from 0), index in its vector (from 0).
 * @param {{operands: any, computed: any, words: string[], about: any}} step
 */
export function openCell(step, row, word = 0, index = 0) {
  const { computed: { page }, about } = step;
  const label = formula(row, about);
  const title = titleOf(step, row, word);
  if (OPERANDS.has(row)) {
    const values = row === "visibility" ? page.visibility : row === "s" ? page.s : page.h[word];
    return openVector({ title, text: message(`step_operand_${row}`), label, values, ariaLabel: title });
  }
  return openSum(sumOf(step, row, word, index));
}

const titleOf = ({ words, about }, row, word) => [rowName(row, about), isSingle(row) ? "" : words[word]].filter(Boolean).join(" · ");

/** @returns {import("../../arithmetic.js").Sum} */
function sumOf(step, row, word, index = 0) {
  const { computed: { page, model }, about } = step;
  const title = titleOf(step, row, word);
  const sumTerms = { ...SUMS[row](step, word, index), origin: (term, factor) => {
    const cell = ORIGINS[row]?.(step, word, index, term, factor);
    return cell ? sumOf(step, ...cell) : null;
  } };
  const values = isSingle(row) ? page[row] : page[row][word];
  const modelValues = isSingle(row) ? model[row] : model[row]?.[word];
  if (!isVector(row)) return { title, formula: formula(row, about), ...sumTerms, modelValue: modelValues };
  return {
    title: `${title} · ${message("step_number", index + 1, values.length)}`,
    formula: formula(row, about), ...sumTerms, modelValue: modelValues?.[index],
    vector: { label: rowName(row, about), values, ariaLabel: title, selected: index,
      onSelect: (next) => sumOf(step, row, word, next) },
  };
}

const pairs = (a, b) => a.map((value, index) => [value, b[index]]);
const biased = (layer, index) => (layer.bias ? [{ symbol: "b", value: layer.bias[index] }] : []);

const SUMS = {
  Ws: ({ operands, computed: { page }, about }, _, k) => ({ terms: pairs(operands.queryLayer.weight[k], page.s),
    symbols: ["W", rowName("s", about)], addends: biased(operands.queryLayer, k) }),
  Uh: ({ operands, computed: { page } }, j, k) => ({ terms: pairs(operands.keyLayer.weight[k], page.h[j]), symbols: ["U", "hⱼ"] }),
  Wh: ({ operands, computed: { page } }, j, k) => ({ terms: pairs(operands.keyLayer.weight[k], page.h[j]), symbols: ["W", "hⱼ"] }),
  sum: ({ computed: { page }, about }, j, k) => ({ terms: [[page.Ws[k]], [page.Uh[j][k]]], symbols: [""],
    termLabels: [rowName("Ws", about), "U hⱼ"] }),
  tanh: ({ computed: { page }, about }, j, k) => ({ terms: [[page.Ws[k]], [page.Uh[j][k]]], symbols: [""],
    termLabels: [rowName("Ws", about), "U hⱼ"], transform: { symbol: "tanh Σ", value: page.tanh[j][k] } }),
  e: (step, j) => SCORE[step.operands.score](step, j),
  exp: ({ computed: { page } }, j) => ({ terms: page.shift ? [[page.e[j]], [-page.shift]] : [[page.e[j]]], symbols: [""],
    termLabels: ["eᵢⱼ", "−max"], transform: { symbol: "exp Σ", value: page.exp[j] } }),
  alpha: ({ computed: { page }, words, about }, j) => ({ terms: page.exp.map((exponential) => [exponential]), symbols: ["exp(eᵢₖ)"],
    termLabels: words, total: sum(page.exp),
    transform: { symbol: `exp(eᵢⱼ) / Σ${about.window ? " · gᵢⱼ" : ""}`, value: page.alpha[j] } }),
  ah: ({ computed: { page } }, j, k) => ({ terms: [[page.alpha[j], page.h[j][k]]], symbols: ["αᵢⱼ", "hⱼ"] }),
  c: ({ computed: { page }, words }, _, k) => ({ terms: page.h.map((state, j) => [page.alpha[j], state[k]]),
    symbols: ["αᵢⱼ", "hⱼ"], termLabels: words }),
  tilde: ({ operands, computed: { page }, about }, _, k) => ({ terms: pairs(operands.combine.weight[k], [...page.c, ...page.s]),
    symbols: ["Wc", `[cᵢ; ${rowName("s", about)}]`], addends: biased(operands.combine, k),
    transform: { symbol: "tanh Σ", value: page.tilde[k] } }),
};

/** The cell that a factor of a sum is: its row, word and index; null for a weight or a state.
 * @type {Record<string, (step: any, j: number, k: number, term: number, factor: number) => [string, number, number?] | null>} */
const ORIGINS = {
  sum: (_, j, k, term) => [term ? "Uh" : "Ws", j, k],
  tanh: (_, j, k, term) => [term ? "Uh" : "Ws", j, k],
  e: ({ operands }, j, _, term, factor) => (factor === 0 || !["additive", "general"].includes(operands.score) ? null
    : [operands.score === "additive" ? "tanh" : "Wh", j, term]),
  exp: (_, j, __, term) => (term ? null : ["e", j]),
  alpha: (_, __, ___, term) => ["exp", term],
  ah: (_, j, __, ___, factor) => (factor ? null : ["alpha", j]),
  c: (_, __, ___, term, factor) => (factor ? null : ["alpha", term]),
  tilde: ({ computed: { page } }, _, __, term, factor) => (factor && term < page.c.length ? ["c", 0, term] : null),
};

const SCORE = {
  additive: ({ operands, computed: { page } }, j) => ({ terms: pairs(operands.energy, page.tanh[j]), symbols: ["v", "tanh"] }),
  dot: ({ computed: { page }, about }, j) => ({ terms: pairs(page.s, page.h[j]), symbols: [rowName("s", about), "hⱼ"] }),
  scaled_dot: ({ computed: { page }, about }, j) => ({ terms: pairs(page.s, page.h[j]), symbols: [rowName("s", about), "hⱼ"],
    transform: { symbol: `Σ / √${page.s.length}`, value: page.e[j] } }),
  general: ({ computed: { page }, about }, j) => ({ terms: pairs(page.s, page.Wh[j]), symbols: [rowName("s", about), "W hⱼ"] }),
  location: ({ operands, computed: { page }, about }, j) => ({ terms: pairs(operands.queryLayer.weight[j] ?? [], page.s),
    symbols: ["W", rowName("s", about)], ...(operands.queryLayer.weight[j] ? {} : { total: -Infinity }) }),
};
