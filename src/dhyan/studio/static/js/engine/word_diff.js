/** Word diff of two translations. */

import { alignSequences } from "./sequence_alignment.js";

/** @typedef {[word: string, change: "same" | "removed" | "added"]} WordChange */

/** @param {string[]} before @param {string[]} after @returns {WordChange[]} */
export const compareWords = (before, after) => alignSequences(before, after).map(([left, right]) => (
  left !== null ? [before[left], right === null ? "removed" : "same"] : [after[/** @type {number} */ (right)], "added"]));

/** The words that another word or none stands for: runs of removed words with the added ones in their place.
 * @param {string[]} before @param {string[]} after @returns {[removed: string[], added: string[]][]} */
export function changedWords(before, after) {
  /** @type {[string[], string[]][]} */
  const runs = [];
  let isOpen = false;
  for (const [word, change] of compareWords(before, after)) {
    if (change !== "same" && !isOpen) runs.push([[], []]);
    isOpen = change !== "same";
    if (isOpen) runs[runs.length - 1][change === "removed" ? 0 : 1].push(word);
  }
  return runs;
}
