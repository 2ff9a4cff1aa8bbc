/** Word diff of two translations. */

import { alignSequences } from "./sequence_alignment.js";

/** @typedef {[word: string, change: "same" | "removed" | "added"]} WordChange */

/** @param {string[]} before @param {string[]} after @returns {WordChange[]} */
export const compareWords = (before, after) => alignSequences(before, after).map(([left, right]) => (
  left !== null ? [before[left], right === null ? "removed" : "same"] : [after[/** @type {number} */ (right)], "added"]));
