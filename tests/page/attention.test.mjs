import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";

const JS = "../../src/dhyan/studio/static/js";
const { hasSelfAttention, sourceReading } = await import(`${JS}/trace.js`);
const { matchTokens } = await import(`${JS}/views/translate/match_tokens.js`);
const { replaceWord, suggestWords, swappedWord } = await import(`${JS}/views/translate/word_swap.js`);

const block = (role, rows) => ({ role, layer: 1, shape: [1, rows.length, rows[0].length],
  data: Buffer.from(new Float32Array(rows.flat()).buffer).toString("base64") });
const trace = (...blocks) => ({ attention: blocks });

test("a trace tells how the sentence is read, whatever the model is called", () => {
  assert.equal(sourceReading(trace()), "none");
  assert.equal(sourceReading(trace(block("cross", [[0, 0, 1], [0, 0, 1]]))), "one_vector");
  assert.equal(sourceReading(trace(block("cross", [[1, 0], [1, 0]]))), "one_vector"); // a sentence read from its end
  assert.equal(sourceReading(trace(block("cross", [[0, 1], [1, 0]]))), "weights");
  assert.equal(sourceReading(trace(block("cross", [[1], [1]]))), "weights"); // of a sentence of one token
  assert.equal(sourceReading(trace(block("cross", [[0.25, 0.75], [0.5, 0.5]]))), "weights");
  assert.ok(hasSelfAttention(trace(block("cross", [[1]]), block("decoder_self", [[1]]))));
  assert.ok(!hasSelfAttention(trace(block("cross", [[1]]))));
});

test("a word of a sentence is replaced by itself, not inside another word", () => {
  const words = ["The", "man", "saw", "the", "woman", "."];
  const text = "The man saw the woman.";
  assert.equal(replaceWord(text, words, 1, "boy"), "The boy saw the woman.");
  assert.equal(replaceWord(text, words, 4, "girl"), "The man saw the girl.");
  assert.equal(replaceWord("A man.", ["A", "man."], 1, "cow"), "A cow."); // punctuation stays
  assert.equal(replaceWord("It costs $1.", ["It", "costs", "$1."], 2, "$&"), "It costs $$&."); // no pattern
  assert.equal(replaceWord(text, ["cat"], 0, "dog"), null);
});

test("one exchanged word is found, and two are not", () => {
  assert.deepEqual(swappedWord("My sister works.", "My sister sleeps."), { index: 2, from: "works", to: "sleeps" });
  assert.equal(swappedWord("My sister works.", "His sister sleeps."), null);
  assert.equal(swappedWord("My sister works.", "My sister works here."), null);
  assert.equal(swappedWord("Same.", "Same."), null);
});

test("suggested words are of one kind, keep the capital, and never the word itself", () => {
  assert.ok(suggestWords("sister").includes("brother"));
  assert.ok(!suggestWords("sister").includes("sister"));
  assert.ok(suggestWords("She").every((word) => /^[A-Z]/.test(word)));
  assert.ok(suggestWords("n").length > 0); // a letter of a toy
  assert.deepEqual(suggestWords("bandersnatch"), []);
});

test("the difference of two translations has the rows of the words of both", () => {
  const view = (rows, values) => ({ rows: rows.map((text) => ({ text })), columns: [{ text: "x" }, { text: "y" }], values, sums: values.map(() => 1) });
  const a = view(["p", "q", "r"], [[1, 0], [0.5, 0.5], [0, 1]]);
  const b = view(["p", "r"], [[0.75, 0.25], [0.25, 0.75]]);
  const match = matchTokens(a, b);
  assert.deepEqual(match.differenceRows, [0, 2]);
  assert.deepEqual(match.values, [[-0.25, 0.25], [0.25, -0.25]]);
  assert.deepEqual(match.distances, [0.25, 0.25]);
  assert.equal(matchTokens(a, { ...b, columns: [{ text: "x" }] }).values, null);
});
