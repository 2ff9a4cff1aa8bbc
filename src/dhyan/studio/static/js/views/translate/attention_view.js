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
 * @param {{u: string, sp: string, l: number, h: string, tr: string}} how keys of the state
 */
export function attentionView(trace, card, how) {
  const block = blockAt(trace, "cross", how.layer || 99);
  const tables = heads(block);
  const which = tables.length === 1 ? "1" : how.head || "avg";
  const table = reduced(tables, which);
  const specials = how.specials === "1";
  const rows = units(trace.target, how.unit, specials, card.target_language ?? "hi", how.transliterate === "1");
  const columns = units(trace.source, how.unit, specials, card.source_language ?? "en", false);
  const values = rows.map((own) => columns.map((given) => share(table, own.tokens, given.tokens)));
  const whole = rows.map((own) => table[0].map((_, column) => share(table, own.tokens, [column])));
  return { block, tables, which, rows, columns, values,
    symbols: card.score !== "heads" ? ["c", "h"] : Number(which) >= 1 ? ["z", "v"] : null,
    layers: blocksOf(trace, "cross").length,
    sums: values.map(sum),
    bits: whole.map((line) => (which === "max" ? null : entropy(line))),
    pieces: [...rows, ...columns].some((one) => one.tokens.length > 1),
    unknown: columns.some((one) => one.faint) };
}

/** The mean over who asks of the sum over who is given. */
const share = (table, asking, given) => sum(asking.map((row) => sum(given.map((at) => table[row][at])))) / asking.length;

function units(side, unit, specials, lang, latin) {
  const wanted = groups(side, unit, specials);
  const found = wanted.length ? wanted : groups(side, unit); // where nothing else was said
  return (unit === "token" ? fused(found) : found).map((one) => {
    const first = side.tokens[one.tokens[0]];
    const faint = first.id === UNKNOWN && !/^<.*>$/.test(one.text);
    const begins = unit === "token" && first.word !== side.tokens[one.tokens[0] - 1]?.word;
    const split = unit === "token" && side.tokens.some((token, at) => token.word === side.tokens[at - 1]?.word);
    return { ...one, lang: one.special ? "en" : lang, faint,
      before: split && begins && !one.special && one.text !== "▁" ? "▁" : undefined,
      under: latin && lang === "hi" && !one.special ? transliterate(one.text) : undefined,
      note: faint ? message("translate_unknown_note", one.text) : undefined };
  });
}

/** The bytes of one letter as one unit. */
function fused(found) {
  const together = [];
  for (const one of found) {
    const before = together.at(-1);
    const own = BYTE.exec(one.text);
    const continues = own && (parseInt(own[1], 16) & 0xc0) === 0x80; // as UTF-8 has it
    const joins = continues && before?.bytes && before.tokens.at(-1) === one.tokens[0] - 1;
    if (joins) {
      before.bytes.push(own[1]);
      before.tokens.push(...one.tokens);
      before.text = `⟨${before.bytes.join(" ")}⟩`;
    } else {
      together.push(own ? { ...one, tokens: [...one.tokens], bytes: [own[1]] } : one);
    }
  }
  return together;
}

/** The largest weight of a line: its place and value. */
export const strongest = (line) => line.reduce((best, value, at) => (value > best[1] ? [at, value] : best), [0, -1]);

/** Places in the order of their weights, largest first. */
export const ranked = (line) => line.map((value, at) => [at, value]).sort((a, b) => b[1] - a[1]);

/** The tokens a cell stands for, the strongest of them, counted from 1. */
export function tokensOf(seen, trace, row, column) {
  const table = reduced(seen.tables, seen.which);
  let best = [seen.rows[row].tokens[0], seen.columns[column].tokens[0]];
  for (const asking of seen.rows[row].tokens) {
    for (const given of seen.columns[column].tokens) {
      if (table[asking][given] > table[best[0]][best[1]]) best = [asking, given];
    }
  }
  return best.map((at) => at + 1);
}

/** The head, counted from 1, that gives a cell most. */
export function headOf(seen, row, column) {
  if (Number(seen.which) >= 1) return seen.which;
  const given = seen.tables.map((table) => share(table, seen.rows[row].tokens, seen.columns[column].tokens));
  return String(strongest(given)[0] + 1);
}

/** A place in one unit as the place in another that holds the same token. */
export const moved = (place, before, after) => {
  const token = before[Math.min(place, before.length) - 1]?.tokens[0];
  const found = after.findIndex((one) => one.tokens.includes(token));
  return found < 0 ? 1 : found + 1;
};
