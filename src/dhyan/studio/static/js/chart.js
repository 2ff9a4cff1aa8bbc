/**
 * An ordinary chart: lines with bands, and bars, over two axes.
 *
 *   const drawn = chart({
 *     label: "Loss", summary: "The loss falls from 5.1 to 2.3.",
 *     x: { title: "step", scale: "log" },           // see Axis in ticks.js: "linear", "log", "names"
 *     y: { title: "loss", from: 0 },
 *     series: [{ name: "bahdanau", points: [{ x: 1, y: 5.1, low: 5.0, high: 5.2 }, …] }],
 *   });
 *   parent.append(drawn);         // a <figure>: the picture, a live line, the table that can be opened
 *   drawn.update({ series });     // redrawn with what changed; the rest stays
 *   drawn.picture                 // its <svg> now, for taken()
 *
 * The n-th series has the n-th colour, dash and shape unless it names a `tone` (1 … 8) of its own.
 * It is drawn anew when its width changes. One point has the focus: ← → walk along a series, ↑ ↓ go
 * to another one, Home and End to its ends, Enter chooses.
 */

import { el, svg, fill } from "./dom.js";
import { drawn, ringOf, walked } from "./chart_marks.js";
import { message, addMessages } from "./messages.js";
import { writer } from "./ticks.js";

addMessages({
  chart_table: ["The same as a table", "यही सारणी के रूप में"],
  chart_hint: ["Point at the picture, or walk through it with the arrow keys, to read its numbers.",
    "संख्याएँ पढ़ने के लिए चित्र पर इंगित कीजिए या तीर कुंजियों से उसमें चलिए।"],
  chart_point: ["{0}; {1}: {2}; {3}: {4}", "{0}; {1}: {2}; {3}: {4}"],
  chart_between: ["between {0} and {1}", "{0} और {1} के बीच"],
});

/**
 * @typedef {{x: number, y: number, low?: number, high?: number}} Point a y that is no number is a gap
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {Point[]} points in order of x
 * @property {"line" | "bars"} [kind]
 * @property {number} [tone] 1 … 8
 * @property {boolean} [dots] a mark on every point; as there is room unless said
 * @property {boolean} [walk] false: a line for comparison, which keyboard and pointer pass over
 * @property {string} [lang] of its name
 *
 * @typedef {object} Chart
 * @property {string} label the name of the picture
 * @property {string} [summary] what it shows, in a sentence
 * @property {import("./ticks.js").Axis} x
 * @property {import("./ticks.js").Axis} y
 * @property {Series[]} series
 * @property {number} [height] in pixels, 320 unless said
 * @property {number} [left] room left of the axis, where two charts must line up
 * @property {number} [right] room right of it
 * @property {"ends" | "top" | "none"} [legend] names at the ends of the lines where there is room
 * @property {{x: number, text: string}[]} [marks] upright lines with words
 * @property {number} [chosen] an x that is marked
 * @property {(series: Series, point: Point) => string} [says] a point in words
 * @property {(series: Series, point: Point) => void} [choose] on a click and on Enter
 * @property {string} [hint] stands in the live line until a point is looked at
 */

