/** Attention done again in the page, from the operands it shows. */

import { add, maxDifference, matmul, rows, scaled, softmax, sum, transpose, vector } from "../../numbers.js";
import { mostOf } from "../../vector_strips.js";

/** Scores, mask, weights and mixtures of any queries, keys and values. */
export function attend({ queries, keys, values, scale, visible }) {
  const scores = matmul(queries, transpose(keys));
  const divided = scores.map((line) => scaled(line, 1 / scale));
  const mask = visible.map((line) => line.map((seen) => (seen ? 0 : -Infinity)));
  const masked = divided.map((line, row) => add(line, mask[row]));
  const weights = masked.map(softmax);
  return { scores, divided, mask, masked, weights, mixed: matmul(weights, values) };
}

/** Everything between the words of a toy and their mixtures. @param {import("./toy_state.js").Toy} toy */
export function computeToy(toy) {
  const [queries, keys, values] = [toy.q, toy.k, toy.v].map((map) => matmul(toy.x, map));
  const [asking, asked] = toy.swapped ? [keys, queries] : [queries, keys];
  const scale = toy.scaled ? Math.sqrt(toy.q[0].length) : 1;
  const visible = toy.words.map((_, row) => toy.words.map((_, column) => !toy.causal || column <= row));
  const found = attend({ queries: asking, keys: asked, values, scale, visible });
  const zeroed = found.divided.map(softmax).map((line, row) =>
    line.map((share, column) => (visible[row][column] ? share : 0)));
  const outputs = toy.o ? matmul(found.mixed, toy.o) : found.mixed;
  return { queries, keys, values, asking, asked, scale, visible, ...found, zeroed,
    sums: zeroed.map(sum), outputs };
}

const projected = (x, { weight, bias }) => matmul(x, weight).map((line) => add(line, bias));

/** A head as the server sends it, in rows of numbers. */
export function unpackHead(sent) {
  const projection = (one) => ({ weight: rows(one.weight), bias: vector(one.bias) });
  const tables = { queryInputs: "query_inputs", memoryInputs: "memory_inputs", queries: "queries", keys: "keys",
    values: "values", scores: "scores", weights: "weights", context: "context", layerOutput: "layer_output" };
  return { ...Object.fromEntries(Object.entries(tables).map(([name, field]) => [name, rows(sent[field])])),
    query: projection(sent.query), key: projection(sent.key), value: projection(sent.value),
    scale: sent.scale, mask: rows(sent.mask).map((line) => line.map(Boolean)),
    contexts: sent.contexts.map(rows), outputWeight: sent.output_weights.flatMap(rows), bias: vector(sent.bias) };
}

/**
 * A head done again from its words' vectors and its matrices alone, and for each stage how far it is
 * from what the model has, and the largest number there. The other heads come in where all are joined, as the model has them.
 */
export function recomputeHead(head, number) {
  const queries = projected(head.queryInputs, head.query);
  const keys = projected(head.memoryInputs, head.key);
  const values = projected(head.memoryInputs, head.value);
  const found = attend({ queries, keys, values, scale: head.scale, visible: head.mask });
  const joined = found.mixed.map((own, row) =>
    head.contexts.flatMap((one, at) => (at === number - 1 ? own : one[row])));
  const whole = projected(joined, { weight: head.outputWeight, bias: head.bias });
  const pairs = { queries: [queries, head.queries], keys: [keys, head.keys], values: [values, head.values],
    scores: [found.scores, head.scores], weights: [found.weights, head.weights],
    mixed: [found.mixed, head.context], whole: [whole, head.layerOutput] };
  const gaps = Object.fromEntries(Object.entries(pairs).map(([name, [own, model]]) =>
    [name, [maxDifference(own, model), mostOf(...model)]]));
  return { queries, keys, values, ...found, joined, whole, gaps };
}
