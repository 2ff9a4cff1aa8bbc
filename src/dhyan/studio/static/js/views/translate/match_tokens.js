/** Alignment of the tokens of two attention views, and the distance of their weights. */

import { alignSequences } from "../../engine/sequence_alignment.js";
import { sum } from "../../numbers.js";

const same = (left, right) => left.length === right.length && left.every((word, index) => word.text === right[index].text);

/**
 * For every token its partner in the other sequence, or null: by position where the lengths are equal,
 * otherwise by the longest common subsequence.
 */
export function alignTokens(left, right) {
  if (left.length === right.length) return left.map((_, index) => index);
  const matches = new Array(left.length).fill(null);
  for (const [a, b] of alignSequences(left, right, (one, other) => one.text === other.text)) if (a !== null) matches[a] = b;
  return matches;
}

/**
 * Match two attention views: partners in both directions, and the difference B − A of the rows that both have,
 * `differenceRows` of A: every row where both have as many, else those of the same words.
 */
export function matchTokens(a, b) {
  const rows = [alignTokens(a.rows, b.rows), alignTokens(b.rows, a.rows)];
  const columns = [alignTokens(a.columns, b.columns), alignTokens(b.columns, a.columns)];
  const [sameTarget, sameSource] = [same(a.rows, b.rows), same(a.columns, b.columns)];
  const differenceRows = a.columns.length === b.columns.length ? a.rows.map((_, row) => row).filter((row) => rows[0][row] !== null) : [];
  const values = differenceRows.length ? differenceRows.map((row) => a.values[row].map((value, column) => b.values[rows[0][row]][column] - value)) : null;
  const distances = values?.map((weights) => sum(weights.map(Math.abs)) / 2);
  return { rows, columns, sameTarget, sameSource, values, distances, differenceRows };
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
