/** Numbers as they come from the server, as they are computed with, and as they are written. */

/** A packed tensor: its shape and 32-bit floats. @param {{shape: number[], data: string}} packed */
export function unpack(packed) {
  const raw = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
  return { shape: packed.shape, data: new Float32Array(raw.buffer) };
}

/** A matrix of a packed one: rows of numbers. */
export function rows(packed) {
  const { shape, data } = unpack(packed);
  const [height, width] = shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
  return Array.from({ length: height }, (_, row) =>
    Array.from(data.subarray(row * width, (row + 1) * width)));
}

/** A vector of a packed one. */
export const vector = (packed) => Array.from(unpack(packed).data);

export const sum = (values) => values.reduce((total, one) => total + one, 0);
export const dot = (a, b) => a.reduce((total, one, at) => total + one * b[at], 0);
export const norm = (a) => Math.sqrt(dot(a, a));
export const transpose = (a) => a[0].map((_, column) => a.map((row) => row[column]));
export const matmul = (a, b) => {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
};
export const add = (a, b) => a.map((one, index) => one + b[index]);
export const scaled = (a, by) => a.map((one) => one * by);

/** Shares that sum to one; −∞ gets none, and a row of nothing but −∞ gets zeros. */
export function softmax(scores) {
  const most = Math.max(...scores);
  if (most === -Infinity) return scores.map(() => 0);
  const grown = scores.map((score) => Math.exp(score - most));
  const total = sum(grown);
  return grown.map((one) => one / total);
}

/** The largest difference of two lists or tables. */
export function maxDifference(a, b) {
  return a.reduce((most, one, at) =>
    Math.max(most, Array.isArray(one) ? maxDifference(one, b[at]) : Math.abs(one - b[at])), 0);
}

/** Bits of a row of weights. */
export const entropy = (row) => -sum(row.filter((one) => one > 0).map((p) => p * Math.log2(p)));

/** A number with a true minus; weights lose their 0. */
export function formatNumber(value, digits = 3, { weight = false } = {}) {
  if (value === Infinity) return "∞";
  if (value === -Infinity) return "−∞";
  const written = value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
  return weight ? written.replace(/^0\./, ".") : written;
}

/** A very small number in the form 1.2e−7. */
export const formatTiny = (value) =>
  value === 0 ? "0" : value.toExponential(1).replace("-", "−").replace("e+0", "");
