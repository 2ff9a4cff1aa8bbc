/** Operands of a recurrent decoder's attention steps, and of one head of a Transformer, as the studio's routes give them. */

import { dot, linear } from "./layers.js";
import { pack, packRows, packVector } from "./pack.js";

/** @typedef {Float32Array} Vector */
/** @typedef {import("./model.js").Call} Call */
/** @typedef {import("./model.js").SingleCall} SingleCall */

const LARGEST_TANH = 2_000_000; // numbers; the tanh layer of longer sentences is left out

const layerOf = (layer) => layer && { weight: pack(layer.weight, layer.rows, layer.columns), bias: layer.bias && packVector(layer.bias) };

/** The fields of `dhyan.insight.decoder_step_operands.DecoderSteps`. @param {any} decoder with one attention
 * @param {import("./model.js").Encoded} encoded @param {SingleCall[]} calls of the attention, one per step */
export function decoderSteps(decoder, encoded, calls) {
  const { attention } = decoder;
  const { keys, values } = attention.remember(encoded);
  const uniform = attention.score === "bottleneck";
  const size = calls.length * keys.length * keys[0].length;
  const tanh = attention.energy && size <= LARGEST_TANH
    ? pack(Float32Array.from(calls.flatMap(({ projected }) => keys.flatMap((key) => Array.from(key, (value, index) => Math.tanh(projected[index] + value))))),
      calls.length, keys.length, keys[0].length) : null;
  const ones = calls.map(() => new Float32Array(keys.length).fill(1));
  return {
    score: attention.score === "concat" ? "additive" : attention.score,
    attends_after_step: Boolean(decoder.combine),
    queries: packRows(calls.map(({ query }) => query)), states: packRows(values),
    query_layer: layerOf(attention.query), key_layer: layerOf(attention.key), energy: attention.energy && packVector(attention.energy),
    projected_queries: attention.energy ? packRows(calls.map(({ projected }) => projected)) : null,
    keys: uniform ? pack(new Float32Array(), keys.length, 0) : packRows(keys), tanh,
    scores: packRows(uniform ? ones.map((row) => row.map(() => 0)) : calls.map(({ scores }) => scores)),
    visibility: packRows(uniform ? calls.map(({ weights }) => weights[0]) : ones),
    weights: packRows(calls.map(({ weights }) => weights[0])), contexts: packRows(calls.map(({ output }) => output)),
    combine: layerOf(decoder.combine), attentional: decoder.combine ? packRows(calls.map(({ attentional }) => /** @type {Vector} */ (attentional))) : null,
  };
}

/** The fields of `dhyan.insight.head_operands.HeadOperands`, and the contexts of all heads.
 * @param {any} attention a MultiHeadAttention @param {{name: string, role: string, layer: number}} place
 * @param {Vector[]} memoryInputs @param {Call[]} calls one per query @param {number} head counted from 1 */
export function headOperands(attention, place, memoryInputs, calls, head) {
  const { heads, headWidth, scale } = attention;
  const queryInputs = calls.map(({ query }) => query);
  const projected = { query: linear(attention.query, queryInputs), key: linear(attention.key, memoryInputs), value: linear(attention.value, memoryInputs) };
  const part = (rows, number) => rows.map((row) => row.slice(number * headWidth, (number + 1) * headWidth));
  const visible = (row, column) => place.role !== "decoder_self" || column <= row;
  const contextOf = (number) => calls.map(({ weights }) => {
    const values = part(projected.value, number);
    return Float32Array.from({ length: headWidth }, (_, index) => weights[number].reduce((sum, weight, column) => sum + weight * values[column][index], 0));
  });
  const [queries, keys] = [part(projected.query, head - 1), part(projected.key, head - 1)];
  const context = contextOf(head - 1);
  const outputWeight = (number) => Array.from({ length: headWidth }, (_, index) =>
    Float32Array.from({ length: attention.output.rows }, (__, row) => attention.output.weight[row * attention.output.columns + number * headWidth + index]));
  const own = outputWeight(head - 1);
  const full = (weights) => Float32Array.from({ length: memoryInputs.length }, (_, column) => weights[column] ?? 0);
  const everyHead = Array.from({ length: heads }, (_, number) => number);
  return {
    ...place, query_inputs: packRows(queryInputs), memory_inputs: packRows(memoryInputs),
    ...Object.fromEntries(["query", "key", "value"].map((name) => [name, projection(attention[name], (head - 1) * headWidth, headWidth)])),
    output_weight: packRows(own), queries: packRows(queries), keys: packRows(keys), values: packRows(part(projected.value, head - 1)),
    scale: 1 / scale, scores: packRows(queries.map((query) => Float32Array.from(keys, (key) => dot(query, key)))),
    mask: packRows(calls.map((_, row) => memoryInputs.map((__, column) => Number(visible(row, column))))),
    weights: packRows(calls.map(({ weights }) => full(weights[head - 1]))), context: packRows(context),
    output: packRows(context.map((row) => Float32Array.from({ length: attention.output.rows }, (_, index) => row.reduce((sum, value, at) => sum + value * own[at][index], 0)))),
    layer_output: packRows(calls.map(({ output }) => output)),
    contexts: everyHead.map((number) => packRows(contextOf(number))), output_weights: everyHead.map((number) => packRows(outputWeight(number))),
    bias: packVector(attention.output.bias),
  };
}

/** x W + b of one head: some rows of a layer, transposed. */
function projection({ weight, bias, columns }, first, count) {
  return { weight: packRows(Array.from({ length: columns }, (_, column) => Float32Array.from({ length: count }, (__, row) => weight[(first + row) * columns + column]))),
    bias: packVector(bias.slice(first, first + count)) };
}
