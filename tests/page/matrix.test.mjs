import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { firstIndices, indices, nextCell } from "../../src/dhyan/studio/static/js/matrix.js";
import { numberOf, roundValue, wordOf } from "../../src/dhyan/studio/static/js/matrix_editor.js";
import { textWidth, truncate } from "../../src/dhyan/studio/static/js/text_width.js";

const [DOWN, ACROSS] = [[0, 1, 2, 9], [0, 1, 7]]; // visible rows and columns of a larger matrix

test("an arrow moves to a visible cell and back, and stays at the border", () => {
  for (const row of DOWN) {
    for (const column of ACROSS) {
      for (const [there, back] of [["ArrowUp", "ArrowDown"], ["ArrowLeft", "ArrowRight"], ["ArrowDown", "ArrowUp"], ["ArrowRight", "ArrowLeft"]]) {
        const next = nextCell(there, [row, column], DOWN, ACROSS) ?? [NaN, NaN];
        assert.ok(DOWN.includes(next[0]) && ACROSS.includes(next[1]));
        if (String(next) !== String([row, column])) assert.deepEqual(nextCell(back, next, DOWN, ACROSS), [row, column]);
      }
    }
  }
  assert.deepEqual(nextCell("End", [2, 0], DOWN, ACROSS), [2, 7]);
  assert.deepEqual(nextCell("Home", [2, 7], DOWN, ACROSS), [2, 0]);
  assert.equal(nextCell("x", [0, 0], DOWN, ACROSS), null);
});

test("the first indices include the required one and exist", () => {
  for (const [count, largest, required] of [[3, 5, 0], [10, 4, 7], [10, 4, 2], [10, 4, 99], [1, 4, 0]]) {
    const shown = firstIndices(count, largest, required);
    assert.ok(shown.includes(Math.min(required, count - 1)) && shown.every((index) => index < count));
    assert.ok(shown.length <= Math.min(count, largest + 1));
  }
  assert.deepEqual(indices(3), [0, 1, 2]);
});

test("a number that was typed is read with either minus sign, anything else is refused", () => {
  assert.equal(numberOf("−1.5"), -1.5);
  assert.equal(numberOf("-1.5"), -1.5);
  for (const text of ["", "x", "1 2"]) assert.equal(numberOf(text), null);
  assert.equal(roundValue(roundValue(1 / 3)), roundValue(1 / 3));
  assert.equal(wordOf(" a*b c "), wordOf(wordOf(" a*b c ")));
});

test("a truncated text fits, keeps its beginning and cuts no character", () => {
  const text = "क्षेत्रफल निकालो";
  for (let width = 16; width < 200; width += 8) {
    const short = truncate(text, width, "14px x");
    assert.ok(textWidth(short, "14px x") <= width);
    if (short === text) continue;
    const kept = [...new Intl.Segmenter("hi").segment(short.slice(0, -1))].map((part) => part.segment);
    assert.deepEqual(kept, [...new Intl.Segmenter("hi").segment(text)].map((part) => part.segment).slice(0, kept.length));
  }
});
