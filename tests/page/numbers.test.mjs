import { test } from "node:test";
import assert from "node:assert/strict";
import * as numbers from "../../src/dhyan/studio/static/js/numbers.js";

test("softmax sums to one, gives a masked score nothing, and a masked row zeros", () => {
  const weights = numbers.softmax([1000, 1001, -Infinity]);
  assert.ok(Math.abs(numbers.sum(weights) - 1) < 1e-12);
  assert.equal(weights[2], 0);
  assert.deepEqual(numbers.softmax([-Infinity, -Infinity]), [0, 0]);
});

test("softmax does not change when a constant is added to all scores", () => {
  const [a, b] = [[0.3, -2, 5], [100.3, 98, 105]].map(numbers.softmax);
  assert.ok(numbers.maxDifference(a, b) < 1e-12);
});

test("entropy of n equal weights is the logarithm of n, in bits", () => {
  for (const count of [1, 2, 8, 16]) assert.ok(Math.abs(numbers.entropy(Array(count).fill(1 / count)) - Math.log2(count)) < 1e-12);
});

test("a matrix product agrees with the sum over its inner index", () => {
  const [a, b] = [[[1, 2, 3], [4, 5, 6]], [[7, 8], [9, 10], [11, 12]]];
  assert.deepEqual(numbers.matmul(a, b), [[58, 64], [139, 154]]);
  assert.deepEqual(numbers.transpose(numbers.transpose(a)), a);
});

test("packed floats are unpacked row by row", () => {
  const data = Buffer.from(new Float32Array([1, 2, 3, 4, 5, 6]).buffer).toString("base64");
  assert.deepEqual(numbers.rows({ shape: [2, 3], data }), [[1, 2, 3], [4, 5, 6]]);
  assert.deepEqual(numbers.vector({ shape: [6], data }), [1, 2, 3, 4, 5, 6]);
});

test("numbers have a real minus sign, no negative zero, and weights no leading zero", () => {
  assert.equal(numbers.formatNumber(-1.5, 1), "−1.5");
  assert.equal(numbers.formatNumber(-0.0001), "0.000");
  assert.equal(numbers.formatNumber(0.25, 2, { weight: true }), ".25");
  assert.equal(numbers.formatNumber(1, 2, { weight: true }), "1.00");
  assert.equal(numbers.formatNumber(-Infinity), "−∞");
  assert.equal(numbers.formatTiny(1.2e-7), "1.2e−7");
});
