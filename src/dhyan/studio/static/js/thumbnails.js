/** Thumbnails of attention matrices, one pixel per cell. */

import { contextOf, el } from "./dom.js";
import { shadeOf, weightColor } from "./colors.js";

const SHADES = 256;

/**
 * A matrix of weights as a canvas that fills its box; masked cells stay transparent, so
 * that the pattern behind the canvas is visible there.
 * @param {number[][]} values @param {{hidden?: boolean[][], scale?: string}} [options] the scale is "linear" or "sqrt"
 */
export function thumbnail(values, { hidden, scale = "linear" } = {}) {
  const [height, width] = [values.length, values[0].length];
  const canvas = el("canvas", { class: "thumbnail", width, height, "aria-hidden": "true" });
  const context = contextOf(canvas);
  const picture = context.createImageData(width, height);
  const colours = palette();
  values.forEach((line, row) => line.forEach((value, column) => {
    if (hidden?.[row][column]) return;
    picture.data.set(colours[shadeOf(value, scale, SHADES)], 4 * (row * width + column));
  }));
  context.putImageData(picture, 0, 0);
  return canvas;
}

/** The palette as bytes, computed once: a lookup per cell of large matrices takes seconds. */
function palette() {
  return Array.from({ length: SHADES }, (_, index) => {
    const colour = parseInt(weightColor((index + 0.5) / SHADES).slice(1), 16);
    return [colour >> 16, (colour >> 8) & 255, colour & 255, 255];
  });
}

/** Colour legend from 0 to 1. @param {string} words name of the scale */
export function legend(words, scale) {
  const steps = Array.from({ length: 64 }, (_, index) => index / 63);
  return el("span", { class: "thumbnail-legend" }, el("span", { class: "number" }, "0"),
    thumbnail([steps], { scale }), el("span", { class: "number" }, "1"), el("span", {}, words));
}

/** Arrow-key navigation in a group of buttons by their layout; one button is the tab stop. */
export function arrowKeyNavigation(group) {
  const allButtons = () => [...group.querySelectorAll("button")];
  group.addEventListener("keydown", (event) => {
    const buttons = allButtons();
    const next = nextButton(event.key, buttons, document.activeElement);
    if (!next) return;
    event.preventDefault();
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  });
  /** Set the tab stop. @param {HTMLElement} [current] */
  return (current) => {
    const buttons = allButtons();
    for (const button of buttons) button.tabIndex = button === (current ?? buttons[0]) ? 0 : -1;
  };
}

/** The button a key moves to: along the row, or the nearest above or below. */
function nextButton(key, buttons, current) {
  const index = buttons.indexOf(current);
  switch (key) {
    case "ArrowRight": return buttons[index + 1];
    case "ArrowLeft": return buttons[index - 1];
    case "Home": return buttons[0];
    case "End": return buttons.at(-1);
    case "ArrowDown": return nearest(buttons, current, 1);
    case "ArrowUp": return nearest(buttons, current, -1);
    default: return undefined;
  }
}

function nearest(buttons, current, direction) {
  const rectOf = (button) => button.getBoundingClientRect();
  const from = rectOf(current);
  const distance = (button) => Math.abs(rectOf(button).top - from.top) * 1000 + Math.abs(rectOf(button).left - from.left);
  return buttons.filter((button) => (rectOf(button).top - from.top) * direction > 1).sort((a, b) => distance(a) - distance(b))[0];
}
