import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { alignTokens, matchTokens } from "../../src/dhyan/studio/static/js/views/translate/match_tokens.js";

const words = (text) => text.split(" ").map((word) => ({ text: word }));

/** A view whose rows sum to 1 with the weight of the hidden tokens. */
const view = (rows, columns, values) => ({ rows: words(rows), columns: words(columns), values,
  hidden: { text: "</s>", weights: values.map((weights) => 1 - weights.reduce((a, b) => a + b)) } });

test("a row of the difference sums to zero with the hidden tokens, and its distance counts them", () => {
  const a = view("x y", "p q", [[0.5, 0.25], [0, 1]]);
  const b = view("x y", "p q", [[0, 0.25], [0, 1]]);
  const match = matchTokens(a, b);
  match.values.forEach((weights, row) => assert.equal(weights.reduce((sum, weight) => sum + weight, match.hidden[row]), 0));
  assert.deepEqual(match.distances, [0.5, 0]); // half of the attention has moved to </s>
  assert.equal(matchTokens({ ...a, hidden: null }, { ...b, hidden: null }).hidden, null);
});

test("forms of one word are partners where the translations have different lengths", () => {
  const [left, right] = [words("मेरी बहन एक अस्पताल में काम करती है ।"), words("मेरा भाई अस्पताल में काम करता है ।")];
  const pairs = alignTokens(left, right).flatMap((partner, index) => (partner === null ? [] : [`${left[index].text} ${right[partner].text}`]));
  assert.deepEqual(pairs, ["मेरी मेरा", "अस्पताल अस्पताल", "में में", "काम काम", "करती करता", "है है", "। ।"]);
  assert.deepEqual(alignTokens(words("में यह"), words("मेरा मैं है")), [null, null]); // a common first letter is no common word
});
