/** Which words of two translations belong together, and how far apart their weights are. */

import { sum } from "../../numbers.js";

const same = (one, other) => one.length === other.length && one.every((word, at) => word.text === other[at].text);

/**
 * For every word of a line its partner in another, or null: by place where both are equally long,
 * otherwise by the longest run of words that both have.
 */
export function partners(one, other) {
  if (one.length === other.length) return one.map((_, at) => at);
  const best = Array.from({ length: one.length + 1 }, () => new Array(other.length + 1).fill(0));
  for (let a = one.length - 1; a >= 0; a -= 1) {
    for (let b = other.length - 1; b >= 0; b -= 1) {
      best[a][b] = one[a].text === other[b].text ? best[a + 1][b + 1] + 1 : Math.max(best[a + 1][b], best[a][b + 1]);
    }
  }
  const found = new Array(one.length).fill(null);
  let [a, b] = [0, 0];
  while (a < one.length && b < other.length) {
    if (one[a].text === other[b].text) {
      found[a] = b;
      [a, b] = [a + 1, b + 1];
    } else if (best[a + 1][b] >= best[a][b + 1]) a += 1;
    else b += 1;
  }
  return found;
}

/** Two ways of seeing, matched: partners both ways, and the difference where there is one. */
export function matchTokens(a, b) {
  const rows = [partners(a.rows, b.rows), partners(b.rows, a.rows)];
  const columns = [partners(a.columns, b.columns), partners(b.columns, a.columns)];
  const [told, read] = [same(a.rows, b.rows), same(a.columns, b.columns)];
  const fits = a.rows.length === b.rows.length && a.columns.length === b.columns.length;
  const values = fits ? b.values.map((line, row) => line.map((value, column) => value - a.values[row][column])) : null;
  const apart = values?.map((line) => sum(line.map(Math.abs)) / 2);
  return { rows, columns, told, read, values, apart };
}

/** A label for two words in one place. */
export const both = (one, other) => (one.text === other.text ? one : { ...one, text: `${one.text} / ${other.text}`, under: undefined });

/** What each word of the sentence was used for most, and its share of all weights. */
export function uses(seen) {
  const total = sum(seen.sums);
  return seen.columns.map((_, column) => {
    const line = seen.values.map((values) => values[column]);
    const row = line.indexOf(Math.max(...line));
    return { row, value: line[row], share: sum(line) / total };
  });
}
