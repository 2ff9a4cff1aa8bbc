/** Principal component analysis of few vectors, by the eigenvectors of their inner products (Jacobi, 1846). */

const SWEEPS = 60;
const SMALLEST = 1e-9; // singular value that counts

/**
 * The first two principal axes of centred vectors, each of length 1; an axis points to its largest coordinate, so signs are
 * fixed. Null if the vectors lie on a line. @param {Float64Array[]} rows
 */
export function principalAxes(rows) {
  const inner = rows.map((a) => rows.map((b) => a.reduce((sum, value, index) => sum + value * b[index], 0)));
  const { values, vectors } = eigen(inner);
  const order = [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, 2);
  const sizes = order.map((index) => Math.sqrt(Math.max(values[index], 0)));
  if (order.length < 2 || sizes[1] < SMALLEST) return null;
  return order.map((index, which) => {
    const axis = Float64Array.from(rows[0], (_, at) => rows.reduce((sum, row, line) => sum + vectors[line][index] * row[at], 0) / sizes[which]);
    const largest = axis.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
    return largest < 0 ? axis.map((value) => -value) : axis;
  });
}

/** Eigenvalues and eigenvectors (columns) of a symmetric matrix. @param {number[][]} matrix */
function eigen(matrix) {
  const a = matrix.map((row) => [...row]);
  const vectors = a.map((_, row) => a.map((__, column) => Number(row === column)));
  const size = a.length;
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (let p = 0; p < size; p += 1) {
      for (let q = p + 1; q < size; q += 1) if (a[p][q] !== 0) rotate(a, vectors, p, q);
    }
  }
  return { values: a.map((row, index) => row[index]), vectors };
}

/** Rotate rows and columns p and q so that their common entry is 0. */
function rotate(a, vectors, p, q) {
  const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  const turn = (row, first, second) => {
    const [x, y] = [row[first], row[second]];
    [row[first], row[second]] = [c * x - s * y, s * x + c * y];
  };
  for (const row of a) turn(row, p, q);
  const [x, y] = [a[p], a[q]];
  [a[p], a[q]] = [x.map((value, index) => c * value - s * y[index]), x.map((value, index) => s * value + c * y[index])];
  for (const row of vectors) turn(row, p, q);
}
