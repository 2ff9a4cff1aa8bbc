/** The attention to one sentence at every checkpoint: a strip of small maps to walk along. */

import { el, svg, fill } from "../../dom.js";
import { weight } from "../../colors.js";
import { formatNumber } from "../../numbers.js";
import { addMessages, message } from "../../messages.js";

addMessages({
  train_film: ["Checkpoints", "चेकपॉइंट"],
  train_frame: ["step {0}", "चरण {0}"],
  train_frame_sharp: ["step {0}: largest weight of a row {1} on average",
    "चरण {0}: पंक्ति का सबसे बड़ा भार औसतन {1}"],
});

const MOST_FRAMES = 15;
const SIDE = 52;

/** So many checkpoints as fit in the strip, evenly chosen, first and last among them. @param {number[]} steps */
export function frames(steps) {
  if (steps.length <= MOST_FRAMES) return steps;
  return Array.from({ length: MOST_FRAMES }, (_, index) =>
    steps[Math.round((index * (steps.length - 1)) / (MOST_FRAMES - 1))]);
}

/** The mean of the largest weights of the rows. @param {number[][]} values */
export const sharpness = (values) =>
  values.reduce((total, row) => total + Math.max(...row), 0) / values.length;

/** @param {(step: number) => void} choose */
export function replayStrip(choose) {
  const node = el("div", { class: "film", role: "radiogroup", "aria-label": message("train_film"),
    on: { keydown, pointermove } });
  let buttons = [];

  /** A frame for each step; those not looked at yet are empty. @param {Map<number, number[][]>} valuesByStep */
  function show(steps, valuesByStep, selected) {
    const focused = node.contains(document.activeElement);
    buttons = steps.map((step) => {
      const values = valuesByStep.get(step);
      const isSelected = step === selected;
      return el("button", { type: "button", role: "radio", class: "frame", "aria-checked": isSelected,
        tabindex: isSelected ? 0 : -1, "data-step": step,
        "aria-label": values ? message("train_frame_sharp", step, formatNumber(sharpness(values), 2)) : message("train_frame", step),
        on: { click: () => choose(step) } }, frameMap(values), el("span", { class: "number" }, String(step)));
    });
    if (!steps.includes(selected)) buttons[0]?.setAttribute("tabindex", "0");
    fill(node, buttons);
    const current = buttons.find((button) => button.getAttribute("aria-checked") === "true");
    if (focused) current?.focus({ preventScroll: true });
    if (current) node.scrollLeft = Math.max(0, current.offsetLeft - node.offsetLeft - node.clientWidth / 2);
  }

  function keydown(event) {
    const index = buttons.findIndex((button) => button.getAttribute("aria-checked") === "true");
    const next = { ArrowRight: index + 1, ArrowDown: index + 1, ArrowLeft: index - 1, ArrowUp: index - 1, Home: 0,
      End: buttons.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(Number(buttons[Math.min(Math.max(next, 0), buttons.length - 1)].dataset.step));
  }

  /** Drawing the pointer along the strip runs through the training. */
  function pointermove(event) {
    const frame = event.buttons === 1 && event.target.closest(".frame");
    if (frame && frame.getAttribute("aria-checked") !== "true") choose(Number(frame.dataset.step));
  }
  return { node, show };
}

/** A map without words; dotted while it is not known. */
function frameMap(values) {
  if (!values) {
    return svg("svg", { class: "frame-map waiting", viewBox: `0 0 ${SIDE} ${SIDE}`, width: SIDE, height: SIDE,
      "aria-hidden": "true" }, svg("rect", { x: 1, y: 1, width: SIDE - 2, height: SIDE - 2, class: "frame-empty" }));
  }
  const [cellHeight, cellWidth] = [SIDE / values.length, SIDE / values[0].length];
  return svg("svg", { class: "frame-map", viewBox: `0 0 ${SIDE} ${SIDE}`, width: SIDE, height: SIDE,
    "aria-hidden": "true" }, ...values.flatMap((line, row) => line.map((value, column) => svg("rect", {
    x: column * cellWidth, y: row * cellHeight, width: cellWidth + 0.3, height: cellHeight + 0.3, fill: weight(value) }))));
}
