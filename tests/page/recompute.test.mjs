import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { attend } from "../../src/dhyan/studio/static/js/attention.js";
import { pack, packRows, packVector } from "../../src/dhyan/studio/static/js/engine/pack.js";
import { add, dot, matmul, maxDifference, softmax, sum } from "../../src/dhyan/studio/static/js/numbers.js";
import { explainWinner, labelOf, pathTo } from "../../src/dhyan/studio/static/js/views/beam/explain.js";
import { computeToy, recomputeHead, unpackHead } from "../../src/dhyan/studio/static/js/views/head/recompute.js";
import { encodeToy, PRESETS, readToy, removeWord, resizeToy } from "../../src/dhyan/studio/static/js/views/self_attention/toy.js";
import { MAX_KEYS, means, scores, variances, WIDTHS } from "../../src/dhyan/studio/static/js/views/scaling/sampling.js";
import { linear, recomputeStep, unpackSteps } from "../../src/dhyan/studio/static/js/views/step/recompute.js";

let state = 11;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647 - 0.5;
const matrix = (rows, columns) => Array.from({ length: rows }, () => Array.from({ length: columns }, random));
const near = (a, b, tolerance = 1e-5) => assert.ok(maxDifference(a, b) < tolerance, `they differ by ${maxDifference(a, b)}`);
const packed = (values) => (Array.isArray(values[0]) ? packRows(values) : packVector(Float32Array.from(values)));

test("rows of attention sum to one, a masked key has no weight and no influence", () => {
  const [queries, keys, values] = [matrix(3, 4), matrix(5, 4), matrix(5, 2)];
  const visible = queries.map((_, row) => keys.map((_, column) => column <= row + 1));
  const { weights, context } = attend({ queries, keys, values, scale: 2, visible });
  weights.forEach((row, index) => {
    assert.ok(Math.abs(sum(row) - 1) < 1e-12);
    row.forEach((weight, column) => visible[index][column] || assert.equal(weight, 0));
  });
  const changed = attend({ queries, keys: keys.with(4, [9, 9, 9, 9]), values: values.with(4, [99, 99]), scale: 2, visible });
  near(changed.context, context);
});

test("a context is in the convex hull of the values, and their mean where all scores are equal", () => {
  const values = matrix(4, 3);
  const visible = [[true, true, true, true]];
  const { context } = attend({ queries: [[0, 0]], keys: matrix(4, 2), values, scale: 1, visible });
  near(context, [values[0].map((_, column) => sum(values.map((row) => row[column])) / 4)]);
});

test("exchanging queries and keys transposes a toy's scores, and the mask is never looked through", () => {
  for (const toy of Object.values(PRESETS)) {
    const [plain, swapped] = [computeToy({ ...toy, swapped: false }), computeToy({ ...toy, swapped: true })];
    near(swapped.scores, plain.scores[0].map((_, column) => plain.scores.map((row) => row[column])));
    const causal = computeToy({ ...toy, causal: true });
    causal.weights.forEach((row, index) => row.forEach((weight, column) => column > index && assert.equal(weight, 0)));
  }
});

test("a toy is read from an address as it was written, and a preset by its name", () => {
  for (const [name, preset] of Object.entries(PRESETS)) {
    assert.equal(encodeToy(preset), name);
    const changed = { ...preset, words: preset.words.map((word) => `${word}s`), causal: !preset.causal, x: preset.x.map((row) => row.map((value) => value + 0.5)) };
    const { toy, corrected } = readToy(encodeToy(changed));
    assert.deepEqual(corrected, []);
    assert.deepEqual(toy, changed);
  }
  assert.deepEqual(readToy("words a b*x 1_y 3*q I*k I*v I").corrected, ["x"]);
});

test("a resized toy keeps its numbers, and a removed word takes its row along", () => {
  const { cat } = PRESETS;
  const smaller = resizeToy(resizeToy(cat, { words: 5, dk: 6 }), { words: 3, dk: 4 });
  assert.deepEqual(smaller, cat);
  const without = removeWord(cat, 1);
  assert.deepEqual(without.words, ["The", "sat"]);
  assert.deepEqual(without.x, [cat.x[0], cat.x[2]]);
});

