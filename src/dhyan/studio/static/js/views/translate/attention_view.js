/** What is seen of a trace: one table of weights, by words or tokens, with labels to draw. */

import { blockAt, blocksOf, groups, heads, reduced } from "../../trace.js";
import { entropy, sum } from "../../numbers.js";
import { transliterate } from "../../transliterate.js";
import { message } from "../../messages.js";

const BYTE = /^⟨([0-9A-F]{2})⟩$/;
const UNKNOWN = 3; // the id of words that are in no vocabulary

/**
 * @param {object} trace
 * @param {{source_language?: string, target_language?: string}} card
 * @param {{u: string, sp: string, l: number, h: string, tr: string}} options keys of the state
 */
export function attentionView(trace, card, options) {
  const block = blockAt(trace, "cross", options.layer || 99);
  const tables = heads(block);
  const which = tables.length === 1 ? "1" : options.head || "avg";
  const table = reduced(tables, which);
  const specials = options.specials === "1";
  const rows = units(trace.target, options.unit, specials, card.target_language ?? "hi", options.transliterate === "1");
  const columns = units(trace.source, options.unit, specials, card.source_language ?? "en", false);
  const values = rows.map((row) => columns.map((column) => share(table, row.tokens, column.tokens)));
  const distributions = rows.map((row) => table[0].map((_, column) => share(table, row.tokens, [column])));
  return { block, tables, which, rows, columns, values,
    symbols: card.score !== "heads" ? ["c", "h"] : Number(which) >= 1 ? ["z", "v"] : null,
    layers: blocksOf(trace, "cross").length,
    sums: values.map(sum),
    bits: distributions.map((weights) => (which === "max" ? null : entropy(weights))),
    pieces: [...rows, ...columns].some((unit) => unit.tokens.length > 1),
    unknown: columns.some((column) => column.faint) };
}

/** The mean over who asks of the sum over who is given. */
const share = (table, rows, columns) => sum(rows.map((row) => sum(columns.map((index) => table[row][index])))) / rows.length;

function units(side, unit, specials, lang, latin) {
  const selected = groups(side, unit, specials);
  const unitGroups = selected.length ? selected : groups(side, unit); // where nothing else was said
  return (unit === "token" ? mergeBytes(unitGroups) : unitGroups).map((group) => {
    const first = side.tokens[group.tokens[0]];
    const faint = first.id === UNKNOWN && !/^<.*>$/.test(group.text);
    const begins = unit === "token" && first.word !== side.tokens[group.tokens[0] - 1]?.word;
    const split = unit === "token" && side.tokens.some((token, index) => token.word === side.tokens[index - 1]?.word);
    return { ...group, lang: group.special ? "en" : lang, faint,
      before: split && begins && !group.special && group.text !== "▁" ? "▁" : undefined,
      under: latin && lang === "hi" && !group.special ? transliterate(group.text) : undefined,
      note: faint ? message("translate_unknown_note", group.text) : undefined };
  });
}

/** The bytes of one letter as one unit. */
function mergeBytes(groups) {
  const merged = [];
  for (const group of groups) {
    const previous = merged.at(-1);
    const byte = BYTE.exec(group.text);
    const continues = byte && (parseInt(byte[1], 16) & 0xc0) === 0x80; // as UTF-8 has it
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

/** The largest weight of a line: its place and value. */
export const strongest = (weights) => weights.reduce((best, value, index) => (value > best[1] ? [index, value] : best), [0, -1]);

/** Places in the order of their weights, largest first. */
export const ranked = (weights) => weights.map((value, index) => [index, value]).sort((a, b) => b[1] - a[1]);

/** The tokens a cell stands for, the strongest of them, counted from 1. */
export function tokensOf(view, trace, row, column) {
  const table = reduced(view.tables, view.which);
  let best = [view.rows[row].tokens[0], view.columns[column].tokens[0]];
  for (const targetToken of view.rows[row].tokens) {
    for (const sourceToken of view.columns[column].tokens) {
      if (table[targetToken][sourceToken] > table[best[0]][best[1]]) best = [targetToken, sourceToken];
    }
  }
  return best.map((index) => index + 1);
}

/** The head, counted from 1, that gives a cell most. */
export function headOf(view, row, column) {
  if (Number(view.which) >= 1) return view.which;
  const weights = view.tables.map((table) => share(table, view.rows[row].tokens, view.columns[column].tokens));
  return String(strongest(weights)[0] + 1);
}

/** A place in one unit as the place in another that holds the same token. */
export const convertPosition = (position, before, after) => {
  const token = before[Math.min(position, before.length) - 1]?.tokens[0];
  const index = after.findIndex((unit) => unit.tokens.includes(token));
  return index < 0 ? 1 : index + 1;
};
