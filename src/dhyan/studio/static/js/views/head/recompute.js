/** Scaled dot-product attention recomputed on the page. */

import { attend } from "../../attention.js";
import { add, maxDifference, matmul, rows, softmax, sum, vector } from "../../numbers.js";
import { maxAbs } from "../../vector_strips.js";

/** All stages of a toy. @param {import("../self_attention/toy.js").Toy} toy */
export function computeToy(toy) {
  const [queries, keys, values] = [toy.q, toy.k, toy.v].map((map) => matmul(toy.x, map));
  const [scoreQueries, scoreKeys] = toy.swapped ? [keys, queries] : [queries, keys];
  const scale = toy.scaled ? Math.sqrt(toy.q[0].length) : 1;
  const visible = toy.words.map((_, row) => toy.words.map((_, column) => !toy.causal || column <= row));
  const attention = attend({ queries: scoreQueries, keys: scoreKeys, values, scale, visible });
  const zeroed = attention.divided.map(softmax).map((line, row) =>
    line.map((weight, column) => (visible[row][column] ? weight : 0)));
  const outputs = toy.o ? matmul(attention.context, toy.o) : attention.context;
  return { queries, keys, values, scoreQueries, scoreKeys, scale, visible, ...attention, zeroed,
    sums: zeroed.map(sum), outputs };
}

const project = (x, { weight, bias }) => matmul(x, weight).map((line) => add(line, bias));

/**
 * @typedef {{weight: number[][], bias: number[]}} Projection x W + b
 * @typedef {Record<"queryInputs" | "memoryInputs" | "queries" | "keys" | "values" | "scores" | "weights" | "context" | "layerOutput", number[][]>
 *   & {query: Projection, key: Projection, value: Projection, scale: number, mask: boolean[][], contexts: number[][][],
 *   outputWeight: number[][], bias: number[]}} Head the model's values
 */

/** Unpack a head from the server's response. @param {PackedHead} response @returns {Head} */
export function unpackHead(response) {
  const projection = (packed) => ({ weight: rows(packed.weight), bias: vector(packed.bias) });
  const tables = { queryInputs: "query_inputs", memoryInputs: "memory_inputs", queries: "queries", keys: "keys",
    values: "values", scores: "scores", weights: "weights", context: "context", layerOutput: "layer_output" };
  const unpacked = Object.fromEntries(Object.entries(tables).map(([name, field]) => [name, rows(response[field])]));
  return { .../** @type {Record<keyof typeof tables, number[][]>} */ (unpacked),
    query: projection(response.query), key: projection(response.key), value: projection(response.value),
    scale: response.scale, mask: rows(response.mask).map((line) => line.map(Boolean)),
    contexts: response.contexts.map(rows), outputWeight: response.output_weights.flatMap(rows), bias: vector(response.bias) };
}

/**
 * Recompute a head from its inputs and parameters; `differences` has for each stage the largest difference
 * from the model and the largest magnitude. The contexts of the other heads are the model's.
 * @param {Head} head @param {number} number
 */
export function recomputeHead(head, number) {
  const queries = project(head.queryInputs, head.query);
  const keys = project(head.memoryInputs, head.key);
  const values = project(head.memoryInputs, head.value);
  const attention = attend({ queries, keys, values, scale: head.scale, visible: head.mask });
  const concatenated = attention.context.map((headContext, row) =>
    head.contexts.flatMap((context, index) => (index === number - 1 ? headContext : context[row])));
  const outputs = project(concatenated, { weight: head.outputWeight, bias: head.bias });
  const pairs = { queries: [queries, head.queries], keys: [keys, head.keys], values: [values, head.values],
    scores: [attention.scores, head.scores], weights: [attention.weights, head.weights],
    context: [attention.context, head.context], layerOutput: [outputs, head.layerOutput] };
  /** @type {Record<string, [number, number]>} */
  const differences = Object.fromEntries(Object.entries(pairs).map(([name, [computed, model]]) =>
    [name, [maxDifference(computed, model), maxAbs(...model)]]));
  return { queries, keys, values, ...attention, concatenated, layerOutput: outputs, differences };
}
