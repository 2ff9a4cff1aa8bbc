/** Access to a trace: attention blocks, heads, tokens and words. */

import { unpack } from "./numbers.js";

/** @typedef {Pick<Trace, "source" | "target" | "decoder_input">} Sides the token sequences of a trace */

/** Attention roles. @type {Role[]} */
export const ROLES = ["encoder_self", "decoder_self", "cross"];

/** Attention blocks of a role, ordered by layer. @param {Trace} trace @param {string} role */
export const blocksOf = (trace, role) =>
  trace.attention.filter((block) => block.role === role).sort((a, b) => a.layer - b.layer);

/** Whether a trace holds attention of a role. @param {Trace} trace @param {string} role */
export const hasRole = (trace, role) => trace.attention.some((block) => block.role === role);

/** Whether a trace holds attention with queries, keys and values of its own: self-attention, or several heads. @param {Trace} trace */
export const hasHeads = (trace) => trace.attention.some((block) => block.role !== "cross" || block.shape[0] > 1);

/** The attention block of a role and layer; the last layer if there is none. @param {Trace} trace @param {string} role @param {number} layer */
export function blockAt(trace, role, layer) {
  const blocks = blocksOf(trace, role);
  return blocks.find((block) => block.layer === layer) ?? blocks.at(-1);
}

/**
 * How the translation reads the sentence: not at all after the start ("none"), the same single position at
 * every step ("one_vector"), or by weights ("weights"). Views ask the trace, not the model.
 * @param {Trace} trace @returns {"none" | "one_vector" | "weights"}
 */
export function sourceReading(trace) {
  const blocks = blocksOf(trace, "cross");
  if (!blocks.length) return "none";
  return blocks.every(readsOnePosition) ? "one_vector" : "weights";
}

/** Whether every row of a block has all its weight on one and the same of several positions. @param {Packed} block */
function readsOnePosition(block) {
  const { shape, data } = unpack(block);
  const width = shape.at(-1);
  const position = data.subarray(0, width).indexOf(1);
  return width > 1 && position >= 0 && data.every((weight, index) => weight === (index % width === position ? 1 : 0));
}

/** Whether the decoder attends to its own output: its context is a sum of values, not of encoder states. @param {Trace} trace */
export const hasSelfAttention = (trace) => blocksOf(trace, "decoder_self").length > 0;

/** The token sequences of rows (queries) and columns (keys) of a role. @param {Sides} trace @param {string} role @returns {[Side, Side]} */
export function sides(trace, role) {
  if (role === "encoder_self") return [trace.source, trace.source];
  if (role === "decoder_self") return [trace.decoder_input, trace.decoder_input];
  return [trace.target, trace.source];
}

/** All heads of a block: heads, rows, columns. @param {Packed} block @returns {number[][][]} */
export function heads(block) {
  const { shape, data } = unpack(block);
  const [count, height, width] = shape;
  return Array.from({ length: count }, (_, head) => Array.from({ length: height }, (_, row) =>
    Array.from(data.subarray((head * height + row) * width, (head * height + row + 1) * width))));
}

/** One head by its number, or the mean ("avg") or maximum ("max") over heads. @param {number[][][]} tables @param {string} which */
export function selectHead(tables, which) {
  if (tables.length === 1) return tables[0];
  const number = Number(which);
  if (number >= 1) return tables[Math.min(number, tables.length) - 1];
  return tables[0].map((line, row) => line.map((_, column) => {
    const values = tables.map((table) => table[row][column]);
    return which === "max" ? Math.max(...values) : values.reduce((a, b) => a + b, 0) / values.length;
  }));
}

/**
 * Weights by token or by word: summed over the tokens of a key word, averaged over those of a
 * query word. Each row and column has its text, whether it is special, and its tokens.
 * @param {Sides} trace @param {string} role @param {number[][]} table
 * @param {{unit: string, specials: boolean}} options `unit` is "token" or "word"
 */
export function mergeUnits(trace, role, table, { unit, specials }) {
  const [rows, columns] = sides(trace, role).map((side) => groups(side, unit, specials));
  const values = rows.map((row) => columns.map((column) => row.tokens.reduce((total, token) =>
    total + column.tokens.reduce((sum, column) => sum + table[token][column], 0), 0) / row.tokens.length));
  return { values, rows, columns };
}

/** Units of a sequence: its tokens, or its words with their tokens.
 * @param {Side} side @param {string} unit "token" or "word" @param {boolean} specials whether special tokens are among them @returns {Unit[]} */
export function groups(side, unit, specials = true) {
  const units = unit === "token"
    ? side.tokens.map((token, index) => ({ text: token.text, special: isSpecial(token), tokens: [index] }))
    : side.words.map((text, word) => {
      const tokens = side.tokens.flatMap((token, index) => (token.word === word ? [index] : []));
      return { text, special: tokens.every((index) => isSpecial(side.tokens[index])), tokens };
    });
  return specials ? units : units.filter((unit) => !unit.special);
}

/** Whether a token is a start, end or padding token; the unknown token (id 3) is not. @param {Token} token */
const isSpecial = (token) => token.special && token.id !== 3;

/** Whether a text is no punctuation. @param {string} text */
export const isWord = (text) => /[\p{L}\p{N}]/u.test(text);
