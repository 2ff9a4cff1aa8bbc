/** Attention over a few vectors: the one definition that the views compute with. */

import { add, matmul, scaleVector, softmax, transpose } from "./numbers.js";

/**
 * Scores, mask, weights and context of queries, keys and values; the scores are divided by `scale`.
 * @param {{queries: number[][], keys: number[][], values: number[][], scale?: number, visible?: boolean[][]}} operands
 */
export function attend({ queries, keys, values, scale = 1, visible = queries.map(() => keys.map(() => true)) }) {
  const scores = matmul(queries, transpose(keys));
  const divided = scores.map((line) => scaleVector(line, 1 / scale));
  const mask = visible.map((line) => line.map((visible) => (visible ? 0 : -Infinity)));
  const masked = divided.map((line, row) => add(line, mask[row]));
  const weights = masked.map(softmax);
  return { scores, divided, mask, masked, weights, context: matmul(weights, values) };
}
