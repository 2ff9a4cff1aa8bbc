/** Scale view: why scores are divided by √d: their variance grows with the width and the softmax saturates. */

import { el, setChildren } from "../dom.js";
import { chart } from "../chart.js";
import { controls, slider } from "../controls.js";
import { formatNumber, softmax } from "../numbers.js";
import { state, set } from "../state.js";
import { message } from "../messages.js";
import { MAX_KEYS, PAIRS, QUERIES, WIDTHS, means, scores, variances } from "./scaling/sampling.js";

const DEBOUNCE = 150; // debounce of the seed slider in milliseconds
const VANISHED = 0.1;
/** @type {[message: string, colorIndex: number, statistic: "largest" | "gradient", scaled: boolean][]} */
const LINES = [ // series of the right chart
  ["scale_max_raw", 2, "largest", false], ["scale_max_scaled", 1, "largest", true],
  ["scale_gradient_raw", 4, "gradient", false], ["scale_gradient_scaled", 3, "gradient", true],
];
/** @returns {import("../scales.js").Axis} */
const X = () => ({ title: message("scale_d"), scale: "log", base: 2, from: 2, to: 1024, format: String });

/** @returns {View} */
export function open() {
  const left = chart(varianceChart());
  const right = chart(softmaxChart());
  const below = chart(weightChart());
  const table = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("scale_numbers") });
  const verdict = el("p", { class: "scale-verdict" });
  const sliders = [widthSlider(), slider(message("scale_count"), "keys", { min: 2, max: MAX_KEYS }),
    slider(message("scale_seed"), "seed", { min: 1, max: 50 })];
  const part = (key, figure) => el("section", { class: "scale-part" }, el("h2", {}, message(key)), figure);
  const node = el("section", { class: "scale", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("scale_title")), el("p", {}, message("scale_lead"))),
    controls(...sliders), table, verdict,
    el("div", { class: "scale-pair" }, part("scale_left", left), part("scale_right", right)),
    part("scale_below", below),
    el("p", { class: "muted" }, message("scale_how", PAIRS, QUERIES)));
  let timer = 0;

  function renderNumbers() {
    /** @type {[boolean, string][]} */
    const kinds = [[false, "scale_row_raw"], [true, "scale_row_scaled"]];
    const columns = ["scale_column_deviation", "scale_column_max", "scale_column_gradient"];
    const row = (/** @type {[boolean, string]} */ [scaled, key]) => {
      const { largest, gradient } = means(state.seed, state.dimension, state.keys, scaled);
      return el("tr", { "data-kind": scaled ? "scaled" : "raw" }, el("th", { scope: "row" }, message(key)),
        el("td", {}, scaled ? "1" : `√${state.dimension} = ${formatNumber(Math.sqrt(state.dimension), 1)}`),
        el("td", {}, formatNumber(largest)), el("td", {}, formatNumber(gradient)));
    };
    setChildren(table, el("table", { class: "numbers scale-table" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, message("scale_kind", state.dimension, state.keys)),
        ...columns.map((key) => el("th", { scope: "col" }, message(key))))),
      el("tbody", {}, ...kinds.map(row))));
    setChildren(verdict, message("scale_bound", state.keys, formatNumber(1 - 1 / state.keys)), " ", vanishingText());
  }

  function sync() {
    for (const slider of sliders) slider.sync();
  }

  renderNumbers();
  return {
    node,
    showsSentence: () => false,
    update(changed) {
      if (!["dimension", "keys", "seed"].some((key) => changed.has(key))) return;
      sync();
      renderNumbers();
      below.update(weightChart());
      if (changed.has("keys") || changed.has("seed")) right.update(softmaxChart());
      else right.update({ selectedX: state.dimension });
      left.update({ selectedX: state.dimension });
      if (changed.has("seed")) {
        clearTimeout(timer);
        timer = setTimeout(() => left.update(varianceChart()), DEBOUNCE);
      }
    },
    exportData: () => ({ picture: right.picture, trace: null, table: { columns: WIDTHS.map(String),
      rows: LINES.map(([key]) => message(key)), values: LINES.map(([, , name, scaled]) =>
        WIDTHS.map((width) => means(state.seed, width, state.keys, scaled)[name])) } }),
    close: () => clearTimeout(timer),
  };
}