test("a head recomputed from its own operands agrees with them, a changed one does not", () => {
  const width = 3;
  const inputs = matrix(4, 6);
  const layer = () => ({ weight: matrix(6, width), bias: matrix(1, width)[0] });
  const [query, key, value] = [layer(), layer(), layer()];
  const project = ({ weight, bias }) => matmul(inputs, weight).map((row) => add(row, bias));
  const [queries, keys, values] = [query, key, value].map(project);
  const mask = inputs.map((_, row) => inputs.map((_, column) => column <= row));
  const attention = attend({ queries, keys, values, scale: Math.sqrt(width), visible: mask });
  const other = matrix(4, width);
  const [outputWeights, bias] = [[matrix(width, 6), matrix(width, 6)], matrix(1, 6)[0]];
  const layerOutput = attention.context.map((row, at) => add(add(matmul([row], outputWeights[0])[0], matmul([other[at]], outputWeights[1])[0]), bias));
  const response = { scale: Math.sqrt(width), mask: packed(mask.map((row) => row.map(Number))), bias: packed(bias),
    query: { weight: packed(query.weight), bias: packed(query.bias) }, key: { weight: packed(key.weight), bias: packed(key.bias) },
    value: { weight: packed(value.weight), bias: packed(value.bias) }, query_inputs: packed(inputs), memory_inputs: packed(inputs),
    queries: packed(queries), keys: packed(keys), values: packed(values), scores: packed(attention.scores), weights: packed(attention.weights),
    context: packed(attention.context), layer_output: packed(layerOutput), output: packed(layerOutput), contexts: [attention.context, other].map(packed), output_weights: outputWeights.map(packed) };
  const { differences } = recomputeHead(unpackHead(response), 1);
  for (const [name, [difference]] of Object.entries(differences)) assert.ok(difference < 1e-5, `${name}: ${difference}`);
  const wrong = recomputeHead(unpackHead({ ...response, keys: packed(keys.map((row) => row.map((number) => number + 1))) }), 1);
  assert.ok(wrong.differences.keys[0] > 0.9);
});

/** The answer of the server for a decoder of a score, computed by its definition. */
function stepsResponse(score) {
  const [steps, length, width, units] = [2, 4, 3, 5];
  const [queries, states] = [matrix(steps, width), matrix(length, width)];
  const layer = (rows) => ({ weight: matrix(rows, width), bias: matrix(1, rows)[0] });
  const queryLayer = score === "additive" ? layer(units) : null;
  const keyLayer = { additive: () => layer(units), general: () => layer(width) }[score]?.() ?? null;
  const energy = matrix(1, units)[0];
  const keys = keyLayer ? states.map((h) => linear(keyLayer, h)) : states;
  const projected = queryLayer && queries.map((s) => linear(queryLayer, s));
  const scoreOf = { additive: (i, key) => dot(energy, add(projected?.[i] ?? [], key).map(Math.tanh)), scaled_dot: (i, key) => dot(queries[i], key) / Math.sqrt(width) }[score]
    ?? ((i, key) => dot(queries[i], key));
  const allScores = queries.map((_, i) => keys.map((key) => scoreOf(i, key)));
  const weights = allScores.map(softmax);
  const packedLayer = (own) => own && { weight: packed(own.weight), bias: packed(own.bias) };
  return { score, attends_after_step: false, queries: packed(queries), states: packed(states), keys: packed(keys), query_layer: packedLayer(queryLayer),
    key_layer: packedLayer(keyLayer), energy: queryLayer && packed(energy), projected_queries: projected && packed(projected), tanh: null,
    scores: packed(allScores), visibility: packed(allScores.map((row) => row.map(() => 1))), weights: packed(weights),
    contexts: packed(matmul(weights, states)), combine: null, attentional: null };
}

