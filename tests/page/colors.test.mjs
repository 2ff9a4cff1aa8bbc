import { painted } from "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { contrast, setPalette, shadeOf, signedColor, textColor, weightColor } from "../../src/dhyan/studio/static/js/colors.js";
import { thumbnail } from "../../src/dhyan/studio/static/js/thumbnails.js";

const hex = (byte) => byte.toString(16).padStart(2, "0");
const grey = (byte) => `#${hex(byte).repeat(3)}`;
const rising = Array.from({ length: 256 }, (_, index) => grey(index));
setPalette({ light: rising, dark: [...rising].reverse() });

const THEMES = ["light", "dark"];
const withTheme = (theme, check) => {
  document.documentElement.dataset.theme = theme;
  check();
  document.documentElement.dataset.theme = "light";
};

test("the shade rises with the weight on both scales, from the first to the last", () => {
  for (const scale of ["linear", "sqrt"]) {
    const shades = Array.from({ length: 101 }, (_, index) => shadeOf(index / 100, scale, 256));
    assert.deepEqual([shades[0], shades.at(-1)], [0, 255]);
    shades.slice(1).forEach((shade, index) => assert.ok(shade >= shades[index]));
  }
  assert.ok(shadeOf(0.04, "sqrt", 256) > 4 * shadeOf(0.04, "linear", 256), "small weights are separated better");
});

test("weights beyond 0 and 1 have the colours of the ends, in each theme its own", () => {
  for (const theme of THEMES) withTheme(theme, () => {
    assert.equal(weightColor(-0.5), weightColor(0));
    assert.equal(weightColor(1.5), weightColor(1));
  });
  assert.equal(weightColor(1), "#ffffff");
  withTheme("dark", () => assert.equal(weightColor(1), "#000000"));
});

test("contrast is symmetric, 1 with itself and 21 of black and white", () => {
  for (const color of ["#3f86bd", "#c8742a", "#777777"]) {
    assert.equal(contrast(color, color), 1);
    assert.equal(contrast(color, "#ffffff"), contrast("#ffffff", color));
  }
  assert.ok(Math.abs(contrast("#000000", "#ffffff") - 21) < 1e-9);
});

test("a number in a cell can be read on every colour", () => {
  for (const theme of THEMES) withTheme(theme, () => {
    for (let value = -1; value <= 1; value += 0.05) {
      for (const background of [signedColor(value, 1), weightColor(value)]) {
        assert.ok(contrast(textColor(background), background) >= 4.5, `${theme} ${value} on ${background}`);
      }
    }
  });
});

test("signed colours depend on the share of the limit; zero is the background", () => {
  assert.equal(signedColor(0.5, 1), signedColor(50, 100));
  assert.equal(signedColor(5, 1), signedColor(1, 1));
  assert.equal(signedColor(0, 1), signedColor(3, 0));
  assert.notEqual(signedColor(0.5, 1), signedColor(-0.5, 1));
});

test("a thumbnail has the colour of every weight, and hidden cells are transparent", () => {
  const values = [[0, 0.25, 1], [0.5, 0.75, 0.01]];
  thumbnail(values, { hidden: [[false, false, true], [false, false, false]], scale: "sqrt" });
  const picture = painted;
  assert.ok(picture);
  assert.deepEqual([picture.width, picture.height], [3, 2]);
  values.flat().forEach((value, index) => {
    const [red, , , opacity] = picture.data.slice(4 * index, 4 * index + 4);
    assert.equal(opacity, index === 2 ? 0 : 255);
    if (index !== 2) assert.equal(grey(red), weightColor(value, "sqrt"));
  });
});