/** Slider over powers of two. */
function widthSlider() {
  const output = el("output", { class: "number" });
  const input = el("input", { type: "range", min: 1, max: WIDTHS.length, step: 1, "data-key": "dimension",
    on: { input: () => set({ dimension: 2 ** Number(input.value) }, { replace: true }) } });
  const node = el("label", { class: "field slider" }, el("span", {}, message("scale_width")), input, output);
  function sync() {
    input.value = String(Math.round(Math.log2(state.dimension)));
    input.setAttribute("aria-valuetext", String(state.dimension));
    output.textContent = String(state.dimension);
  }
  sync();
  return Object.assign(node, { sync });
}

const choose = (_, point) => set({ dimension: point.x }, { replace: true });

/** Chart: variance of q·k by width. @returns {import("../chart.js").Chart} */
function varianceChart() {
  const measured = variances(state.seed);
  const points = (values) => WIDTHS.map((x, index) => ({ x, y: values[index] }));
  return {
    label: message("scale_left"), x: X(), y: { title: message("scale_variance"), scale: "log", base: 2, from: 1, to: 2048,
      ticks: [1, 4, 16, 64, 256, 1024], format: (value) => formatNumber(value, value % 1 ? 1 : 0) },
    summary: message("scale_summary", WIDTHS[0], formatNumber(measured[0], 1), WIDTHS.at(-1), formatNumber(measured.at(-1), 0)),
    series: [{ name: message("scale_line"), points: points(WIDTHS), colorIndex: 8, navigable: false },
      { name: message("scale_measured"), points: points(measured), colorIndex: 1 }],
    describe: (series, point) => message("scale_point", point.x, message("scale_variance"), formatNumber(point.y, 1)),
    selectedX: state.dimension, onSelect: choose, legend: "top", height: 330,
  };
}

/** Chart: saturation of the softmax by width. @returns {import("../chart.js").Chart} */
function softmaxChart() {
  const meanRows = [false, true].map((scaled) =>
    WIDTHS.map((width) => means(state.seed, width, state.keys, scaled)));
  return {
    label: message("scale_right"), x: X(), y: { title: message("scale_share", QUERIES), from: 0, to: 1 },
    summary: vanishingText(),
    series: LINES.map(([key, colorIndex, name, scaled]) => ({ name: message(key), colorIndex,
      points: WIDTHS.map((x, index) => ({ x, y: meanRows[Number(scaled)][index][name] })) })),
    describe: (series, point) => message("scale_point", point.x, series.name, formatNumber(point.y)),
    selectedX: state.dimension, onSelect: choose, legend: "top", height: 330,
  };
}

/** Chart: weights of one softmax, raw and scaled. @returns {import("../chart.js").Chart} */
function weightChart() {
  const rawScores = scores(state.seed, state.dimension, state.keys);
  /** @returns {import("../chart.js").Series} */
  const bars = (name, colorIndex, values) => ({ name, colorIndex, kind: "bars",
    points: softmax(values).map((y, index) => ({ x: index, y })) });
  return {
    label: message("scale_below"), height: 260, legend: "top",
    x: { title: message("scale_key"), scale: "names", names: rawScores.map((_, index) => String(index + 1)) },
    y: { title: message("scale_weight"), from: 0, to: 1 },
    series: [bars(message("scale_raw"), 2, rawScores),
      bars(message("scale_scaled"), 1, rawScores.map((score) => score / Math.sqrt(state.dimension)))],
    describe: (series, point) => message("scale_bar", point.x + 1, series.name, formatNumber(point.y)),
  };
}

/** Text: the width from which the gradient through the softmax vanishes. */
function vanishingText() {
  const gradientAt = (width, scaled) => means(state.seed, width, state.keys, scaled).gradient;
  const vanished = WIDTHS.find((width) => gradientAt(width, false) < VANISHED);
  const width = vanished ?? WIDTHS.at(-1);
  return message(vanished ? "scale_vanishes" : "scale_persists", width, formatNumber(gradientAt(width, false)), formatNumber(gradientAt(width, true)));
}
