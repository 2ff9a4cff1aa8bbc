import { test } from "node:test";
import assert from "node:assert/strict";
import { axisScale, formatPlain } from "../../src/dhyan/studio/static/js/ticks.js";

const PIXELS = [40, 640];
const RANGES = [[0, 1], [-3, 7], [0.001, 0.004], [12, 12], [1e5, 9e5], [-1e-6, 1e-6]];

test("linear ticks are evenly spaced, few enough, and cover all values", () => {
  for (const [low, high] of RANGES) {
    const scale = axisScale({ title: "x" }, [low, high], PIXELS, 60);
    const steps = scale.ticks.slice(1).map((tick, index) => tick - scale.ticks[index]);
    assert.ok(scale.ticks.length >= 2 && scale.ticks.length <= 12, `${low} ${high}: ${scale.ticks.length} ticks`);
    assert.ok(Math.max(...steps) - Math.min(...steps) < 1e-9 * Math.max(1, ...steps));
    assert.ok(scale.at(low) >= PIXELS[0] - 1e-6 && scale.at(high) <= PIXELS[1] + 1e-6);
  }
});

test("positions rise with the values on every kind of axis", () => {
  for (const axis of [{ scale: "linear" }, { scale: "log" }, { scale: "log", base: 2 }]) {
    const { at } = axisScale({ title: "x", ...axis }, [1, 1000], PIXELS, 60);
    assert.ok(at(1) < at(10) && at(10) < at(1000));
  }
  const { at, band } = axisScale({ title: "x", scale: "names", names: ["a", "b", "c"] }, [], PIXELS, 60);
  assert.equal(at(1) - at(0), band);
  assert.equal(at(1), (PIXELS[0] + PIXELS[1]) / 2);
});

test("a logarithmic axis has powers of its base and leaves out what has no logarithm", () => {
  const { ticks, at } = axisScale({ title: "x", scale: "log" }, [-5, 0, 3, 4000], PIXELS, 60);
  assert.deepEqual(ticks, [1, 10, 100, 1000, 10000]);
  assert.ok(Number.isFinite(at(3)));
});

test("an axis without values is drawn from 0 to 1", () => {
  assert.deepEqual(axisScale({ title: "x" }, [], PIXELS, 600).ticks, [0, 0.5, 1]);
});

test("plain numbers have four digits and a minus sign", () => {
  assert.equal(formatPlain(-0.123456), "−0.1235");
  assert.equal(formatPlain(1200), "1200");
});
