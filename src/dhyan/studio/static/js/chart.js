/**
 * Chart: lines with bands, and bars, over two axes.
 *
 *   const figure = chart({
 *     label: "Loss", summary: "The loss falls from 5.1 to 2.3.",
 *     x: { title: "step", scale: "log" },           // see Axis in scales.js: "linear", "log", "names"
 *     y: { title: "loss", from: 0 },
 *     series: [{ name: "bahdanau", points: [{ x: 1, y: 5.1, low: 5.0, high: 5.2 }, …] }],
 *   });
 *   parent.append(figure);        // a <figure>: the SVG, a live line, an expandable table
 *   figure.update({ series });    // redraws with the changed options
 *   figure.picture                // its current <svg>, for exportData()
 *
 * The n-th series has the n-th colour, dash and marker unless it sets a `colorIndex` (1 … 8).
 * It is redrawn when its width changes. One point has the focus: ← → move along a series, ↑ ↓ go
 * to another series, Home and End to its ends, Enter selects.
 */

import { el, svg, setChildren } from "./dom.js";
import { tickFormat } from "./axes.js";
import { drawChart, focusRing, isNavigable } from "./chart_marks.js";
import { message } from "./messages.js";

/**
 * @typedef {{x: number, y: number, low?: number, high?: number, part?: any}} Point a y that is not finite is a gap; `part` is the caller's
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {Point[]} points in order of x
 * @property {"line" | "bars"} [kind]
 * @property {number} [colorIndex] 1 … 8
 * @property {boolean} [dots] a marker on every point; by default where there is room
 * @property {boolean} [navigable] false: a reference line, skipped by keyboard and pointer
 * @property {string} [lang] of its name
 *
 * @typedef {object} Chart
 * @property {string} label accessible name
 * @property {string} [summary] description in one sentence
 * @property {import("./scales.js").Axis} x
 * @property {import("./scales.js").Axis} y
 * @property {Series[]} series
 * @property {number} [height] in pixels, default 320
 * @property {number} [left] margin left of the axis, to align two charts
 * @property {number} [right] right margin
 * @property {"ends" | "top" | "none"} [legend] "ends": names at the line ends where there is room
 * @property {{x: number, text: string}[]} [marks] vertical lines with a label
 * @property {number} [selectedX] the highlighted x
 * @property {(series: Series, point: Point) => string} [describe] description of a point
 * @property {(series: Series, point: Point) => void} [onSelect] called on click and on Enter
 * @property {string} [hint] shown in the live line until a point is selected
 */

/** @param {Chart} initial */
export function chart(initial) {
  let spec = initial;
  let width = 0;
  let selected = null; // [series, point]
  let plot = null;
  const box = el("div", { class: "chart-box" });
  const line = el("p", { class: "chart-line live muted", "aria-live": "polite" });
  const body = el("div", { class: "chart-rows", tabindex: 0, role: "region",
    "aria-label": `${spec.label}: ${message("chart_table")}` });
  const table = el("details", { class: "chart-table", on: { toggle: () => table.open && tabulate() } },
    el("summary", {}, message("chart_table")), body);
  const figure = el("figure", { class: "chart", "aria-label": spec.label }, box,
    el("div", { class: "chart-footer" }, line, table));

  function render() {
    const focused = box.contains(document.activeElement);
    plot = drawChart(spec, width || 640);
    if (selected && !spec.series[selected[0]]?.points[selected[1]]) selected = null;
    setChildren(box, plot.node);
    if (plot.marks.length) plot.node.append(marker);
    select(selected ?? plot.marks[0]?.cell, { focus: focused, announce: selected !== null });
    if (table.open) tabulate();
  }

  const marker = svg("g", { class: "chart-cursor", tabindex: 0, role: spec.onSelect ? "button" : "img",
    on: { focus: () => select(selected ?? plot.marks[0].cell, {}) } });

  /** Move the focus ring to a point and describe it in the live line. */
  function select(selection, { focus = false, announce = true }) {
    const mark = selection && plot.marks.find((mark) => mark.cell[0] === selection[0] && mark.cell[1] === selection[1]);
    if (!mark) return line.replaceChildren(spec.hint ?? message("chart_hint"));
    const series = spec.series[selection[0]];
    const text = (spec.describe ?? describePoint(spec))(series, series.points[selection[1]]);
    marker.setAttribute("aria-label", text);
    setChildren(marker, focusRing(mark));
    marker.classList.toggle("active", announce);
    if (announce) selected = selection;
    setChildren(line, announce ? text : spec.hint ?? message("chart_hint"));
    if (focus) marker.focus({ preventScroll: true });
  }

  function tabulate() {
    setChildren(body, asTable(spec));
  }

  box.addEventListener("keydown", (event) => {
    const next = nextPoint(event.key, selected ?? plot.marks[0]?.cell, spec);
    if (next) select(next, { focus: true });
    else if (["Enter", " "].includes(event.key) && spec.onSelect && selected) choose();
    else return;
    event.preventDefault();
  });
  const choose = () => spec.onSelect?.(spec.series[selected[0]], spec.series[selected[0]].points[selected[1]]);
  box.addEventListener("pointermove", (event) => {
    const mark = nearest(plot, box, event);
    if (mark) select(mark.cell, {});
  });
  box.addEventListener("click", (event) => {
    const mark = nearest(plot, box, event);
    if (!mark) return;
    select(mark.cell, {});
    choose();
  });
  new ResizeObserver(([entry]) => {
    const newWidth = Math.floor(entry.contentRect.width);
    if (newWidth && newWidth !== width) {
      width = newWidth;
      render();
    }
  }).observe(box);
  render();
  const update = (/** @type {Partial<Chart>} */ patch) => {
    spec = { ...spec, ...patch };
    figure.setAttribute("aria-label", spec.label);
    render();
  };
  const methods = { update, get picture() { return plot.node; } };
  return /** @type {HTMLElement & typeof methods} */ (Object.defineProperties(figure, Object.getOwnPropertyDescriptors(methods)));
}

