import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { isUpright, measure } from "../../src/dhyan/studio/static/js/heatmap_layout.js";
import { address, colorScaleOf, readAddress, state, MAX_TEXT } from "../../src/dhyan/studio/static/js/state.js";

const heat = (lengths, maxWidth) => ({ maxWidth, minCellWidth: 18, values: lengths.map(() => lengths.map(() => 0)),
  rows: lengths.map(() => ({ text: "row" })), columns: lengths.map((length) => ({ text: "x".repeat(length) })) });

test("a map with its labels is never wider than its box, unless its cells are at their smallest", () => {
  for (const maxWidth of [300, 412, 620, 900]) {
    for (let count = 1; count <= 24; count += 1) {
      for (const last of [1, 4, 12]) {
        const { width, cell } = measure(heat([...Array(count - 1).fill(4), last], maxWidth));
        assert.ok(width <= maxWidth || cell === 18, `${count} columns in ${maxWidth}: ${width}`);
      }
    }
  }
});

test("one letter stands upright, whatever its script and its signs", () => {
  for (const text of ["I", "a", ".", "।", "कि", "é"]) assert.ok(isUpright({ text }), text);
  for (const text of ["in", "एक", "</s>"]) assert.ok(!isUpright({ text }), text);
});

const url = (query, pathname = "/inside/head") => ({ pathname, search: query });

test("an address is read as it was written", () => {
  readAddress(url("?text=How+are+you%3F&beam=4&head=avg&scale=sqrt&specials=1"));
  const written = address();
  const before = { ...state };
  const [path, query] = written.split("?");
  assert.equal(path, "/inside/head");
  assert.deepEqual(readAddress(url(`?${query}`)), []);
  assert.deepEqual(state, before);
});

test("a link to the earlier view of two models is one to Translate with a second model", () => {
  readAddress(url("?text=Hello.&model=a", "/translate/compare"));
  assert.equal(address(), "/translate?text=Hello.&model=a&model2=other");
  readAddress(url("?text=Hello.&text2=Bye.", "/translate/compare"));
  assert.equal(address(), "/translate?text=Hello.&text2=Bye.");
});

test("values that do not fit are corrected and named", () => {
  const corrected = readAddress(url(`?beam=99&scale=none&head=0&layer=x&text=${"a".repeat(MAX_TEXT + 1)}`));
  assert.deepEqual(corrected.map(([key]) => key).sort(), ["beam", "head", "layer", "scale", "text"]);
  assert.equal(state.beam, 8);
  assert.equal(state.text.length, MAX_TEXT);
});

test("long sentences get the square root, unless a scale was chosen", () => {
  readAddress(url(""));
  assert.equal(colorScaleOf(10), "linear");
  assert.equal(colorScaleOf(60), "sqrt");
  readAddress(url("?scale=linear"));
  assert.equal(colorScaleOf(60), "linear");
});
