/** Recomputes a decoder step from its operands and compares it with the model. */

import { maxAbs } from "../../vector_strips.js";
import { unpack, rows as table, vector, dot, add, softmax, scaleVector, maxDifference } from "../../numbers.js";

/** Unpack the server's response, once for all steps. @param {PackedSteps} response */
export function unpackSteps(response) {
  const layer = (packed) => packed && { weight: table(packed.weight), bias: packed.bias && vector(packed.bias) };
  const optional = (packed, as) => packed && as(packed);
  return {
    score: response.score, after: response.attends_after_step,
    queries: table(response.queries), states: table(response.states), keys: keysOf(response.keys),
    queryLayer: layer(response.query_layer), keyLayer: layer(response.key_layer), combine: layer(response.combine),
    energy: optional(response.energy, vector), projectedQueries: optional(response.projected_queries, table),
    tanh: optional(response.tanh, cube), scores: table(response.scores), visibility: table(response.visibility),
    weights: table(response.weights), contexts: table(response.contexts),
    attentional: optional(response.attentional, table),
    projectedKeys: null,
  };
}

/** A location score uses no keys: they have width 0. */
const keysOf = (packed) => (packed.shape[1] ? table(packed) : Array.from({ length: packed.shape[0] }, () => []));

function cube(packed) {
  const { shape: [steps, height, width], data } = unpack(packed);
  return (step) => Array.from({ length: height }, (_, row) => {
    const from = (Math.min(step, steps - 1) * height + row) * width;
    return Array.from(data.subarray(from, from + width));
  });
}

export const linear = ({ weight, bias }, x) => {
  const output = weight.map((row) => dot(row, x));
  return bias ? add(output, bias) : output;
};

/** The rows of the computation in order. */
export function rowsOf({ score, after, visibility }) {
  const window = visibility.some((line) => line.some((visible) => visible < 1));
  const query = score === "additive" ? ["s", "Ws"] : ["s"];
  const states = { additive: ["h", "Uh"], general: ["h", "Wh"] }[score] ?? ["h"];
  const network = score === "additive" ? ["sum", "tanh"] : [];
  return { query, states, scores: [...network, "e", ...(window ? ["visibility"] : []), "exp", "alpha"],
    context: ["ah", "c", ...(after ? ["tilde"] : [])] };
}

/**
 * Recompute a step, counted from 0: `page` is computed from s, h and the parameters of
 * the model, row by row; `model` has the model's values; `differences` has the
 * largest difference of each row, `sizes` its largest magnitude.
 */
export function recomputeStep(operands, step) {
  const page = {};
  const model = {};
  page.s = operands.queries[step];
  page.h = operands.states;
  operands.projectedKeys ??= operands.keyLayer && page.h.map((state) => linear(operands.keyLayer, state));
  const keys = operands.projectedKeys ?? page.h;
  if (operands.score === "additive") {
    page.Ws = linear(operands.queryLayer, page.s);
    page.Uh = keys;
    page.sum = keys.map((key) => add(key, page.Ws));
    page.tanh = page.sum.map((line) => line.map(Math.tanh));
    model.Ws = operands.projectedQueries[step];
    model.Uh = operands.keys;
    model.sum = operands.keys.map((key) => add(key, model.Ws));
    if (operands.tanh) model.tanh = operands.tanh(step);
  } else if (operands.score === "general") {
    page.Wh = keys;
    model.Wh = operands.keys;
  }
  page.e = scores(operands, page);
  model.e = operands.scores[step];
  page.visibility = operands.visibility[step];
  const visible = (scores) => scores.map((score, j) => (page.visibility[j] > 0 ? score : -Infinity));
  page.maxScore = Math.max(...visible(page.e));
  page.shift = page.maxScore > 50 || page.maxScore < -50 ? page.maxScore : 0; // keeps exp readable
  const exponentials = (scores) => visible(scores).map((score) => Math.exp(score - page.shift));
  page.exp = exponentials(page.e);
  model.exp = exponentials(model.e);
  page.alpha = softmax(visible(page.e)).map((weight, j) => weight * page.visibility[j]);
  model.alpha = operands.weights[step];
  page.ah = page.h.map((state, j) => scaleVector(state, page.alpha[j]));
  model.ah = page.h.map((state, j) => scaleVector(state, model.alpha[j]));
  page.c = page.ah.reduce(add);
  model.c = operands.contexts[step];
  if (operands.combine) {
    page.tilde = linear(operands.combine, [...page.c, ...page.s]).map(Math.tanh);
    model.tilde = operands.attentional[step];
  }
  const compared = Object.keys(model);
  const differences = Object.fromEntries(compared.map((row) => [row, difference(page[row], model[row])]));
  const sizes = Object.fromEntries(compared.map((row) => [row, maxAbs(model[row].flat())]));
  const scaleFixed = compared.filter((row) => row !== "exp"); // exp is compared relative to its size
  return { page, model, differences, sizes, maxDifference: Math.max(...scaleFixed.map((row) => differences[row])),
    size: Math.max(...scaleFixed.map((row) => sizes[row])), products: products(operands) };
}

function scores(operands, { s, h, tanh, Wh }) {
  switch (operands.score) {
    case "additive": return tanh.map((line) => dot(operands.energy, line));
    case "general": return Wh.map((line) => dot(s, line));
    case "scaled_dot": return h.map((line) => dot(s, line) / Math.sqrt(s.length));
    case "location": return h.map((_, j) => (operands.queryLayer.weight[j] ? dot(operands.queryLayer.weight[j], s) : -Infinity));
    default: return h.map((line) => dot(s, line));
  }
}

/** The largest difference of a row; −∞ equals −∞. */
const difference = (a, b) => (Array.isArray(a[0]) ? maxDifference(a, b)
  : Math.max(0, ...a.map((value, index) => (value === b[index] ? 0 : Math.abs(value - b[index])))));

/** Number of multiplications of a step. */
function products(operands) {
  const size = (layer) => (layer ? layer.weight.length * layer.weight[0].length : 0);
  const [length, width] = [operands.states.length, operands.states[0].length];
  const matched = { additive: operands.energy?.length, general: operands.queries[0].length, location: 0 }[operands.score]
    ?? operands.queries[0].length;
  return size(operands.queryLayer) + length * size(operands.keyLayer) + length * matched + length * width + size(operands.combine);
}