test("a decoder step recomputed from its operands agrees with the model for every score", () => {
  for (const score of ["additive", "general", "dot", "scaled_dot"]) {
    const response = stepsResponse(score);
    for (const step of [0, 1]) {
      const { page, maxDifference: largest, products } = recomputeStep(unpackSteps(response), step);
      assert.ok(largest < 1e-5, `${score}: ${largest}`);
      assert.ok(Math.abs(sum(page.alpha) - 1) < 1e-9);
      assert.ok(products > 0);
    }
    const other = { ...response, weights: pack(new Float32Array(8).fill(0.25), 2, 4) };
    assert.ok(recomputeStep(unpackSteps(other), 0).maxDifference > 1e-4, `${score}: a wrong weight is found`);
  }
});

const node = (parent, token, score, fate, step) => ({ parent, token, text: token, special: token === "</s>", logprob: score, score,
  score_by_length: score / Math.max(step, 1), rank: 1, fate, step, attention: [] });
const TREE = { nodes: [node(-1, "", 0, "kept", 0), node(0, "yes", -1, "kept", 1), node(0, "no", -0.5, "kept", 1),
  node(1, "</s>", -1.2, "finished", 2), node(2, "way", -2.5, "kept", 2), node(4, "</s>", -2.6, "finished", 3)], results: [3, 5],
greedy_path: [2, 4, 5], greedy_text: "no way", greedy_score: -2.6 / 3 };

test("a path begins after the start and follows the parents", () => {
  const path = pathTo(TREE.nodes, 5);
  assert.deepEqual(path, [2, 4, 5]);
  path.slice(1).forEach((index, at) => assert.equal(TREE.nodes[index].parent, path[at]));
  assert.deepEqual(pathTo(TREE.nodes, 0), []);
});

test("the winner is explained by the step where the second parts from it, and by what greedy search does", () => {
  const { winner, second, greedy, finished } = explainWinner(TREE);
  assert.equal(winner, TREE.nodes[3]);
  assert.equal(finished, true);
  const relabelled = { ...TREE, nodes: TREE.nodes.with(3, { ...TREE.nodes[3], text: "yes" }).with(5, { ...TREE.nodes[5], text: "no way" }) };
  assert.equal(explainWinner(relabelled).second?.step, 1);
  assert.equal(second, null, "two results of the same text are one");
  assert.equal(greedy?.step, 1);
  assert.deepEqual([greedy?.token.token, greedy?.winnerToken.token], ["no", "yes"]);
  assert.equal(explainWinner({ ...TREE, greedy_path: [1, 3] }).greedy, null);
});

test("a token that continues a word is written with a hyphen", () => {
  const nodes = [node(-1, "", 0, "kept", 0), { ...node(0, "sta", 0, "kept", 1), text: "sta" }, { ...node(1, "tion", 0, "kept", 2), text: "station" },
    { ...node(1, "way", 0, "kept", 2), text: "sta way" }];
  assert.deepEqual([1, 2, 3].map((index) => labelOf(nodes, index)), ["sta", "\u2011tion", "way"]);
});

test("the variance of q·k grows as the width, and scaling keeps the softmax soft", () => {
  variances(3).forEach((variance, index) => assert.ok(variance / WIDTHS[index] > 0.7 && variance / WIDTHS[index] < 1.4, `${WIDTHS[index]}: ${variance}`));
  const [raw, scaled] = [false, true].map((own) => means(3, 1024, 16, own));
  assert.ok(raw.largest > 0.9 && scaled.largest < 0.5);
  assert.ok(raw.gradient < 0.1 && scaled.gradient > 0.5);
  assert.deepEqual(means(3, 1024, 16, true), scaled);
});

test("scores of one query are sorted, and the same for the same seed", () => {
  const own = scores(5, 64, MAX_KEYS);
  assert.equal(own.length, MAX_KEYS);
  assert.deepEqual(own, own.toSorted((a, b) => b - a));
  assert.deepEqual(scores(5, 64, MAX_KEYS), own);
  assert.notEqual(scores(6, 64, MAX_KEYS)[0], own[0]);
});