/** Default description of a point. */
function describePoint(spec) {
  const [x, y] = [tickFormat(spec.x), tickFormat(spec.y)];
  return (series, point) => {
    const range = point.low === undefined ? "" : ` (${message("chart_between", y(point.low), y(point.high))})`;
    return message("chart_point", series.name, spec.x.title, x(point.x), spec.y.title, y(point.y)) + range;
  };
}

/** The point an arrow key moves to: along the series, or the nearest x of another series. */
function nextPoint(key, selection, spec) {
  if (!selection) return null;
  const [row, column] = selection;
  const finiteIndices = (series) => series.points.flatMap((point, index) => (Number.isFinite(point.y) ? [index] : []));
  const indices = finiteIndices(spec.series[row]);
  const position = indices.indexOf(column);
  const step = { ArrowLeft: position - 1, ArrowRight: position + 1, Home: 0, End: indices.length - 1 }[key];
  if (step !== undefined) return [row, indices[Math.min(Math.max(step, 0), indices.length - 1)]];
  const offset = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!offset) return null;
  const navigable = spec.series.flatMap((series, index) => (isNavigable(series) ? [index] : []));
  const nextRow = navigable[(navigable.indexOf(row) + offset + navigable.length) % navigable.length];
  const x = spec.series[row].points[column].x;
  const distance = (mark) => Math.abs(spec.series[nextRow].points[mark].x - x);
  return [nextRow, finiteIndices(spec.series[nextRow]).reduce((nearestMark, mark) => (distance(mark) < distance(nearestMark) ? mark : nearestMark))];
}

function nearest(plot, box, event) {
  const frame = box.getBoundingClientRect();
  const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
  const distance = (mark) => (mark.height !== undefined && Math.abs(mark.x - x) <= mark.width / 2 ? 0
    : Math.hypot(mark.x - x, (mark.y - y) * 0.6));
  const nearestMark = plot.marks.reduce((best, mark) => (best && distance(best) <= distance(mark) ? best : mark), null);
  return nearestMark && distance(nearestMark) < 60 ? nearestMark : null;
}

/** A row for every x, a column for every series. */
function asTable(spec) {
  const series = spec.series;
  const xs = [...new Set(series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
  const pointsByX = series.map((series) => new Map(series.points.map((point) => [point.x, point])));
  const y = tickFormat(spec.y);
  const cell = (point) => (!point || !Number.isFinite(point.y) ? "–"
    : y(point.y) + (point.low === undefined ? "" : ` (${y(point.low)} … ${y(point.high)})`));
  return el("table", { class: "numbers" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, spec.x.title),
      ...series.map((series) => el("th", { scope: "col", lang: series.lang }, series.name)))),
    el("tbody", {}, ...xs.map((x) => el("tr", {}, el("th", { scope: "row" }, tickFormat(spec.x)(x)),
      ...pointsByX.map((points) => el("td", {}, cell(points.get(x))))))));
}
