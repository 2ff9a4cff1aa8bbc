/** Alignment of two sequences by their longest common subsequence. */

/** @typedef {[left: number | null, right: number | null]} Step a matched pair, or an element of one sequence alone */

/**
 * The steps through both sequences in order; of alignments of equal length the one that leaves out of the left first.
 * @template Item
 * @param {Item[]} left @param {Item[]} right @param {(a: Item, b: Item) => boolean} [equal]
 * @returns {Step[]}
 */
export function alignSequences(left, right, equal = (a, b) => a === b) {
  const common = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1)); // length of the rest's subsequence
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      common[i][j] = equal(left[i], right[j]) ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  /** @type {Step[]} */
  const steps = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && equal(left[i], right[j])) steps.push([i++, j++]);
    else if (i < left.length && (j === right.length || common[i + 1][j] >= common[i][j + 1])) steps.push([i++, null]);
    else steps.push([null, j++]);
  }
  return steps;
}
