import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { formatPlain, tickFormat, tickInterval } from "../../src/dhyan/studio/static/js/axes.js";
import { axisScale, decimals, linearScale, multiples, niceStep, planeScale } from "../../src/dhyan/studio/static/js/scales.js";

/** @typedef {import("../../src/dhyan/studio/static/js/scales.js").Axis} Axis */

/** @type {[number, number]} */
const PIXELS = [40, 640];
const RANGES = [[0, 1], [-3, 7], [0.001, 0.004], [12, 12], [1e5, 9e5], [-1e-6, 1e-6]];
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${actual}, not ${expected}`);

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
  /** @type {Axis[]} */
  const axes = [{ title: "x", scale: "linear" }, { title: "x", scale: "log" }, { title: "x", scale: "log", base: 2 }];
  for (const axis of axes) {
    const { at } = axisScale(axis, [1, 1000], PIXELS, 60);
    assert.ok(at(1) < at(10) && at(10) < at(1000));
  }
  const { at, band } = axisScale({ title: "x", scale: "names", names: ["a", "b", "c"] }, [], PIXELS, 60);
  assert.equal(at(1) - at(0), band);
  assert.equal(at(1), (PIXELS[0] + PIXELS[1]) / 2);
});

test("equal factors are equally far apart on a logarithmic axis", () => {
  const { at } = axisScale({ title: "x", scale: "log", base: 2 }, [1, 1024], PIXELS, 60);
  near(at(8) - at(2), at(512) - at(128));
});

test("a logarithmic axis has powers of its base and leaves out what has no logarithm", () => {
  const { ticks, at } = axisScale({ title: "x", scale: "log" }, [-5, 0, 3, 4000], PIXELS, 60);
  assert.deepEqual(ticks, [1, 10, 100, 1000, 10000]);
  assert.ok(Number.isFinite(at(3)));
});

test("given limits and ticks are kept, ticks outside are left out", () => {
  const { at, ticks } = axisScale({ title: "x", from: 0, to: 100, ticks: [-50, 0, 50, 100, 150] }, [3, 400], PIXELS, 60);
  assert.deepEqual(ticks, [0, 50, 100]);
  assert.deepEqual([at(0), at(100)], PIXELS);
});

test("an axis without values is drawn from 0 to 1", () => {
  assert.deepEqual(axisScale({ title: "x" }, [], PIXELS, 600).ticks, [0, 0.5, 1]);
});

test("a pixel read back is the value it was drawn for", () => {
  const { at, back } = linearScale([-2, 5], [400, 10]);
  for (const value of [-2, 0, 1.25, 5, 9]) near(back(at(value)), value);
  assert.ok(Number.isFinite(linearScale([3, 3], [0, 10]).at(3)));
});

const BOX = { left: 36, right: 546, above: 14, below: 390 };
const POINTS = [[-1, 4], [3, 2], [0.5, -6]];

test("a plane has the same unit across and down, and holds all its points with their padding", () => {
  for (const points of [POINTS, POINTS.map(([x, y]) => [100 * x, y]), [[2, 2]]]) {
    const { place, back, unit } = planeScale(points, BOX, { padding: 0.1 });
    const [origin, right, up] = [[0, 0], [1, 0], [0, 1]].map(place);
    near(right[0] - origin[0], unit);
    near(origin[1] - up[1], unit);
    for (const point of points) {
      const [x, y] = place(point);
      assert.ok(x > BOX.left && x < BOX.right && y > BOX.above && y < BOX.below, `${point} at ${x}, ${y}`);
      back([x, y]).forEach((value, axis) => near(value, point[axis]));
    }
  }
});

test("a plane is centred, and its unit is no longer than allowed", () => {
  const { place, unit } = planeScale([[1, 1], [1 + 1e-6, 1]], BOX, { largestUnit: 200 });
  assert.equal(unit, 200);
  const [x, y] = place([1, 1]);
  assert.ok(Math.abs(x - (BOX.left + BOX.right) / 2) < 1 && Math.abs(y - (BOX.above + BOX.below) / 2) < 1);
  assert.ok(planeScale([[1, 1]], BOX).place([1, 1]).every(Number.isFinite));
});

test("a nice step is 1, 2 or 5 times a power of ten, not below what is asked, and its multiples are exact in its decimals", () => {
  for (let asked = 1e-4; asked < 1e4; asked *= 1.37) {
    const step = niceStep(asked);
    assert.ok(step >= asked * (1 - 1e-9) && step <= asked * 2.5001, `${asked}: ${step}`);
    assert.ok(/^[125]0*$/.test(step.toFixed(decimals(step)).replace(/^0\.0*/, "").replace(".", "")), String(step));
    for (const tick of multiples([-3 * step, 3 * step], step)) near(Number(tick.toFixed(decimals(step))), tick);
    assert.equal(multiples([-3 * step, 3 * step], step).length, 7);
  }
});

test("tick labels are thinned until none overlaps the next", () => {
  const labels = /** @type {[number, number][]} */ (Array.from({ length: 30 }, (_, index) => [index * 10, 24]));
  assert.equal(tickInterval(labels), 3);
  assert.equal(tickInterval(labels.map(([middle]) => [middle, 9])), 1);
});

test("plain numbers have four digits and a minus sign, names stand for their positions", () => {
  assert.equal(formatPlain(-0.123456), "−0.1235");
  assert.equal(formatPlain(1200), "1200");
  assert.deepEqual([0, 1, 7].map(tickFormat({ title: "x", scale: "names", names: ["a", "b"] })), ["a", "b", ""]);
});
