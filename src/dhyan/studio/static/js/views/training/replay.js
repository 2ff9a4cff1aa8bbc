/** Strip of attention thumbnails, one per checkpoint. */

import { el, setChildren } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { thumbnail } from "../../thumbnails.js";

const MAX_FRAMES = 15;

/** Evenly spaced checkpoints that fit in the strip, including the first and last. @param {number[]} steps */
export function frames(steps) {
  if (steps.length <= MAX_FRAMES) return steps;
  return Array.from({ length: MAX_FRAMES }, (_, index) =>
    steps[Math.round((index * (steps.length - 1)) / (MAX_FRAMES - 1))]);
}

/** Mean of the largest weight per row. @param {number[][]} values */
export const meanMaxWeight = (values) =>
  values.reduce((total, row) => total + Math.max(...row), 0) / values.length;

/** @param {(step: number) => void} choose */
export function replayStrip(choose) {
  const node = el("div", { class: "filmstrip", role: "radiogroup", "aria-label": message("train_checkpoints"),
    on: { keydown, pointermove } });
  let buttons = [];

  /** A frame per step, empty until its response arrives. @param {Map<number, number[][]>} valuesByStep */
  function show(steps, valuesByStep, selected) {
    const focused = node.contains(document.activeElement);
    buttons = steps.map((step) => {
      const values = valuesByStep.get(step);
      const isSelected = step === selected;
      return el("button", { type: "button", role: "radio", class: "frame", "aria-checked": isSelected,
        tabindex: isSelected ? 0 : -1, "data-step": step,
        "aria-label": values ? message("train_frame_max_weight", step, formatNumber(meanMaxWeight(values), 2)) : message("train_frame", step),
        on: { click: () => choose(step) } }, values ? thumbnail(values) : el("span", { class: "frame-empty" }), el("span", { class: "number" }, String(step)));
    });
    if (!steps.includes(selected)) buttons[0]?.setAttribute("tabindex", "0");
    setChildren(node, buttons);
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

  /** Dragging along the strip selects checkpoints. */
  function pointermove(event) {
    const frame = event.buttons === 1 && event.target.closest(".frame");
    if (frame && frame.getAttribute("aria-checked") !== "true") choose(Number(frame.dataset.step));
  }
  return { node, show };
}
