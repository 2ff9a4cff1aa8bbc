/** What stands behind every cell of a step: its sum of products, ready for the dialog. */

import { openSum, openVector } from "../../arithmetic.js";
import { sum } from "../../numbers.js";
import { message } from "../../messages.js";
import { formula } from "./formulas.js";

const VECTORS = new Set(["s", "Ws", "h", "Uh", "Wh", "sum", "tanh", "ah", "c", "tilde"]);
const SINGLE = new Set(["s", "Ws", "c", "tilde"]);
const OPERANDS = new Set(["s", "h", "seen"]);

export const isVector = (row) => VECTORS.has(row);
/** Whether a row is one vector for the whole step, not one for every word. */
export const isSingle = (row) => SINGLE.has(row);

/** A row as plain letters, for titles and for those who hear the page. */
export function named(row, { after }) {
  const s = after ? "sᵢ" : "sᵢ₋₁";
  return { s, Ws: `W ${s} + b`, h: "hⱼ", Uh: "U hⱼ", Wh: "W hⱼ", sum: `W ${s} + b + U hⱼ`, tanh: "tanh", e: "eᵢⱼ",
    seen: "gᵢⱼ", exp: "exp(eᵢⱼ)", alpha: "αᵢⱼ", ah: "αᵢⱼ hⱼ", c: "cᵢ", tilde: "s̃ᵢ" }[row];
}

/**
 * Open the arithmetic of a cell: of a row, for a word (from 0), at a place of its vector (from 0).
 * @param {{found: any, done: any, words: string[], about: any}} step
 */
export function openCell(step, row, word = 0, place = 0) {
  const { done: { here }, words, about } = step;
  const label = formula(row, about);
  const whose = isSingle(row) ? "" : words[word];
  const title = [named(row, about), whose].filter(Boolean).join(" · ");
  if (OPERANDS.has(row)) {
    const values = row === "seen" ? here.seen : row === "s" ? here.s : here.h[word];
    return openVector({ title, words: message(`step_operand_${row}`), label, values, about: title });
  }
  return openSum(sumOf(step, row, word, place, title));
}

function sumOf(step, row, word, place, title) {
  const { done: { here, model }, about } = step;
  const own = BEHIND[row](step, word, place);
  const values = isSingle(row) ? here[row] : here[row][word];
  const theirs = isSingle(row) ? model[row] : model[row]?.[word];
  if (!isVector(row)) return { title, formula: formula(row, about), ...own, model: theirs };
  return {
    title: `${title} · ${message("step_number", place + 1, values.length)}`,
    formula: formula(row, about), ...own, model: theirs?.[place],
    vector: { label: named(row, about), values, about: title, at: place,
      choose: (next) => sumOf(step, row, word, next, title) },
  };
}

const pairs = (a, b) => a.map((one, at) => [one, b[at]]);
const biased = (layer, place) => (layer.bias ? [{ symbol: "b", value: layer.bias[place] }] : []);

const BEHIND = {
  Ws: ({ found, done: { here }, about }, _, k) => ({ terms: pairs(found.queryLayer.weight[k], here.s),
    symbols: ["W", named("s", about)], plus: biased(found.queryLayer, k) }),
  Uh: ({ found, done: { here } }, j, k) => ({ terms: pairs(found.keyLayer.weight[k], here.h[j]), symbols: ["U", "hⱼ"] }),
  Wh: ({ found, done: { here } }, j, k) => ({ terms: pairs(found.keyLayer.weight[k], here.h[j]), symbols: ["W", "hⱼ"] }),
  sum: ({ done: { here }, about }, j, k) => ({ terms: [[here.Ws[k]], [here.Uh[j][k]]], symbols: [""],
    names: [named("Ws", about), "U hⱼ"] }),
  tanh: ({ done: { here }, about }, j, k) => ({ terms: [[here.Ws[k]], [here.Uh[j][k]]], symbols: [""],
    names: [named("Ws", about), "U hⱼ"], then: { symbol: "tanh Σ", value: here.tanh[j][k] } }),
  e: (step, j) => SCORE[step.found.score](step, j),
  exp: ({ done: { here } }, j) => ({ terms: here.shift ? [[here.e[j]], [-here.shift]] : [[here.e[j]]], symbols: [""],
    names: ["eᵢⱼ", "−max"], then: { symbol: "exp Σ", value: here.exp[j] } }),
  alpha: ({ done: { here }, words, about }, j) => ({ terms: here.exp.map((one) => [one]), symbols: ["exp(eᵢₖ)"],
    names: words, total: sum(here.exp),
    then: { symbol: `exp(eᵢⱼ) / Σ${about.window ? " · gᵢⱼ" : ""}`, value: here.alpha[j] } }),
  ah: ({ done: { here } }, j, k) => ({ terms: [[here.alpha[j], here.h[j][k]]], symbols: ["αᵢⱼ", "hⱼ"] }),
  c: ({ done: { here }, words }, _, k) => ({ terms: here.h.map((state, j) => [here.alpha[j], state[k]]),
    symbols: ["αᵢⱼ", "hⱼ"], names: words }),
  tilde: ({ found, done: { here }, about }, _, k) => ({ terms: pairs(found.combine.weight[k], [...here.c, ...here.s]),
    symbols: ["Wc", `[cᵢ; ${named("s", about)}]`], plus: biased(found.combine, k),
    then: { symbol: "tanh Σ", value: here.tilde[k] } }),
};

const SCORE = {
  additive: ({ found, done: { here } }, j) => ({ terms: pairs(found.energy, here.tanh[j]), symbols: ["v", "tanh"] }),
  dot: ({ done: { here }, about }, j) => ({ terms: pairs(here.s, here.h[j]), symbols: [named("s", about), "hⱼ"] }),
  scaled_dot: ({ done: { here }, about }, j) => ({ terms: pairs(here.s, here.h[j]), symbols: [named("s", about), "hⱼ"],
    then: { symbol: `Σ / √${here.s.length}`, value: here.e[j] } }),
  general: ({ done: { here }, about }, j) => ({ terms: pairs(here.s, here.Wh[j]), symbols: [named("s", about), "W hⱼ"] }),
  location: ({ found, done: { here }, about }, j) => ({ terms: pairs(found.queryLayer.weight[j] ?? [], here.s),
    symbols: ["W", named("s", about)], ...(found.queryLayer.weight[j] ? {} : { total: -Infinity }) }),
};
