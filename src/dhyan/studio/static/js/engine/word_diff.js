/** Word diff of two translations by their longest common subsequence. */

/** @param {string[]} before @param {string[]} after @returns {[string, "same" | "removed" | "added"][]} */
export function compareWords(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      common[i][j] = before[i] === after[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  /** @type {[string, "same" | "removed" | "added"][]} */
  const words = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      words.push([before[i], "same"]);
      i += 1;
      j += 1;
    } else if (i < before.length && (j === after.length || common[i + 1][j] >= common[i][j + 1])) {
      words.push([before[i], "removed"]);
      i += 1;
    } else {
      words.push([after[j], "added"]);
      j += 1;
    }
  }
  return words;
}
