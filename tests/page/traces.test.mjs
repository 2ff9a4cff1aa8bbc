import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { groups, mergeUnits, selectHead } from "../../src/dhyan/studio/static/js/trace.js";
import { alignTokens, matchTokens } from "../../src/dhyan/studio/static/js/views/translate/match_tokens.js";
import { assess } from "../../src/dhyan/studio/static/js/views/translate/quality.js";

const token = (text, word, id = 9) => ({ text, word, id, special: id < 4 });
const side = (words, tokens) => ({ words, tokens: tokens.map((entry) => token(...entry)) });
const SOURCE = side(["old", "men", "</s>"], [["old", 0], ["m", 1], ["en", 1], ["</s>", 2, 2]]);
const TARGET = side(["बूढ़े", "आदमी"], [["बूढ़े", 0], ["आद", 1], ["मी", 1]]);
const TABLE = [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.3, 0.3, 0.3, 0.1]];

test("a word's weight is the sum over its source tokens and the mean over its target tokens", () => {
  const { values } = mergeUnits({ source: SOURCE, target: TARGET, decoder_input: TARGET }, "cross", TABLE, { unit: "word", specials: true });
  const expected = [[0.4, 0.5, 0.1], [0.2, 0.55, 0.25]];
  values.flat().forEach((value, index) => assert.ok(Math.abs(value - expected.flat()[index]) < 1e-12));
  for (const row of values) assert.ok(Math.abs(row.reduce((a, b) => a + b) - 1) < 1e-12);
});

test("special tokens are left out on request, the unknown token is not", () => {
  assert.deepEqual(groups(SOURCE, "word", false).map((unit) => unit.text), ["old", "men"]);
  const unknown = side(["qqq"], [["<unk>", 0, 3]]);
  assert.equal(groups(unknown, "token", false).length, 1);
});

test("the mean of heads is between the smallest and the largest head", () => {
  const [first, second] = [TABLE, TABLE.map((row) => [...row].reverse())];
  const [mean, largest] = ["avg", "max"].map((which) => selectHead([first, second], which));
  mean.forEach((row, i) => row.forEach((value, j) => {
    assert.ok(value <= largest[i][j] + 1e-12 && value >= Math.min(first[i][j], second[i][j]) - 1e-12);
  }));
  assert.equal(selectHead([first, second], "2"), second);
});

test("tokens are aligned by the longest common subsequence, in both directions alike", () => {
  const words = (text) => text.split(" ").map((word) => ({ text: word }));
  const [left, right] = [words("the old man sleeps"), words("the man sleeps well now")];
  const there = alignTokens(left, right);
  const back = alignTokens(right, left);
  assert.deepEqual(there, [0, null, 1, 2]);
  there.forEach((partner, index) => partner !== null && assert.equal(back[partner], index));
});

test("rows of a difference of two distributions sum to zero", () => {
  const view = (values) => ({ values, rows: [{ text: "a" }], columns: [{ text: "x" }, { text: "y" }] });
  const { values, distances } = matchTokens(view([[0.25, 0.75]]), view([[1, 0]]));
  assert.deepEqual(values, [[0.75, -0.75]]);
  assert.deepEqual(distances, [0.75]);
});

const traceOf = (text, unknown, logprobs) => ({ text, unknown_words: unknown, steps: logprobs.map((logprob) => ({ logprob })) });

test("unknown words are counted among the words; punctuation and numbers are neither", () => {
  const { words, unknown } = assess(traceOf("The zorblat's old – 42 qq ☃.", ["zorblat", "qq", "☃"], [0]));
  assert.deepEqual(words, ["The", "zorblat's", "old", "qq"]);
  assert.deepEqual(unknown, ["zorblat", "qq"]);
});

test("a trace without a list of unknown words has none", () => {
  assert.deepEqual(assess(traceOf("The old man", undefined, [0])).unknown, []);
});

test("the probability is the geometric mean of the tokens' probabilities", () => {
  const { probability } = assess(traceOf("", [], [Math.log(0.5), Math.log(0.125)]));
  assert.ok(Math.abs(probability - 0.25) < 1e-12);
});
