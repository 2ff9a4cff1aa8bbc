import { test } from "node:test";
import assert from "node:assert/strict";
import { alignSequences } from "../../src/dhyan/studio/static/js/engine/sequence_alignment.js";
import { changedWords, compareWords } from "../../src/dhyan/studio/static/js/engine/word_diff.js";

const PAIRS = [["", ""], ["a b c", ""], ["a b c d", "a c d e"], ["the old man sleeps", "the man sleeps well"], ["a b a b a", "b a b b"], ["x y", "p q r"]]
  .map((texts) => texts.map((text) => text.split(" ").filter(Boolean)));

/** The length of the longest common subsequence, by trying all of the left's. */
const longest = (left, right) => Math.max(...Array.from({ length: 2 ** left.length }, (_, bits) => {
  const chosen = left.filter((_, index) => (bits >> index) & 1);
  let at = 0;
  for (const item of right) if (item === chosen[at]) at += 1;
  return at === chosen.length ? at : 0;
}));

test("an alignment goes through both sequences once, in order, and pairs what is equal", () => {
  for (const [left, right] of PAIRS) {
    const steps = alignSequences(left, right);
    assert.deepEqual(steps.flatMap(([i]) => (i === null ? [] : [i])), [...left.keys()]);
    assert.deepEqual(steps.flatMap(([, j]) => (j === null ? [] : [j])), [...right.keys()]);
    for (const [i, j] of steps) assert.ok(i === null || j === null || left[i] === right[j]);
  }
});

test("it pairs as many as possible", () => {
  for (const [left, right] of PAIRS) {
    assert.equal(alignSequences(left, right).filter(([i, j]) => i !== null && j !== null).length, longest(left, right));
  }
});

test("of a word diff, what is not added is the old text, what is not removed the new one", () => {
  for (const [before, after] of PAIRS) {
    const words = compareWords(before, after);
    const without = (change) => words.filter(([, own]) => own !== change).map(([word]) => word);
    assert.deepEqual(without("added"), before);
    assert.deepEqual(without("removed"), after);
  }
});

test("equality can be of a part", () => {
  const steps = alignSequences([{ text: "a" }, { text: "b" }], [{ text: "b" }], (a, b) => a.text === b.text);
  assert.deepEqual(steps, [[0, null], [1, 0]]);
});

test("changed words are pairs of what was there and what is there now, between words that stayed", () => {
  assert.deepEqual(changedWords("my sister one works here".split(" "), "my brother works there".split(" ")),
    [[["sister", "one"], ["brother"]], [["here"], ["there"]]]);
  for (const [before, after] of PAIRS) {
    const kept = compareWords(before, after).filter(([, change]) => change === "same").length;
    const count = (side) => changedWords(before, after).map((pair) => pair[side].length).reduce((a, b) => a + b, 0);
    assert.deepEqual([count(0) + kept, count(1) + kept], [before.length, after.length]);
  }
});
