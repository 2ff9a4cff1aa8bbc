/** Numbers as the page's API sends them: a shape, and 32-bit floats in base64. */

/** @typedef {{shape: number[], data: string}} Packed */

/** @param {Float32Array} data @param {...number} shape @returns {Packed} */
export function pack(data, ...shape) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return { shape, data: btoa(text) };
}

/** Vectors of equal length as the rows of a matrix. @param {ArrayLike<number>[]} rows @returns {Packed} */
export function packRows(rows) {
  const width = rows[0]?.length ?? 0;
  const data = new Float32Array(rows.length * width);
  rows.forEach((row, at) => data.set(row, at * width));
  return pack(data, rows.length, width);
}

/** Weights by query and head as heads, rows, columns; rows are filled up with zeros.
 * @param {Float32Array[][]} rows @param {number} columns @returns {Packed} */
export function packWeights(rows, columns) {
  const heads = rows[0].length;
  const data = new Float32Array(heads * rows.length * columns);
  rows.forEach((row, at) => row.forEach((weights, head) => data.set(weights, (head * rows.length + at) * columns)));
  return pack(data, heads, rows.length, columns);
}

/** @param {Float32Array} vector @returns {Packed} */
export const packVector = (vector) => pack(vector, vector.length);
