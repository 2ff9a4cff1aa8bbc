/** Small multiples: many tables side by side, each a tiny picture with a pixel for every cell. */

import { el } from "./dom.js";
import { weight as paint } from "./colors.js";

const SHADES = 256;

/**
 * A table of weights as a picture as large as its box; cells that may not be seen stay empty, so
 * that the pattern behind the picture shows there.
 * @param {number[][]} values @param {{hidden?: boolean[][], scale?: "linear" | "sqrt"}} [how]
 */
export function thumbnail(values, { hidden, scale = "linear" } = {}) {
  const [height, width] = [values.length, values[0].length];
  const canvas = el("canvas", { class: "small-picture", width, height, "aria-hidden": "true" });
  const brush = canvas.getContext("2d");
  const picture = brush.createImageData(width, height);
  const colours = palette();
  values.forEach((line, row) => line.forEach((value, column) => {
    if (hidden?.[row][column]) return;
    const share = Math.min(Math.max(scale === "sqrt" ? Math.sqrt(value) : value, 0), 1);
    picture.data.set(colours[Math.min(Math.floor(share * SHADES), SHADES - 1)], 4 * (row * width + column));
  }));
  brush.putImageData(picture, 0, 0);
  return canvas;
}

/** Every colour once, as bytes: asking the theme for each of many thousand cells takes seconds. */
function palette() {
  return Array.from({ length: SHADES }, (_, at) => {
    const colour = parseInt(paint((at + 0.5) / SHADES).slice(1), 16);
    return [colour >> 16, (colour >> 8) & 255, colour & 255, 255];
  });
}

/** The colours from nothing to one, with both ends named. @param {string} words what the scale is called */
export function legend(words, scale) {
  const steps = Array.from({ length: 64 }, (_, at) => at / 63);
  return el("span", { class: "small-legend" }, el("span", { class: "number" }, "0"),
    thumbnail([steps], { scale }), el("span", { class: "number" }, "1"), el("span", {}, words));
}

/** Arrow keys through a group of buttons as they lie on the page; Tab enters and leaves it. */
export function arrowKeyNavigation(group) {
  const buttons = () => [...group.querySelectorAll("button")];
  group.addEventListener("keydown", (event) => {
    const all = buttons();
    const next = beside(event.key, all, document.activeElement);
    if (!next) return;
    event.preventDefault();
    for (const one of all) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  });
  /** Which one Tab comes to. @param {HTMLElement} [here] */
  return (here) => {
    const all = buttons();
    for (const one of all) one.tabIndex = one === (here ?? all[0]) ? 0 : -1;
  };
}

/** The button that a key leads to: along the row, or to the nearest one above or below. */
function beside(key, all, here) {
  const at = all.indexOf(here);
  switch (key) {
    case "ArrowRight": return all[at + 1];
    case "ArrowLeft": return all[at - 1];
    case "Home": return all[0];
    case "End": return all.at(-1);
    case "ArrowDown": return nearest(all, here, 1);
    case "ArrowUp": return nearest(all, here, -1);
    default: return undefined;
  }
}

function nearest(all, here, way) {
  const place = (one) => one.getBoundingClientRect();
  const from = place(here);
  const away = (one) => Math.abs(place(one).top - from.top) * 1000 + Math.abs(place(one).left - from.left);
  return all.filter((one) => (place(one).top - from.top) * way > 1).sort((a, b) => away(a) - away(b))[0];
}
