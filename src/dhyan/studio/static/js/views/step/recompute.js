/** One decoder step worked out again from its operands, beside the model's own numbers. */

import { mostOf } from "../../vector_strips.js";
import { unpack, rows as table, vector, dot, add, softmax, scaled, maxDifference } from "../../numbers.js";

/** What the server packed, as lists: read once for all steps. */
export function unpackSteps(found) {
  const layer = (one) => one && { weight: table(one.weight), bias: one.bias && vector(one.bias) };
  const some = (packed, as) => packed && as(packed);
  return {
    score: found.score, after: found.attends_after_step,
    queries: table(found.queries), states: table(found.states), keys: keysOf(found.keys),
    queryLayer: layer(found.query_layer), keyLayer: layer(found.key_layer), combine: layer(found.combine),
    energy: some(found.energy, vector), projectedQueries: some(found.projected_queries, table),
    tanh: some(found.tanh, cube), scores: table(found.scores), visibility: table(found.visibility),
    weights: table(found.weights), contexts: table(found.contexts),
    attentional: some(found.attentional, table),
    made: null,
  };
}

/** A score that matches nothing has keys without numbers. */
const keysOf = (packed) => (packed.shape[1] ? table(packed) : Array.from({ length: packed.shape[0] }, () => []));

function cube(packed) {
  const { shape: [steps, height, width], data } = unpack(packed);
  return (step) => Array.from({ length: height }, (_, row) => {
    const from = (Math.min(step, steps - 1) * height + row) * width;
    return Array.from(data.subarray(from, from + width));
  });
}

export const linear = ({ weight, bias }, x) => {
  const found = weight.map((row) => dot(row, x));
  return bias ? add(found, bias) : found;
};

/** The rows of the computation, in the order they are worked out. */
export function rowsOf({ score, after, visibility }) {
  const window = visibility.some((line) => line.some((one) => one < 1));
  const asks = { additive: ["s", "Ws"], location: ["s"] }[score] ?? ["s"];
  const states = { additive: ["h", "Uh"], general: ["h", "Wh"] }[score] ?? ["h"];
  const network = score === "additive" ? ["sum", "tanh"] : [];
  return { asks, states, fits: [...network, "e", ...(window ? ["seen"] : []), "exp", "alpha"],
    takes: ["ah", "c", ...(after ? ["tilde"] : [])] };
}

/**
 * Everything about a step, counted from 0: `here` is worked out on the page from s, h and what
 * the model has learned, one row from the other; `model` is what the model had; `apart` is the
 * largest difference in each row, `sizes` its largest number.
 */
export function recomputeStep(found, step) {
  const here = {};
  const model = {};
  here.s = found.queries[step];
  here.h = found.states;
  found.made ??= found.keyLayer && here.h.map((state) => linear(found.keyLayer, state));
  const keys = found.made ?? here.h;
  if (found.score === "additive") {
    here.Ws = linear(found.queryLayer, here.s);
    here.Uh = keys;
    here.sum = keys.map((one) => add(one, here.Ws));
    here.tanh = here.sum.map((line) => line.map(Math.tanh));
    model.Ws = found.projectedQueries[step];
    model.Uh = found.keys;
    model.sum = found.keys.map((one) => add(one, model.Ws));
    if (found.tanh) model.tanh = found.tanh(step);
  } else if (found.score === "general") {
    here.Wh = keys;
    model.Wh = found.keys;
  }
  here.e = scores(found, here);
  model.e = found.scores[step];
  here.seen = found.visibility[step];
  const visible = (scored) => scored.map((one, j) => (here.seen[j] > 0 ? one : -Infinity));
  here.most = Math.max(...visible(here.e));
  here.shift = here.most > 50 || here.most < -50 ? here.most : 0; // exp of more is no number to read
  const grown = (scored) => visible(scored).map((one) => Math.exp(one - here.shift));
  here.exp = grown(here.e);
  model.exp = grown(model.e);
  here.alpha = softmax(visible(here.e)).map((one, j) => one * here.seen[j]);
  model.alpha = found.weights[step];
  here.ah = here.h.map((state, j) => scaled(state, here.alpha[j]));
  model.ah = here.h.map((state, j) => scaled(state, model.alpha[j]));
  here.c = here.ah.reduce(add);
  model.c = found.contexts[step];
  if (found.combine) {
    here.tilde = linear(found.combine, [...here.c, ...here.s]).map(Math.tanh);
    model.tilde = found.attentional[step];
  }
  const compared = Object.keys(model);
  const between = Object.fromEntries(compared.map((row) => [row, difference(here[row], model[row])]));
  const sizes = Object.fromEntries(compared.map((row) => [row, mostOf(model[row].flat())]));
  const steady = compared.filter((row) => row !== "exp"); // which has a size of its own, and is told in shares
  return { here, model, apart: between, sizes, most: Math.max(...steady.map((row) => between[row])),
    size: Math.max(...steady.map((row) => sizes[row])), products: products(found) };
}

function scores(found, { s, h, tanh, Wh }) {
  switch (found.score) {
    case "additive": return tanh.map((line) => dot(found.energy, line));
    case "general": return Wh.map((line) => dot(s, line));
    case "scaled_dot": return h.map((line) => dot(s, line) / Math.sqrt(s.length));
    case "location": return h.map((_, j) => (found.queryLayer.weight[j] ? dot(found.queryLayer.weight[j], s) : -Infinity));
    default: return h.map((line) => dot(s, line));
  }
}

/** The largest difference of a row; what is −∞ in both is the same. */
const difference = (a, b) => (Array.isArray(a[0]) ? maxDifference(a, b)
  : Math.max(0, ...a.map((one, at) => (one === b[at] ? 0 : Math.abs(one - b[at])))));

/** How many products a step takes on the page. */
function products(found) {
  const size = (layer) => (layer ? layer.weight.length * layer.weight[0].length : 0);
  const [places, width] = [found.states.length, found.states[0].length];
  const matched = { additive: found.energy?.length, general: found.queries[0].length, location: 0 }[found.score]
    ?? found.queries[0].length;
  return size(found.queryLayer) + places * size(found.keyLayer) + places * matched + places * width + size(found.combine);
}
