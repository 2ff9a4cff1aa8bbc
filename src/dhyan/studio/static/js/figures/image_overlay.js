/** Image overlay: the picture for each word of the output, bright where the word attends (Xu et al., 2015). */

import { el, setChildren, svg } from "../dom.js";
import { formatNumber } from "../numbers.js";
import { message } from "../messages.js";
import { mark, outputs, roving } from "./parts.js";

const OPACITY = 0.8; // of the veil where there is no weight
const SMALL = 128; // pixels of a width below which a picture is drawn in squares
const LINE_SHAPE = 3.5; // width by height, from which a picture is a line of text

/** @param {FigureOptions} options @returns {TaskFigure} */
export function drawImageOverlay({ trace, view, selected, onFocus, onHover }) {
  if (!trace.picture) return el("p", { class: "muted" }, message("figure_no_picture"));
  const picture = trace.picture;
  const words = outputs(view);
  const weightsOf = (row) => {
    const weights = new Array(picture.boxes.length).fill(0);
    view.columns.forEach((unit, column) => unit.tokens.forEach((token) => { weights[token] = (view.attends ? view.values[row][column] : 0) / unit.tokens.length; }));
    return weights;
  };
  const largest = (row) => Math.max(...weightsOf(row));
  const large = el("div", { class: "overlay-large" });
  const caption = el("p", { class: "overlay-caption", "aria-hidden": "true" });
  const panels = words.map((unit, index) => el("button", { type: "button", class: "overlay-panel", tabindex: index ? -1 : 0, "data-side": "target", "data-index": unit.row,
    "data-row": unit.row, "aria-label": message("figure_bright", unit.text, formatNumber(largest(unit.row), 2)) },
  overlay(picture, weightsOf(unit.row)), el("span", { class: "overlay-word" }, el("span", { lang: unit.lang }, unit.text), " ", el("span", { class: "number muted" }, formatNumber(largest(unit.row), 2)))));
  const isLine = picture.width > LINE_SHAPE * picture.height;
  const group = el("div", { class: `overlay-panels${isLine ? " lines" : ""}`, role: "group", "aria-label": message("figure_output") }, ...panels);
  const tabs = roving(group, panels, { focus: (index) => onFocus(words[index].row, null), hover: (index) => onHover(index === null ? null : words[index].row, null) });

  /** The word of a row, large; without one the picture itself. @param {number | null} row */
  function show(row) {
    const unit = words.find((word) => word.row === row);
    mark(panels, unit ? words.indexOf(unit) : null);
    setChildren(large, overlay(picture, unit && view.attends ? weightsOf(unit.row) : null));
    setChildren(caption, unit ? [el("b", { lang: unit.lang }, unit.text)] : message("figure_source"));
  }

  show(selected[0]);
  const node = el("div", { class: "task-figure" }, el("div", { class: `overlay-main${isLine ? " line" : ""}` }, large, caption), group,
    el("p", { class: "muted" }, message(view.attends ? "figure_veil" : "no_attention")));
  return Object.assign(node, {
    setCrosshair: (row) => show(row ?? selected[0]),
    setFocus(/** @type {[number, number]} */ [row], { focus }) {
      const index = Math.max(0, words.findIndex((word) => word.row === row));
      show(row);
      tabs.move(index);
      if (focus) panels[index]?.focus();
    },
    summary: () => message("figure_output_is", trace.translation),
  });
}

/** The picture under a veil that is thinner the larger the weight of a frame; its largest weight has none. @param {TracedPicture} picture @param {number[] | null} weights */
function overlay({ uri, width, height, boxes }, weights) {
  const top = Math.max(...(weights ?? [1]), 1e-9);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: `overlay-picture${width < SMALL ? " small" : ""}`, "aria-hidden": "true" },
    svg("image", { href: uri, width, height, preserveAspectRatio: "none" }),
    ...(weights ? boxes.map(([left, up, right, down], index) => svg("rect", { x: left, y: up, width: Math.max(0, right - left), height: Math.max(0, down - up),
      class: "overlay-veil", "fill-opacity": (OPACITY * (1 - weights[index] / top)).toFixed(3) })) : []));
}
