/** Statistics of a head's attention weights. */

import { entropy, formatNumber, sum } from "../../numbers.js";

/** Statistics in the order shown on a tile. */
export const STATISTICS = ["entropy", "diagonal", "previous", "first", "importance"];

const SMALL = 0.005; // nats: smaller values are written with an exponent
const NONE = 5e-7; // smaller values are written as 0.00

/** Nats, small ones as 3e−4. */
export function formatNats(value) {
  const size = Math.abs(value);
  if (size < NONE) return "0.00";
  return size < SMALL ? value.toExponential(0).replaceAll("-", "−") : formatNumber(value, 2);
}

/** A change in nats, with its sign. */
export const formatChange = (value) => `${value >= NONE ? "+" : ""}${formatNats(value)}`;

/** Format a statistic: bits, nats, or a weight without leading 0. */
export const formatStatistic = (key, value) => (key === "importance" ? formatChange(value)
  : formatNumber(value, 2, { weight: key !== "entropy" }));

const mean = (values) => (values.length ? sum(values) / values.length : 0);

/**
 * Statistics of a matrix whose rows sum to one. Diagonal and previous are means over the rows that have such a
 * position: the first row has no previous one, and a translation may be longer than its source.
 * @param {number[][]} table @param {number | null} importance change of log-probability without the head
 */
export function headStatistics(table, importance) {
  const width = table[0].length;
  return {
    entropy: mean(table.map(entropy)),
    diagonal: mean(table.slice(0, width).map((line, row) => line[row])),
    previous: mean(table.slice(1, width + 1).map((line, row) => line[row])),
    first: mean(table.map((line) => line[0])),
    importance,
  };
}

/** Sort heads by a statistic, largest first; by importance, most important first. */
export function sortHeads(heads, key) {
  if (!key) return heads;
  const sortValue = (head) => (key === "importance" ? -(head.statistics.importance ?? 0) : head.statistics[key]);
  return [...heads].sort((a, b) => sortValue(b) - sortValue(a));
}
