/** Questions of the guided tour: the right answer follows from the numbers, and is among different choices. */

import "./browser_stub.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";

const { questionOf } = await import("../../src/dhyan/studio/static/js/views/tour/questions.js");

const token = (text, special = false) => ({ text, id: text.length, special });
const source = [token("The"), token("sun"), token("shines"), token("."), token("</s>", true)];
const numbers = {
  kind: "bahdanau", source, step: 0, best: 1, after: false, weights: [0.05, 0.9, 0.03, 0.01, 0.01], scores: [1, 4, 0.5, -1, -1.5],
  embeddings: [[1, 2, 3, 4]], token: token("सूरज"), previous: token("<s>", true), next: token("चमकता"),
  targetWords: [{ text: "सूरज", tokens: [0] }, { text: "चमकता", tokens: [1] }, { text: "है", tokens: [2] }],
  trace: { text: "The sun shines.", target: { tokens: [token("सूरज"), token("चमकता"), token("है"), token("</s>", true)] } },
  vocabularySize: 4000, top: [{ id: 4, text: "सूरज", prob: 0.8 }, { id: 9, text: "धूप", prob: 0.1 }, { id: 8, text: "दिन", prob: 0.05 }],
};
const choicesOf = (name, changes = {}) => questionOf(name, { ...numbers, ...changes })?.choices ?? [];
const right = (name, changes = {}) => choicesOf(name, changes).filter(({ correct }) => correct).map(({ text }) => text);

test("one choice is right, and no two are alike", () => {
  for (const name of ["sentence", "tokens", "embedding", "states", "query_before", "scores", "softmax", "context", "decoder_state", "distribution", "word"]) {
    const choices = choicesOf(name);
    assert.equal(choices.filter(({ correct }) => correct).length, 1, name);
    assert.equal(new Set(choices.map(({ text }) => text)).size, choices.length, name);
    assert.ok(choices.length >= 2, name);
  }
});

test("the right answer is that of the numbers", () => {
  assert.deepEqual(right("sentence"), ["one token after the other"]);
  assert.deepEqual(right("self_attention"), ["25"]);
  assert.deepEqual(right("tokens"), ["5"]);
  assert.deepEqual(right("scores"), ["“sun”"]);
  assert.deepEqual(right("scores", { scores: [1, 2, 3, 4, 9] }), ["“</s>”"]);
  assert.deepEqual(right("context"), ["90.0 %"]);
  assert.deepEqual(right("distribution"), ["all 4,000"]);
  assert.deepEqual(right("softmax"), ["1"]);
  assert.deepEqual(right("softmax", { kind: "luong" }), ["4.00"]);
});

test("the query is the state before the step or after it", () => {
  assert.match(right("query_before")[0], /^s₀/);
  assert.match(right("query_after", { after: true })[0], /^s₁/);
});

test("after the end nothing is read", () => {
  assert.match(right("word", { next: null, token: token("</s>", true) })[0], /nothing/);
});

test("numbers that leave no choice ask nothing", () => {
  assert.equal(questionOf("scores", { ...numbers, source: [token("</s>", true)], scores: [1] }), null);
});
