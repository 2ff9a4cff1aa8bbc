/** Alignment of the tokens of two attention views, and the distance of their weights. */

import { alignSequences } from "../../engine/sequence_alignment.js";
import { sum } from "../../numbers.js";

const same = (left, right) => left.length === right.length && left.every((word, index) => word.text === right[index].text);

/** Whether two words are the same or forms of one: more than half of the longer one begins both. @param {{text: string}} one @param {{text: string}} other */
function areForms({ text: one }, { text: other }) {
  const [left, right] = [[...one], [...other]];
  const different = left.findIndex((letter, index) => letter !== right[index]);
  return one === other || 2 * (different < 0 ? left.length : different) > Math.max(left.length, right.length);
}

/**
 * For every token its partner in the other sequence, or null: by position where the lengths are equal,
 * otherwise by the longest common subsequence, of words or of forms of them.
 */
export function alignTokens(left, right) {
  if (left.length === right.length) return left.map((_, index) => index);
  const matches = new Array(left.length).fill(null);
  for (const [a, b] of alignSequences(left, right, areForms)) if (a !== null) matches[a] = b;
  return matches;
}

/**
 * Match two attention views: partners in both directions, and the difference B − A of the rows that both have,
 * `differenceRows` of A: every row where both have as many, else those of the same words. `hidden` is the difference
 * of the hidden tokens' weights in these rows; with it a row sums to 0.
 */
export function matchTokens(a, b) {
  const rows = [alignTokens(a.rows, b.rows), alignTokens(b.rows, a.rows)];
  const columns = [alignTokens(a.columns, b.columns), alignTokens(b.columns, a.columns)];
  const [sameTarget, sameSource] = [same(a.rows, b.rows), same(a.columns, b.columns)];
  const differenceRows = a.columns.length === b.columns.length ? a.rows.map((_, row) => row).filter((row) => rows[0][row] !== null) : [];
  const values = differenceRows.length ? differenceRows.map((row) => a.values[row].map((value, column) => b.values[rows[0][row]][column] - value)) : null;
  const hidden = a.hidden && b.hidden ? differenceRows.map((row) => b.hidden.weights[rows[0][row]] - a.hidden.weights[row]) : null;
  const distances = values?.map((weights, row) => sum([...weights, hidden?.[row] ?? 0].map(Math.abs)) / 2);
  return { rows, columns, sameTarget, sameSource, values, hidden, distances, differenceRows };
}

/** Label for two tokens at one position. */
export const pairLabel = (left, right) => (left.text === right.text ? left : { ...left, text: `${left.text} / ${right.text}`, subtitle: undefined });

/** For each source word, the row that attends to it most and its share of the total weight. */
export function sourceUsage(view) {
  const total = sum(view.sums);
  return view.columns.map((_, column) => {
    const weights = view.values.map((values) => values[column]);
    const row = weights.indexOf(Math.max(...weights));
    return { row, value: weights[row], share: sum(weights) / total };
  });
}
