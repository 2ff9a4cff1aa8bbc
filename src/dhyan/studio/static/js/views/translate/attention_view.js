/** The attention of a trace to show: one matrix of weights by word or token, with labels. */

import { blockAt, blocksOf, groups, hasSelfAttention, heads, selectHead, sourceReading } from "../../trace.js";
import { entropy, formatNumber, sum } from "../../numbers.js";
import { transliterate } from "../../transliterate.js";
import { message } from "../../messages.js";
import { showsSpecials } from "../../state.js";

const BYTE = /^⟨([0-9A-F]{2})⟩$/;
const UNKNOWN = 3; // id of the unknown token
const NARROW = 400; // pixels of a map whose cells need the room

/**
 * A model without attention has no tables; it, and one that reads a single vector, has zeros for weights.
 * @param {object} trace
 * @param {{source_language?: string, target_language?: string}} card
 * @param {{unit: string, layer: number, head: string, transliterate: string}} options keys of the state
 */
export function attentionView(trace, card, options) {
  const block = blockAt(trace, "cross", options.layer || 99);
  const tables = block ? heads(block) : [];
  const which = tables.length < 2 ? "1" : options.head || "avg";
  const attends = sourceReading(trace) === "weights"; // all weight on one state that holds the whole sentence is no alignment
  const table = attends ? selectHead(tables, which) : trace.target.tokens.map(() => trace.source.tokens.map(() => 0));
  const specials = showsSpecials();
  const rows = units(trace.target, options.unit, specials, card.target_language ?? "hi", options.transliterate === "1");
  const columns = units(trace.source, options.unit, specials, card.source_language ?? "en", false);
  const values = rows.map((row) => columns.map((column) => share(table, row.tokens, column.tokens)));
  const hidden = hiddenWeights(trace, rows, columns, table);
  return { block, tables, which, pictured: Boolean(trace.picture), rows, columns, values,
    attends,
    symbols: !hasSelfAttention(trace) ? ["c", "h"] : Number(which) >= 1 ? ["z", "v"] : null,
    layers: blocksOf(trace, "cross").length,
    sums: values.map(sum),
    hidden,
    bits: values.map((weights, row) => (which === "max" || !attends ? null : entropy([...weights, hidden?.weights[row] ?? 0]))),
    pieces: [...rows, ...columns].some((unit) => unit.tokens.length > 1),
    unknown: columns.some((column) => column.faint) };
}

/**
 * The special tokens that are not among the columns, and their weight in every row; null if all tokens are shown.
 * @returns {{text: string, weights: number[]} | null}
 */
function hiddenWeights(trace, rows, columns, table) {
  const shown = new Set(columns.flatMap((column) => column.tokens));
  const tokens = trace.source.tokens.map((_, index) => index).filter((index) => !shown.has(index));
  return tokens.length ? { text: tokens.map((index) => trace.source.tokens[index].text).join(" "),
    weights: rows.map((row) => share(table, row.tokens, tokens)) } : null;
}

/** The column beside the map that completes a row: the weight of the hidden tokens, or the sum of all. */
export const completion = (view) => (view.hidden ? { title: view.hidden.text, weights: view.hidden.weights } : { title: "Σ", weights: view.sums });

/** The columns beside a map: what completes a row, and its entropy where there is room. @param {object} view @param {number} width in pixels */
export function rowStatistics(view, width) {
  const { title, weights } = completion(view);
  const columns = [[title, weights.map((weight) => formatNumber(weight))]];
  if (width > NARROW) columns.push([message("translate_bits"), view.bits.map((bits) => (bits === null ? "–" : formatNumber(bits, 2)))]);
  return { titles: columns.map(([title]) => title), rows: view.values.map((_, row) => columns.map(([, texts]) => texts[row])) };
}

/** Weight of a unit: mean over its target tokens of the sum over the source tokens. */
const share = (table, rows, columns) => sum(rows.map((row) => sum(columns.map((index) => table[row][index])))) / rows.length;

function units(side, unit, specials, lang, latin) {
  const selected = groups(side, unit, specials);
  const unitGroups = selected.length ? selected : groups(side, unit); // only special tokens
  return (unit === "token" ? mergeBytes(unitGroups) : unitGroups).map((group) => {
    const first = side.tokens[group.tokens[0]];
    const faint = first.id === UNKNOWN && !/^<.*>$/.test(group.text);
    const begins = unit === "token" && first.word !== side.tokens[group.tokens[0] - 1]?.word;
    const split = unit === "token" && side.tokens.some((token, index) => token.word === side.tokens[index - 1]?.word);
    return { ...group, lang: group.special ? "en" : lang, faint,
      prefix: split && begins && !group.special && group.text !== "▁" ? "▁" : undefined,
      subtitle: latin && lang === "hi" && !group.special ? transliterate(group.text) : undefined,
      note: faint ? message("translate_unknown_note", group.text) : undefined };
  });
}

/** Merge the byte tokens of one character into one unit. */
function mergeBytes(groups) {
  const merged = [];
  for (const group of groups) {
    const previous = merged.at(-1);
    const byte = BYTE.exec(group.text);
    const continues = byte && (parseInt(byte[1], 16) & 0xc0) === 0x80; // UTF-8 continuation byte
    const joins = continues && previous?.bytes && previous.tokens.at(-1) === group.tokens[0] - 1;
    if (joins) {
      previous.bytes.push(byte[1]);
      previous.tokens.push(...group.tokens);
      previous.text = `⟨${previous.bytes.join(" ")}⟩`;
    } else {
      merged.push(byte ? { ...group, tokens: [...group.tokens], bytes: [byte[1]] } : group);
    }
  }
  return merged;
}

/** Index and value of the largest weight. */
export const strongest = (weights) => weights.reduce((best, value, index) => (value > best[1] ? [index, value] : best), [0, -1]);

/** [index, weight] pairs, largest weight first. */
export const ranked = (weights) => weights.map((value, index) => [index, value]).sort((a, b) => b[1] - a[1]);

/** The pair of tokens with the largest weight in a cell, counted from 1. */
export function tokensOf(view, trace, row, column) {
  const table = selectHead(view.tables, view.which);
  let best = [view.rows[row].tokens[0], view.columns[column].tokens[0]];
  for (const targetToken of view.rows[row].tokens) {
    for (const sourceToken of view.columns[column].tokens) {
      if (table[targetToken][sourceToken] > table[best[0]][best[1]]) best = [targetToken, sourceToken];
    }
  }
  return best.map((index) => index + 1);
}

/** The head, counted from 1, with the largest weight in a cell. */
export function headOf(view, row, column) {
  if (Number(view.which) >= 1) return view.which;
  const weights = view.tables.map((table) => share(table, view.rows[row].tokens, view.columns[column].tokens));
  return String(strongest(weights)[0] + 1);
}

/** Convert a position between words and tokens. */
export const convertPosition = (position, before, after) => {
  const token = before[Math.min(position, before.length) - 1]?.tokens[0];
  const index = after.findIndex((unit) => unit.tokens.includes(token));
  return index < 0 ? 1 : index + 1;
};
