/** What one head's table of weights is like, in a few numbers. */

import { entropy, formatNumber, sum } from "../../numbers.js";

/** The badges, in the order in which they stand on a tile. */
export const STATISTICS = ["entropy", "diagonal", "previous", "first", "missed"];

const SMALL = 0.005; // nats: what is less is written with its power of ten,
const NONE = 5e-7; // and what is less than this as nothing

/** Nats, small ones as 3e−4. */
export function formatNats(value) {
  const size = Math.abs(value);
  if (size < NONE) return "0.00";
  return size < SMALL ? value.toExponential(0).replaceAll("-", "−") : formatNumber(value, 2);
}

/** A change of them, with its sign. */
export const formatChange = (value) => `${value >= NONE ? "+" : ""}${formatNats(value)}`;

/** A badge's number: bits and nats with a point, shares without their 0. */
export const formatStatistic = (key, value) => (key === "missed" ? formatChange(value)
  : formatNumber(value, 2, { weight: key !== "entropy" }));

const mean = (values) => (values.length ? sum(values) / values.length : 0);

/**
 * All badges of a table whose rows sum to one. A share is a mean over the rows that have such a
 * place: the first row has none before it, and a long translation outruns a short sentence.
 * @param {number[][]} table @param {number | null} missed what the translation loses without it
 */
export function headStatistics(table, missed) {
  const width = table[0].length;
  return {
    entropy: mean(table.map(entropy)),
    diagonal: mean(table.slice(0, width).map((line, row) => line[row])),
    previous: mean(table.slice(1, width + 1).map((line, row) => line[row])),
    first: mean(table.map((line) => line[0])),
    missed,
  };
}

/** Heads by a badge: the largest first; those whose loss costs most first. */
export function sortHeads(heads, key) {
  if (!key) return heads;
  const worth = (head) => (key === "missed" ? -(head.badges.missed ?? 0) : head.badges[key]);
  return [...heads].sort((a, b) => worth(b) - worth(a));
}
