/** Random queries and keys, and what their scores come to; the same from the same seed. */

export const WIDEST = 1024;
export const WIDTHS = Array.from({ length: 10 }, (_, at) => 2 ** (at + 1));
export const MOST_KEYS = 64;
export const QUERIES = 400; // for the means over the softmax
export const PAIRS = 2000; // for the variance

/** Numbers from the standard normal distribution: Marsaglia's polar method over mulberry32. */
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
    if (spare === spare) {
      const kept = spare;
      spare = NaN;
      return kept;
    }
    let [x, y, size] = [0, 0, 0];
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      size = x * x + y * y;
    } while (size >= 1 || size === 0);
    const stretch = Math.sqrt((-2 * Math.log(size)) / size);
    spare = y * stretch;
    return x * stretch;
  };
}

/** What `make` gave for the last few things it was asked. */
function kept(make, most = 4) {
  const known = new Map();
  return (...asked) => {
    const key = asked.join(" ");
    if (!known.has(key)) known.set(key, make(...asked));
    if (known.size > most) known.delete(known.keys().next().value);
    return known.get(key);
  };
}

/** The variance of q·k for every width; a pair of width d is the beginning of one of width 1024. */
export const variances = kept((seed) => {
  const next = normals(seed);
  const sums = WIDTHS.map(() => [0, 0]);
  for (let pair = 0; pair < PAIRS; pair++) {
    let product = 0;
    let at = 0;
    for (let place = 1; place <= WIDEST; place++) {
      product += next() * next();
      if (place === WIDTHS[at]) {
        sums[at][0] += product;
        sums[at][1] += product * product;
        at++;
      }
    }
  }
  return sums.map(([total, squares]) => (squares - (total * total) / PAIRS) / (PAIRS - 1));
});

/**
 * Squared lengths of the beginnings of random queries, and a normal number for each of their keys.
 * Of a query q, the score of a random key is normal with deviation |q|: so |q| times such a number
 * is its score, and the keys themselves need not be drawn.
 */
const queries = kept((seed) => {
  const next = normals(seed + 1e6);
  const squares = new Float32Array(QUERIES * WIDEST);
  const keys = new Float32Array(QUERIES * MOST_KEYS);
  for (let query = 0; query < QUERIES; query++) {
    let total = 0;
    for (let place = 0; place < WIDEST; place++) {
      const one = next();
      squares[query * WIDEST + place] = total += one * one;
    }
  }
  for (let at = 0; at < keys.length; at++) keys[at] = next();
  return { squares, keys };
});

/** The mean largest weight of a softmax over `count` scores of width d, and the mean of Σ p(1 − p). */
export const means = kept((seed, width, count, scaled) => {
  const { squares, keys } = queries(seed);
  const grown = new Float64Array(count);
  let [largest, through] = [0, 0];
  for (let query = 0; query < QUERIES; query++) {
    const stretch = Math.sqrt(squares[query * WIDEST + width - 1] / (scaled ? width : 1));
    let most = -Infinity;
    for (let key = 0; key < count; key++) most = Math.max(most, keys[query * MOST_KEYS + key]);
    let total = 0;
    for (let key = 0; key < count; key++) {
      total += grown[key] = Math.exp(stretch * (keys[query * MOST_KEYS + key] - most));
    }
    let squared = 0;
    for (let key = 0; key < count; key++) squared += (grown[key] / total) ** 2;
    largest += 1 / total;
    through += 1 - squared;
  }
  return { largest: largest / QUERIES, through: through / QUERIES };
}, 4 * WIDTHS.length);

/** The scores of one query with `count` keys, all of them drawn number by number, the largest first. */
export function scores(seed, width, count) {
  const next = normals(seed + 2e6);
  const query = Array.from({ length: width }, next);
  const found = Array.from({ length: count }, () => query.reduce((total, one) => total + one * next(), 0));
  return found.sort((a, b) => b - a);
}