/** @param {Chart} first */
export function chart(first) {
  let spec = first;
  let width = 0;
  let here = null; // [series, point]
  let plot = null;
  const box = el("div", { class: "chart-box" });
  const line = el("p", { class: "chart-line live quiet", "aria-live": "polite" });
  const body = el("div", { class: "chart-rows", tabindex: 0, role: "region",
    "aria-label": `${spec.label}: ${message("chart_table")}` });
  const table = el("details", { class: "chart-table", on: { toggle: () => table.open && tabulate() } },
    el("summary", {}, message("chart_table")), body);
  const figure = el("figure", { class: "chart", "aria-label": spec.label }, box,
    el("div", { class: "chart-foot" }, line, table));

  function render() {
    const focused = box.contains(document.activeElement);
    plot = drawn(spec, width || 640);
    if (here && !spec.series[here[0]]?.points[here[1]]) here = null;
    fill(box, plot.node);
    if (plot.places.length) plot.node.append(marker);
    mark(here ?? plot.places[0]?.at, { focus: focused, tell: here !== null });
    if (table.open) tabulate();
  }

  const marker = svg("g", { class: "chart-here", tabindex: 0, role: spec.choose ? "button" : "img",
    on: { focus: () => mark(here ?? plot.places[0].at, {}) } });

  /** Put the focus ring on a point, and say the point. */
  function mark(at, { focus = false, tell = true }) {
    const place = at && plot.places.find((place) => place.at[0] === at[0] && place.at[1] === at[1]);
    if (!place) return line.replaceChildren(spec.hint ?? message("chart_hint"));
    const series = spec.series[at[0]];
    const words = (spec.says ?? usual(spec))(series, series.points[at[1]]);
    marker.setAttribute("aria-label", words);
    fill(marker, ringOf(place));
    marker.classList.toggle("on", tell);
    if (tell) here = at;
    fill(line, tell ? words : spec.hint ?? message("chart_hint"));
    if (focus) marker.focus({ preventScroll: true });
  }

  function tabulate() {
    fill(body, asTable(spec));
  }

  box.addEventListener("keydown", (event) => {
    const next = stepped(event.key, here ?? plot.places[0]?.at, spec);
    if (next) mark(next, { focus: true });
    else if (["Enter", " "].includes(event.key) && spec.choose && here) choose();
    else return;
    event.preventDefault();
  });
  const choose = () => spec.choose?.(spec.series[here[0]], spec.series[here[0]].points[here[1]]);
  box.addEventListener("pointermove", (event) => {
    const place = nearest(plot, box, event);
    if (place) mark(place.at, {});
  });
  box.addEventListener("click", (event) => {
    const place = nearest(plot, box, event);
    if (!place) return;
    mark(place.at, {});
    choose();
  });
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      render();
    }
  }).observe(box);
  render();
  const update = (patch) => {
    spec = { ...spec, ...patch };
    figure.setAttribute("aria-label", spec.label);
    render();
  };
  Object.defineProperty(figure, "picture", { get: () => plot.node });
  return Object.assign(figure, { update });
}

/** A point in words, where the chart has no better ones. */
function usual(spec) {
  const [x, y] = [writer(spec.x), writer(spec.y)];
  return (series, point) => {
    const range = point.low === undefined ? "" : ` (${message("chart_between", y(point.low), y(point.high))})`;
    return message("chart_point", series.name, spec.x.title, x(point.x), spec.y.title, y(point.y)) + range;
  };
}

/** Where a key leads from a point: along its series, or to the like point of another. */
function stepped(key, at, spec) {
  if (!at) return null;
  const [row, column] = at;
  const real = (series) => series.points.flatMap((point, index) => (Number.isFinite(point.y) ? [index] : []));
  const along = real(spec.series[row]);
  const stood = along.indexOf(column);
  const step = { ArrowLeft: stood - 1, ArrowRight: stood + 1, Home: 0, End: along.length - 1 }[key];
  if (step !== undefined) return [row, along[Math.min(Math.max(step, 0), along.length - 1)]];
  const by = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!by) return null;
  const others = spec.series.flatMap((series, index) => (walked(series) ? [index] : []));
  const other = others[(others.indexOf(row) + by + others.length) % others.length];
  const x = spec.series[row].points[column].x;
  const near = (place) => Math.abs(spec.series[other].points[place].x - x);
  return [other, real(spec.series[other]).reduce((best, place) => (near(place) < near(best) ? place : best))];
}

function nearest(plot, box, event) {
  const frame = box.getBoundingClientRect();
  const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
  const far = (place) => (place.tall !== undefined && Math.abs(place.x - x) <= place.thick / 2 ? 0
    : Math.hypot(place.x - x, (place.y - y) * 0.6));
  const best = plot.places.reduce((found, place) => (found && far(found) <= far(place) ? found : place), null);
  return best && far(best) < 60 ? best : null;
}

/** A row for every x, a column for every series. */
function asTable(spec) {
  const series = spec.series;
  const xs = [...new Set(series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
  const known = series.map((series) => new Map(series.points.map((point) => [point.x, point])));
  const y = writer(spec.y);
  const cell = (point) => (!point || !Number.isFinite(point.y) ? "–"
    : y(point.y) + (point.low === undefined ? "" : ` (${y(point.low)} … ${y(point.high)})`));
  return el("table", { class: "numbers" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, spec.x.title),
      ...series.map((series) => el("th", { scope: "col", lang: series.lang }, series.name)))),
    el("tbody", {}, ...xs.map((x) => el("tr", {}, el("th", { scope: "row" }, writer(spec.x)(x)),
      ...known.map((points) => el("td", {}, cell(points.get(x))))))));
}
