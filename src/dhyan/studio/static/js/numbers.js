/** Unpacking, vector arithmetic and formatting of numbers. */

/** @typedef {number[][]} Table rows of numbers */

/** A packed tensor: its shape and 32-bit floats. @param {Packed} packed */
export function unpack(packed) {
  const { shape, data } = packed;
  if (typeof data !== "string") return { shape, data };
  return { shape, data: new Float32Array(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)).buffer) };
}

/** A packed tensor as a matrix (rows of numbers). @param {Packed} packed @returns {Table} */
export function rows(packed) {
  const { shape, data } = unpack(packed);
  const [height, width] = shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
  return Array.from({ length: height }, (_, row) =>
    Array.from(data.subarray(row * width, (row + 1) * width)));
}

/** A packed tensor as a vector. @param {Packed} packed */
export const vector = (packed) => Array.from(unpack(packed).data);

/** @param {number[]} values */
export const sum = (values) => values.reduce((total, value) => total + value, 0);
/** @param {number[]} a @param {number[]} b */
export const dot = (a, b) => a.reduce((total, value, index) => total + value * b[index], 0);
/** @param {number[]} a */
export const norm = (a) => Math.sqrt(dot(a, a));
/** @param {Table} a @returns {Table} */
export const transpose = (a) => a[0].map((_, column) => a.map((row) => row[column]));
/** @param {Table} a @param {Table} b @returns {Table} */
export const matmul = (a, b) => {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
};
/** @param {number[]} a @param {number[]} b */
export const add = (a, b) => a.map((value, index) => value + b[index]);
/** @param {number[]} a @param {number} factor */
export const scaleVector = (a, factor) => a.map((value) => value * factor);

/** Softmax; −∞ gets weight 0, and a row of only −∞ gets zeros. @param {number[]} scores */
export function softmax(scores) {
  const largest = Math.max(...scores);
  if (largest === -Infinity) return scores.map(() => 0);
  const exponentials = scores.map((score) => Math.exp(score - largest));
  const total = sum(exponentials);
  return exponentials.map((exponential) => exponential / total);
}

/** Largest absolute difference of two vectors or matrices.
 * @param {(number | number[])[]} a @param {(number | number[])[]} b @returns {number} */
export function maxDifference(a, b) {
  const [left, right] = [a.flat(), b.flat()];
  return left.reduce((largest, value, index) => Math.max(largest, Math.abs(value - right[index])), 0);
}

/** Position of the largest value. @param {number[]} values */
export const indexOfLargest = (values) => values.indexOf(Math.max(...values));

/** Entropy of a row of weights, in bits. @param {number[]} row */
export const entropy = (row) => -sum(row.filter((value) => value > 0).map((p) => p * Math.log2(p)));

/** Format a number with a minus sign (U+2212); weights drop the leading 0. @param {number} value @param {number} digits */
export function formatNumber(value, digits = 3, { weight = false } = {}) {
  if (value === Infinity) return "∞";
  if (value === -Infinity) return "−∞";
  const formatted = value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
  return weight ? formatted.replace(/^0\./, ".") : formatted;
}

/** A very small number in the form 1.2e−7. @param {number} value */
export const formatTiny = (value) =>
  value === 0 ? "0" : value.toExponential(1).replace("-", "−").replace("e+0", "");
