/** Why scores are divided by √d: they spread with the width, and the softmax hardens. */

import { el, fill } from "../dom.js";
import { chart } from "../axes.js";
import { controls, slider } from "../controls.js";
import { said, softmax } from "../numbers.js";
import { state, set } from "../state.js";
import { say } from "../words.js";
import { MOST_KEYS, PAIRS, QUERIES, WIDTHS, means, scores, variances } from "./scale-draws.js";
import "./scale-words.js";

export { lesson } from "./scale-words.js";

const PAUSE = 150; // milliseconds a seed stands still before the variances are drawn anew
const ALMOST_NOTHING = 0.1;
const LINES = [ // what the right chart draws: its words, its colour, which mean of which softmax
  ["scale_largest_raw", 2, "largest", false], ["scale_largest_scaled", 1, "largest", true],
  ["scale_through_raw", 4, "through", false], ["scale_through_scaled", 3, "through", true],
];
const X = () => ({ title: say("scale_d"), scale: "log", base: 2, from: 2, to: 1024, written: String });

export function open() {
  const left = chart(spread());
  const right = chart(hardness());
  const below = chart(weights());
  const table = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": say("scale_numbers") });
  const verdict = el("p", { class: "scale-verdict" });
  const sliders = [widths(), slider(say("scale_count"), "nn", { least: 2, most: MOST_KEYS }),
    slider(say("scale_seed"), "seed", { least: 1, most: 50 })];
  const part = (key, drawn) => el("section", { class: "scale-part" }, el("h2", {}, say(key)), drawn);
  const node = el("section", { class: "scale", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, say("scale_title")), el("p", {}, say("scale_lead"))),
    controls(...sliders), table, verdict,
    el("div", { class: "scale-pair" }, part("scale_left", left), part("scale_right", right)),
    part("scale_below", below),
    el("p", { class: "quiet" }, say("scale_how", PAIRS, QUERIES)));
  let waiting = 0;

  function numbers() {
    const kinds = [[false, "scale_row_raw"], [true, "scale_row_scaled"]];
    const columns = ["scale_column_deviation", "scale_column_largest", "scale_column_through"];
    const row = ([scaled, key]) => {
      const { largest, through } = means(state.seed, state.d, state.nn, scaled);
      return el("tr", { "data-kind": scaled ? "scaled" : "raw" }, el("th", { scope: "row" }, say(key)),
        el("td", {}, scaled ? "1" : `√${state.d} = ${said(Math.sqrt(state.d), 1)}`),
        el("td", {}, said(largest)), el("td", {}, said(through)));
    };
    fill(table, el("table", { class: "numbers scale-table" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, say("scale_kind", state.d, state.nn)),
        ...columns.map((key) => el("th", { scope: "col" }, say(key))))),
      el("tbody", {}, ...kinds.map(row))));
    fill(verdict, say("scale_bound", state.nn, said(1 - 1 / state.nn)), " ", dying());
  }

  function follow() {
    for (const one of sliders) one.follow();
  }

  numbers();
  return {
    node,
    update(changed) {
      if (!["d", "nn", "seed"].some((key) => changed.has(key))) return;
      follow();
      numbers();
      below.update(weights());
      if (changed.has("nn") || changed.has("seed")) right.update(hardness());
      else right.update({ chosen: state.d });
      left.update({ chosen: state.d });
      if (changed.has("seed")) {
        clearTimeout(waiting);
        waiting = setTimeout(() => left.update(spread()), PAUSE);
      }
    },
    taken: () => ({ picture: right.picture, trace: null, table: { columns: WIDTHS.map(String),
      rows: LINES.map(([key]) => say(key)), values: LINES.map(([, , name, scaled]) =>
        WIDTHS.map((width) => means(state.seed, width, state.nn, scaled)[name])) } }),
    close: () => clearTimeout(waiting),
  };
}

/** A slider over the powers of two. */
function widths() {
  const shown = el("output", { class: "number" });
  const input = el("input", { type: "range", min: 1, max: WIDTHS.length, step: 1, "data-key": "d",
    on: { input: () => set({ d: 2 ** Number(input.value) }, { quiet: true }) } });
  const node = el("label", { class: "field slider" }, el("span", {}, say("scale_width")), input, shown);
  function follow() {
    input.value = String(Math.round(Math.log2(state.d)));
    input.setAttribute("aria-valuetext", String(state.d));
    shown.textContent = String(state.d);
  }
  follow();
  return Object.assign(node, { follow });
}

const choose = (_, point) => set({ d: point.x }, { quiet: true });

/** The variance of products by their width. */
function spread() {
  const found = variances(state.seed);
  const points = (values) => WIDTHS.map((x, at) => ({ x, y: values[at] }));
  return {
    label: say("scale_left"), x: X(), y: { title: say("scale_variance"), scale: "log", base: 2, from: 1, to: 2048,
      ticks: [1, 4, 16, 64, 256, 1024], written: (value) => said(value, value % 1 ? 1 : 0) },
    summary: say("scale_summary", WIDTHS[0], said(found[0], 1), WIDTHS.at(-1), said(found.at(-1), 0)),
    series: [{ name: say("scale_line"), points: points(WIDTHS), tone: 8, walk: false },
      { name: say("scale_measured"), points: points(found), tone: 1 }],
    says: (series, point) => say("scale_point", point.x, say("scale_variance"), said(point.y, 1)),
    chosen: state.d, choose, legend: "top", height: 330,
  };
}

/** How hard the softmax is, by width. */
function hardness() {
  const both = [false, true].map((scaled) =>
    WIDTHS.map((width) => means(state.seed, width, state.nn, scaled)));
  return {
    label: say("scale_right"), x: X(), y: { title: say("scale_share", QUERIES), from: 0, to: 1 },
    summary: dying(),
    series: LINES.map(([key, tone, name, scaled]) => ({ name: say(key), tone,
      points: WIDTHS.map((x, at) => ({ x, y: both[Number(scaled)][at][name] })) })),
    says: (series, point) => say("scale_point", point.x, series.name, said(point.y)),
    chosen: state.d, choose, legend: "top", height: 330,
  };
}

/** One softmax, drawn as it is and as it is scaled. */
function weights() {
  const found = scores(state.seed, state.d, state.nn);
  const bars = (name, tone, values) => ({ name, tone, kind: "bars",
    points: softmax(values).map((y, at) => ({ x: at, y })) });
  return {
    label: say("scale_below"), height: 260, legend: "top",
    x: { title: say("scale_key"), scale: "names", names: found.map((_, at) => String(at + 1)) },
    y: { title: say("scale_weight"), from: 0, to: 1 },
    series: [bars(say("scale_raw"), 2, found),
      bars(say("scale_scaled"), 1, found.map((one) => one / Math.sqrt(state.d)))],
    says: (series, point) => say("scale_bar", point.x + 1, series.name, said(point.y)),
  };
}

/** From which width on next to nothing passes the softmax; decided by the means. */
function dying() {
  const at = (width, scaled) => means(state.seed, width, state.nn, scaled).through;
  const dead = WIDTHS.find((width) => at(width, false) < ALMOST_NOTHING);
  const width = dead ?? WIDTHS.at(-1);
  return say(dead ? "scale_dies" : "scale_lives", width, said(at(width, false)), said(at(width, true)));
}
