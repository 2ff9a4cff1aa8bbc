/** Gravity view: attention moves every word towards the words it attends to, in a toy or in a model. */

import { el, setChildren } from "../dom.js";
import { controls, segments, slider } from "../controls.js";
import { scatterPlot } from "../scatter_plot.js";
import { formatNumber } from "../numbers.js";
import { state, set, hasServer } from "../state.js";
import { hasEmbeddedResponse } from "../embedded_trace.js";
import { message } from "../messages.js";
import { distance, parsePoints, applyLayers, SENTENCES, formatPoints } from "./gravity/toy.js";
import { modelPlane } from "./gravity/model.js";

const RANGE = { x: [-1, 14], y: [-5, 9] };
const COLLAPSE_DISTANCE = 0.05;
const COLOR_INDICES = { money: 3, bank: 1, river: 2 };

/** @returns {View} */
export function open() {
  const container = el("div", { class: "gravity-container" });
  const node = el("section", { class: "gravity", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_gravity"))),
    (hasServer() || hasEmbeddedResponse("/api/gravity")) && controls(segments(message("gravity_source"), "gravity_mode", [["toy", message("gravity_toy")], ["model", message("gravity_model")]])), container);
  let plane = null;

  function show() {
    plane?.close();
    plane = state.gravity_mode === "toy" ? toyPlane() : modelPlane();
    setChildren(container, plane.node);
  }
  show();
  return {
    node,
    showsSentence: () => state.gravity_mode === "model",
    update(changed) {
      if (changed.has("gravity_mode")) show();
      else plane.update(changed);
    },
    exportData: () => plane.exportData(),
    close: () => plane.close(),
  };
}

/** The toy plane with movable words. */
function toyPlane() {
  const layers = slider(message("gravity_layers"), "gravity_layers", { min: 1, max: 8 });
  const temperature = slider(message("gravity_temperature"), "gravity_temperature", { min: 5, max: 500 }, (value) => formatNumber(value / 100, 2));
  const reset = el("button", { type: "button", on: { click: () => set({ gravity_points: "" }, { replace: true }) } }, message("gravity_reset"));
  const summary = el("p", { class: "live", "aria-live": "polite" });
  const picture = scatterPlot({ label: message("gravity_plane"), points: [], range: RANGE, onMove: (word, point) =>
    set({ gravity_points: formatPoints({ ...parsePoints(state.gravity_points), [word]: point }) }, { replace: true }) });
  const box = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("gravity_plane") }, picture);
  const table = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("gravity_row") });
  const explanation = el("p", { class: "muted" });
  const node = el("div", {},
    controls(segments(message("gravity_sentence"), "gravity_sentence", Object.entries(SENTENCES).map(([key, words]) => [key, words.join(" ")])),
      segments(message("gravity_weights"), "gravity_weights", [["softmax", message("gravity_softmax")], ["fixed", message("gravity_fixed")]])),
    controls(temperature, layers, reset),
    el("div", { class: "gravity-columns" },
      el("figure", { class: "gravity-figure" }, box, el("figcaption", { class: "muted" }, message("gravity_caption"))),
      el("div", { class: "gravity-summary" }, summary, table, explanation)));
  let weightsTable = null;

  function render() {
    const words = SENTENCES[state.gravity_sentence];
    const points = parsePoints(state.gravity_points);
    const vectors = words.map((word) => points[word]);
    const { stages, weights } = applyLayers(vectors, { layers: state.gravity_layers, temperature: state.gravity_temperature / 100, fixed: state.gravity_weights === "fixed" });
    weightsTable = { values: weights[0], rows: words, columns: words };
    picture.update({ points: words.map((word, index) => plotPoint(word, stages.map((stage) => stage[index]))) });
    setChildren(summary, ...summarize(words, stages).flatMap((sentence) => [sentence, " "]));
    setChildren(table, weightTable(weightsTable));
    setChildren(explanation, message(state.gravity_weights === "fixed" ? "gravity_fixed_text" : "gravity_formula"));
    temperature.hidden = state.gravity_weights === "fixed";
    reset.disabled = state.gravity_points === "";
  }

  render();
  return {
    node,
    update(changed) {
      layers.sync();
      temperature.sync();
      if (["gravity_points", "gravity_sentence", "gravity_weights", "gravity_temperature", "gravity_layers"].some((key) => changed.has(key))) render();
    },
    exportData: () => ({ picture, table: weightsTable, trace: null }),
    close() {},
  };
}

/** A plot point for a word and its positions by layer. */
function plotPoint(word, points) {
  const [start, end] = [points[0], points.at(-1)];
  return { id: word, text: word, lang: "en", position: start, trail: points.slice(1), colorIndex: COLOR_INDICES[word], draggable: true,
    label: message("gravity_point", word, formatNumber(start[0], 1), formatNumber(start[1], 1), formatNumber(end[0], 1), formatNumber(end[1], 1)) };
}

/** Summary of how "bank" moved. */
function summarize(words, stages) {
  const bank = words.indexOf("bank");
  const [first, last] = [stages[0], stages.at(-1)];
  const numbers = [...first[bank], ...last[bank]].map((value) => formatNumber(value, 2).replace(/\.?0+$/, ""));
  const sentences = [message("gravity_moves", ...numbers), ...words.flatMap((word, index) => (index === bank ? []
    : [message("gravity_distance", word, formatNumber(distance(first[bank], first[index]), 2), formatNumber(distance(last[bank], first[index]), 2))]))];
  const collapsed = Math.max(...last.map((point) => distance(point, last[0]))) < COLLAPSE_DISTANCE;
  return collapsed ? [...sentences, message("gravity_collapsed", stages.length - 1)] : sentences;
}

function weightTable({ values, rows, columns }) {
  return el("table", { class: "numbers" }, el("caption", { class: "muted" }, message("gravity_row")),
    el("thead", {}, el("tr", {}, el("td"), ...columns.map((word) => el("th", { scope: "col", lang: "en" }, word)))),
    el("tbody", {}, ...values.map((line, row) => el("tr", {}, el("th", { scope: "row", lang: "en" }, rows[row]),
      ...line.map((value) => el("td", {}, formatNumber(value)))))));
}

