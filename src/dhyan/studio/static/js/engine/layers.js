/** Layers over vectors of 32-bit floats: linear, layer norm, softmax, scores, weighted sums. */

/** @typedef {Float32Array} Vector */
/** @typedef {import("./weights.js").Linear} Linear */

/**
 * W x + b for every input; four inputs share each read of the weights.
 * @param {Linear} layer @param {Vector[]} inputs @returns {Vector[]}
 */
export function linear(layer, inputs) {
  const outputs = inputs.map(() => new Float32Array(layer.rows));
  let first = 0;
  for (; first + 4 <= inputs.length; first += 4) multiplyFour(layer, inputs.slice(first, first + 4), outputs.slice(first, first + 4));
  for (; first < inputs.length; first += 1) multiplyOne(layer, inputs[first], outputs[first]);
  return outputs;
}

/** @param {Linear} layer @param {Vector[]} inputs four @param {Vector[]} outputs */
function multiplyFour({ weight, bias, rows, columns }, [x0, x1, x2, x3], [y0, y1, y2, y3]) {
  for (let row = 0, at = 0; row < rows; row += 1) {
    let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0];
    for (let column = 0; column < columns; column += 1, at += 1) {
      const value = weight[at];
      sum0 += value * x0[column];
      sum1 += value * x1[column];
      sum2 += value * x2[column];
      sum3 += value * x3[column];
    }
    const add = bias ? bias[row] : 0;
    y0[row] = sum0 + add;
    y1[row] = sum1 + add;
    y2[row] = sum2 + add;
    y3[row] = sum3 + add;
  }
}

function multiplyOne({ weight, bias, rows, columns }, input, output) {
  const whole = columns - (columns % 4);
  for (let row = 0, at = 0; row < rows; row += 1) {
    let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0];
    for (let column = 0; column < whole; column += 4, at += 4) {
      sum0 += weight[at] * input[column];
      sum1 += weight[at + 1] * input[column + 1];
      sum2 += weight[at + 2] * input[column + 2];
      sum3 += weight[at + 3] * input[column + 3];
    }
    for (let column = whole; column < columns; column += 1, at += 1) sum0 += weight[at] * input[column];
    output[row] = sum0 + sum1 + sum2 + sum3 + (bias ? bias[row] : 0);
  }
}

/** The row of an embedding table. @param {import("./weights.js").Tensor} table @param {number} id */
export const embed = (table, id) => table.data.slice(id * table.shape[1], (id + 1) * table.shape[1]);

/** (x − mean) / √(variance + 10⁻⁵), scaled and shifted (Ba et al., 2016). @param {import("./weights.js").Norm} layer
 * @param {Vector} x @returns {Vector} */
export function layerNorm({ weight, bias }, x) {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const scale = 1 / Math.sqrt(variance + 1e-5);
  return x.map((value, index) => (value - mean) * scale * weight[index] + bias[index]);
}

/** @param {ArrayLike<number>} scores @returns {Vector} */
export function softmax(scores) {
  const exponentials = Float64Array.from(scores);
  const largest = exponentials.reduce((a, b) => Math.max(a, b), -Infinity);
  let total = 0;
  for (let index = 0; index < exponentials.length; index += 1) {
    exponentials[index] = Math.exp(exponentials[index] - largest);
    total += exponentials[index];
  }
  return Float32Array.from(exponentials, (value) => value / total);
}

/** @param {Vector} logits @returns {Vector} */
export function logSoftmax(logits) {
  const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  let total = 0;
  for (let index = 0; index < logits.length; index += 1) total += Math.exp(logits[index] - largest);
  const shift = largest + Math.log(total);
  return logits.map((logit) => logit - shift);
}

/** The ids of the largest numbers, largest first. @param {Vector} logits @param {number} count */
export const largest = (logits, count) => [...logits.keys()].sort((a, b) => logits[b] - logits[a]).slice(0, count);

/** Σ_i a_i b_i over a part of two vectors. */
export function dot(a, b, start = 0, stop = a.length) {
  let sum = 0;
  for (let index = start; index < stop; index += 1) sum += a[index] * b[index];
  return sum;
}

/** Add Σ_j weights_j values_j to a part of a vector. @param {Vector} output @param {Vector} weights @param {Vector[]} values */
export function addWeighted(output, weights, values, start = 0, stop = output.length) {
  for (let index = start; index < stop; index += 1) {
    let sum = 0;
    for (let row = 0; row < values.length; row += 1) sum += weights[row] * values[row][index];
    output[index] = sum;
  }
}

/** @param {...Vector} parts @returns {Vector} */
export function concatenate(...parts) {
  const whole = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @param {Vector} a @param {Vector} b @returns {Vector} */
export const sum = (a, b) => a.map((value, index) => value + b[index]);
export const sigmoid = (x) => 1 / (1 + Math.exp(-x));
