/**
 * State of a toy: words, embeddings, matrices and switches; encoded in the URL as
 *
 *   words The cat sat*x 1_0_1_0 0_1_0_1 1_1_1_1*q I*k I*v I*causal
 *
 * with rows separated by spaces, numbers by underscores, and I for the identity. An unchanged
 * preset is encoded by its name.
 */

import { numberOf, roundValue, wordOf } from "../../matrix_editor.js";

export const MAX_WORDS = 8;
export const MAX_WIDTH = 8;

/** @typedef {{words: string[], x: number[][], q: number[][], k: number[][], v: number[][], o: number[][] | null, scaled: boolean, causal: boolean, swapped: boolean}} Toy */

const unit = (height, width = height) =>
  Array.from({ length: height }, (_, row) => Array.from({ length: width }, (_, column) => Number(row === column)));
const logs = (table) => table.map((line) => line.map((prob) => roundValue(Math.log(prob))));
const defaults = { o: null, scaled: true, causal: false, swapped: false };
const bank = { ...defaults, words: ["money", "bank"], x: [[2, 7], [9, 3]],
  q: [[2, 1], [1, 2]], k: [[3, 4], [5, 1]], v: [[4, 1], [2, 1]] };
const tenth = { ...bank, x: [[0.2, 0.7], [0.9, 0.3]] };

/** Preset toys by name. @type {Record<string, Toy>} */
export const PRESETS = {
  cat: { ...defaults, words: ["The", "cat", "sat"], x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]],
    q: unit(4), k: unit(4), v: unit(4) },
  bank,
  tenth,
  swaps: { ...tenth, k: [[3, 5], [4, 1]] },
  how: { ...defaults, words: ["how", "are", "you"], x: unit(3),
    q: logs([[0.2, 0.1, 0.7], [0.3, 0.2, 0.5], [0.6, 0.3, 0.1]]), k: unit(3), v: unit(3),
    scaled: false, causal: true },
};

const copyToy = (toy) => structuredClone(toy);

/** Encode a toy for the URL. @param {Toy} toy */
export function encodeToy(toy) {
  const text = serialize(toy);
  return Object.keys(PRESETS).find((name) => serialize(PRESETS[name]) === text) ?? text;
}

function serialize(toy) {
  const table = (table) => (same(table, unit(table.length, table[0].length)) ? `I${sizes(table)}` :
    table.map((line) => line.map((value) => String(roundValue(value) + 0)).join("_")).join(" "));
  const sizes = (table) => (table.length === table[0].length ? "" : `${table.length}_${table[0].length}`);
  return [`words ${toy.words.join(" ")}`,
    ...["x", "q", "k", "v", "o"].filter((name) => toy[name]).map((name) => `${name} ${table(toy[name])}`),
    ...(toy.scaled ? [] : ["unscaled"]), ...(toy.causal ? ["causal"] : []),
    ...(toy.swapped ? ["swapped"] : [])].join("*");
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/**
 * Decode a toy, with the names of the parts that had to be corrected.
 * @param {string} text @returns {{toy: Toy, corrected: string[]}}
 */
export function readToy(text) {
  if (Object.hasOwn(PRESETS, text)) return { toy: copyToy(PRESETS[text]), corrected: [] };
  const parts = new Map(text.split("*").map((part) => {
    const [name, ...rest] = part.trim().split(/\s+/);
    return [name, rest];
  }));
  if (!parts.has("x") && !parts.has("words")) return { toy: copyToy(PRESETS.cat), corrected: ["toy"] };
  const corrected = new Set();
  const words = (parts.get("words") ?? []).map(wordOf).filter(Boolean);
  const tables = Object.fromEntries(["x", "q", "k", "v", "o"].map((name) => [name, parts.get(name) ?? null]));
  const count = Math.min(Math.max(words.length, 1), MAX_WORDS);
  const widthOf = (name, square) => {
    const width = lengthOf(tables[name], square);
    if (width > MAX_WIDTH) corrected.add(name);
    return Math.min(Math.max(width, 1), MAX_WIDTH);
  };
  const dx = widthOf("x", count);
  const [dk, dv] = [widthOf("q", dx), widthOf("v", dx)];
  if (words.length !== count) corrected.add("words");
  const labels = Array.from({ length: count }, (_, at) => words[at] ?? "word");
  const table = (name, height, width) => {
    const { values, complete } = tableOf(tables[name], height, width);
    if (!complete) corrected.add(name);
    return values;
  };
  const toy = { words: labels, x: table("x", count, dx), q: table("q", dx, dk), k: table("k", dx, dk),
    v: table("v", dx, dv), o: tables.o ? table("o", dv, dx) : null, scaled: !parts.has("unscaled"),
    causal: parts.has("causal"), swapped: parts.has("swapped") };
  return { toy, corrected: [...corrected] };
}

/** Width of an encoded matrix; I alone is square. */
function lengthOf(rows, square) {
  if (!rows?.length || rows[0] === "I") return square;
  return /^I\d+_\d+$/.test(rows[0]) ? Number(rows[0].split("_")[1]) : rows[0].split("_").length;
}

/** Decode a matrix at a given size; missing entries are 0, or 1 on the diagonal. */
function tableOf(rows, height, width) {
  const base = unit(height, width);
  if (!rows?.length) return { values: base, complete: false };
  if (/^I(\d+_\d+)?$/.test(rows[0])) return { values: base, complete: true };
  const parsed = rows.map((row) => row.split("_").map(numberOf));
  const complete = parsed.length === height && parsed.every((row, r) =>
    row.length === width && row.every((value, c) => value !== null && String(value) === rows[r].split("_")[c]));
  const values = base.map((line, row) => line.map((value, column) =>
    parsed[row]?.[column] ?? (row < parsed.length && column < parsed[row].length ? 0 : value)));
  return { values, complete };
}

/** Resize a toy; remaining entries keep their values. */
export function resizeToy(toy, { words = toy.words.length, dx = toy.x[0].length, dk = toy.q[0].length,
  dv = toy.v[0].length }) {
  const resizeTable = (table, height, width) => (table ? unit(height, width).map((line, row) =>
    line.map((value, column) => table[row]?.[column] ?? value)) : null);
  const next = { ...copyToy(toy), words: Array.from({ length: words }, (_, at) => toy.words[at] ?? `word${at + 1}`),
    x: Array.from({ length: words }, (_, row) => Array.from({ length: dx }, (_, column) =>
      toy.x[row]?.[column] ?? Number(row >= toy.x.length && column === row % dx))),
    q: resizeTable(toy.q, dx, dk), k: resizeTable(toy.k, dx, dk), v: resizeTable(toy.v, dx, dv), o: resizeTable(toy.o, dv, dx) };
  return next;
}

/** Remove a word. */
export function removeWord(toy, position) {
  const keep = (_, at) => at !== position;
  return { ...copyToy(toy), words: toy.words.filter(keep), x: toy.x.filter(keep) };
}
