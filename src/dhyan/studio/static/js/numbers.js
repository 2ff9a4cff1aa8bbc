/** Unpacking, vector arithmetic and formatting of numbers. */

/** A packed tensor: its shape and 32-bit floats. @param {{shape: number[], data: string}} packed */
export function unpack(packed) {
  const raw = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  return { shape: packed.shape, data: new Float32Array(raw.buffer) };
}

/** A packed tensor as a matrix (rows of numbers). */
export function rows(packed) {
  const { shape, data } = unpack(packed);
  const [height, width] = shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
  return Array.from({ length: height }, (_, row) =>
    Array.from(data.subarray(row * width, (row + 1) * width)));
}

/** A packed tensor as a vector. */
export const vector = (packed) => Array.from(unpack(packed).data);

export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const dot = (a, b) => a.reduce((total, value, index) => total + value * b[index], 0);
export const norm = (a) => Math.sqrt(dot(a, a));
export const transpose = (a) => a[0].map((_, column) => a.map((row) => row[column]));
export const matmul = (a, b) => {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
};
export const add = (a, b) => a.map((value, index) => value + b[index]);
export const scaleVector = (a, factor) => a.map((value) => value * factor);

/** Softmax; −∞ gets weight 0, and a row of only −∞ gets zeros. */
export function softmax(scores) {
  const largest = Math.max(...scores);
  if (largest === -Infinity) return scores.map(() => 0);
  const exponentials = scores.map((score) => Math.exp(score - largest));
  const total = sum(exponentials);
  return exponentials.map((exponential) => exponential / total);
}

/** Largest absolute difference of two vectors or matrices. */
export function maxDifference(a, b) {
  return a.reduce((largest, value, index) =>
    Math.max(largest, Array.isArray(value) ? maxDifference(value, b[index]) : Math.abs(value - b[index])), 0);
}

/** Entropy of a row of weights, in bits. */
export const entropy = (row) => -sum(row.filter((value) => value > 0).map((p) => p * Math.log2(p)));

/** Format a number with a minus sign (U+2212); weights drop the leading 0. */
export function formatNumber(value, digits = 3, { weight = false } = {}) {
  if (value === Infinity) return "∞";
  if (value === -Infinity) return "−∞";
  const formatted = value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
  return weight ? formatted.replace(/^0\./, ".") : formatted;
}

/** A very small number in the form 1.2e−7. */
export const formatTiny = (value) =>
  value === 0 ? "0" : value.toExponential(1).replace("-", "−").replace("e+0", "");
