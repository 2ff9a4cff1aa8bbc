/** Random queries and keys, and statistics of their scores; deterministic by seed. */

export const MAX_WIDTH = 1024;
export const WIDTHS = Array.from({ length: 10 }, (_, index) => 2 ** (index + 1));
export const MAX_KEYS = 64;
export const QUERIES = 400; // for the means over the softmax
export const PAIRS = 2000; // for the variance

/** Standard normal generator: Marsaglia's polar method over mulberry32. */
function normals(seed) {
  let counter = (Math.imul(seed, 0x9e3779b1) ^ 0x5bf03635) >>> 0;
  let spare = NaN;
  const uniform = () => {
    counter = (counter + 0x6d2b79f5) | 0;
    let mixed = Math.imul(counter ^ (counter >>> 15), counter | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return () => {
    if (!Number.isNaN(spare)) {
      const value = spare;
      spare = NaN;
      return value;
    }
    let [x, y, size] = [0, 0, 0];
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      size = x * x + y * y;
    } while (size >= 1 || size === 0);
    const factor = Math.sqrt((-2 * Math.log(size)) / size);
    spare = y * factor;
    return x * factor;
  };
}

/** Memoize a function for the most recent arguments. */
function memoize(compute, capacity = 4) {
  const cache = new Map();
  return (...args) => {
    const key = args.join(" ");
    if (!cache.has(key)) cache.set(key, compute(...args));
    if (cache.size > capacity) cache.delete(cache.keys().next().value);
    return cache.get(key);
  };
}

/** The variance of q·k for every width; a pair of width d is a prefix of one of width 1024. */
export const variances = memoize((seed) => {
  const next = normals(seed);
  const sums = WIDTHS.map(() => [0, 0]);
  for (let pair = 0; pair < PAIRS; pair++) {
    let product = 0;
    let widthIndex = 0;
    for (let dimension = 1; dimension <= MAX_WIDTH; dimension++) {
      product += next() * next();
      if (dimension === WIDTHS[widthIndex]) {
        sums[widthIndex][0] += product;
        sums[widthIndex][1] += product * product;
        widthIndex++;
      }
    }
  }
  return sums.map(([total, squares]) => (squares - (total * total) / PAIRS) / (PAIRS - 1));
});

/**
 * Squared norms of the prefixes of random queries, and a standard normal number per key.
 * The score of a random key is normal with standard deviation |q|: |q| times such a number
 * is its score, so the keys are not sampled.
 */
const queries = memoize((seed) => {
  const next = normals(seed + 1e6);
  const squares = new Float32Array(QUERIES * MAX_WIDTH);
  const keys = new Float32Array(QUERIES * MAX_KEYS);
  for (let query = 0; query < QUERIES; query++) {
    let total = 0;
    for (let dimension = 0; dimension < MAX_WIDTH; dimension++) {
      const value = next();
      squares[query * MAX_WIDTH + dimension] = total += value * value;
    }
  }
  for (let index = 0; index < keys.length; index++) keys[index] = next();
  return { squares, keys };
});

/** The mean largest weight of a softmax over `count` scores of width d, and the mean of Σ p(1 − p). */
export const means = memoize((seed, width, count, scaled) => {
  const { squares, keys } = queries(seed);
  const exponentials = new Float64Array(count);
  let [largest, gradient] = [0, 0];
  for (let query = 0; query < QUERIES; query++) {
    const factor = Math.sqrt(squares[query * MAX_WIDTH + width - 1] / (scaled ? width : 1));
    let maximum = -Infinity;
    for (let key = 0; key < count; key++) maximum = Math.max(maximum, keys[query * MAX_KEYS + key]);
    let total = 0;
    for (let key = 0; key < count; key++) {
      total += exponentials[key] = Math.exp(factor * (keys[query * MAX_KEYS + key] - maximum));
    }
    let squared = 0;
    for (let key = 0; key < count; key++) squared += (exponentials[key] / total) ** 2;
    largest += 1 / total;
    gradient += 1 - squared;
  }
  return { largest: largest / QUERIES, gradient: gradient / QUERIES };
}, 4 * WIDTHS.length);

/** Scores of one query with `count` sampled keys, largest first. */
export function scores(seed, width, count) {
  const next = normals(seed + 2e6);
  const query = Array.from({ length: width }, next);
  const products = Array.from({ length: count }, () => query.reduce((total, value) => total + value * next(), 0));
  return products.sort((a, b) => b - a);
}
