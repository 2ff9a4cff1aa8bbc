/** A trace as views read it: one attention of it, by tokens or by words. */

import { unpack } from "./numbers.js";

/** The roles of attentions. */
export const ROLES = ["encoder_self", "decoder_self", "cross"];

/** The attentions of a role, first layer first. @param {"encoder_self" | "decoder_self" | "cross"} role */
export const blocksOf = (trace, role) =>
  trace.attention.filter((block) => block.role === role).sort((a, b) => a.layer - b.layer);

/** The attention of a role in a layer; the last there is for a layer too high. */
export function blockAt(trace, role, layer) {
  const blocks = blocksOf(trace, role);
  return blocks.find((block) => block.layer === layer) ?? blocks.at(-1);
}

/** The sides of rows and columns in attentions of a role. */
export function sides(trace, role) {
  if (role === "encoder_self") return [trace.source, trace.source];
  if (role === "decoder_self") return [trace.decoder_input, trace.decoder_input];
  return [trace.target, trace.source];
}

/** All heads of a block: heads, rows, columns. */
export function heads(block) {
  const { shape, data } = unpack(block);
  const [count, height, width] = shape;
  return Array.from({ length: count }, (_, head) => Array.from({ length: height }, (_, row) =>
    Array.from(data.subarray((head * height + row) * width, (head * height + row + 1) * width))));
}

/** One table of several: a head by its number, their mean ("avg"), or their largest ("max"). */
export function reduced(tables, which) {
  if (tables.length === 1) return tables[0];
  const number = Number(which);
  if (number >= 1) return tables[Math.min(number, tables.length) - 1];
  return tables[0].map((line, row) => line.map((_, column) => {
    const values = tables.map((table) => table[row][column]);
    return which === "max" ? Math.max(...values) : values.reduce((a, b) => a + b, 0) / values.length;
  }));
}

/**
 * A table by tokens or by words: what a word is given is a sum over its pieces, what it gives a
 * mean. Each row and column tells its text, whether it is special, and its tokens.
 * @param {{unit: "token" | "word", specials: boolean}} how
 */
export function merged(trace, role, table, { unit, specials }) {
  const [rows, columns] = sides(trace, role).map((side) => groups(side, unit, specials));
  const values = rows.map((own) => columns.map((given) => own.tokens.reduce((total, row) =>
    total + given.tokens.reduce((sum, column) => sum + table[row][column], 0), 0) / own.tokens.length));
  return { values, rows, columns };
}

/** A side's tokens one by one, or gathered to words. */
export function groups(side, unit, specials = true) {
  const all = unit === "token"
    ? side.tokens.map((token, index) => ({ text: token.text, special: marks(token), tokens: [index] }))
    : side.words.map((words, word) => {
      const tokens = side.tokens.flatMap((token, index) => (token.word === word ? [index] : []));
      return { text: words, special: tokens.every((at) => marks(side.tokens[at])), tokens };
    });
  return specials ? all : all.filter((one) => !one.special);
}

/** Whether a token marks a beginning, an end or nothing; an unknown word (the id 3) is none of them. */
const marks = (token) => token.special && token.id !== 3;
