/** SVG of a chart: lines, bands, bars and names; `chart.js` adds the interaction. */

import { axesGrid, ROW, tickFormat } from "./axes.js";
import { svg } from "./dom.js";
import { axisScale } from "./scales.js";
import { textWidth } from "./text_width.js";

const DASHES = ["", "8 4", "2 4", "10 4 2 4", "5 3", "14 4", "2 2", "6 2 2 2"];
const MAX_DOTS = 40;

const colorIndexOf = (spec, seriesIndex) => ((spec.series[seriesIndex].colorIndex ?? seriesIndex + 1) - 1) % DASHES.length + 1;

/** Whether keyboard and pointer can select the points of a series. */
export const isNavigable = (series) =>
  series.navigable !== false && series.points.some((point) => Number.isFinite(point.y));

/** The SVG, and the pixel positions of its points. @param {import("./chart.js").Chart} spec */
export function drawChart(spec, width) {
  const names = spec.series.map((series) => series.name);
  const ends = (spec.legend ?? "ends") === "ends" && width >= 560;
  const top = !ends && spec.legend !== "none" && names.length > 1;
  const points = spec.series.flatMap((series) => series.points);
  const ys = points.flatMap(({ y, low = y, high = y }) => [y, low, high]).filter(Number.isFinite);
  const height = spec.height ?? 320;
  const keys = top ? legend(spec, width) : null;
  const above = 12 + ROW + (keys?.height ?? 0);
  const below = height - ROW - (spec.x.title ? ROW : 4) - 6;
  const y = axisScale(spec.y, spec.series.some((series) => series.kind === "bars") ? [0, ...ys] : ys, [below, above], 38);
  const left = spec.left ?? Math.max(...y.ticks.map((tick) => textWidth(tickFormat(spec.y)(tick))), 16) + 14;
  const right = width - (spec.right ?? (ends ? Math.max(...names.map((name) => textWidth(name))) + 42 : 20));
  const x = axisScale(spec.x, points.map((point) => point.x), [left, right], 64);
  const frame = { spec, x, y, left, right, above, below, height, width };
  const shapes = spec.series.map((_, index) => shape(frame, index));
  const node = svg("svg", { class: "chart-picture", width, height, viewBox: `0 0 ${width} ${height}`,
    role: "group", "aria-label": spec.label },
  svg("g", { role: "img", "aria-label": spec.summary ?? spec.label },
    selectedBand(frame), grid(frame), ...shapes.map((shape) => shape.node), markers(frame),
    ends && endLabels(frame), keys?.node));
  return { node, marks: shapes.flatMap((shape) => shape.marks) };
}

function grid({ spec, x, y, left, right, above, below }) {
  return svg("g", {}, axesGrid({ x: { scale: x, format: tickFormat(spec.x) }, y: { scale: y, format: tickFormat(spec.y) } }, { left, right, above, below }),
    svg("line", { x1: left, x2: right, y1: below, y2: below, class: "axis-line" }),
    svg("text", { x: 2, y: 14, class: "chart-title" }, spec.y.title),
    svg("text", { x: (left + right) / 2, y: below + 2 * ROW, "text-anchor": "middle", class: "chart-title" }, spec.x.title));
}

function selectedBand({ spec, x, above, below }) {
  if (spec.selectedX === undefined || spec.selectedX === null) return null;
  const half = x.band ? x.band / 2 - 2 : 3;
  return svg("rect", { x: x.at(spec.selectedX) - half, y: above, width: 2 * half, height: below - above, rx: 4,
    class: "chart-selection" });
}

function markers({ spec, x, left, right, above, below }) {
  return svg("g", {}, ...(spec.marks ?? []).map(({ x: value, text }) => {
    const position = x.at(value);
    const leftwards = position + textWidth(text) + 8 > right && position - textWidth(text) - 8 > left;
    return svg("g", {}, svg("line", { x1: position, x2: position, y1: above, y2: below, class: "chart-mark" }),
      svg("text", { x: position + (leftwards ? -6 : 6), y: below - 10, "text-anchor": leftwards ? "end" : "start",
        class: "axis-tick chart-mark-label" }, text));
  }));
}

/** SVG of one series and the positions of its points. */
function shape(frame, seriesIndex) {
  const series = frame.spec.series[seriesIndex];
  const colorIndex = colorIndexOf(frame.spec, seriesIndex);
  const drawable = (point) => Number.isFinite(point.y) && Number.isFinite(frame.y.at(point.y)); // log 0 cannot be drawn
  const points = series.points.map((point, index) => ({ ...point, index })).filter(drawable);
  const navigable = isNavigable(series);
  return series.kind === "bars" ? bars(frame, seriesIndex, colorIndex, points, navigable) : lines(frame, seriesIndex, colorIndex, points, navigable);
}

function lines({ spec, x, y }, seriesIndex, colorIndex, points, navigable) {
  const series = spec.series[seriesIndex];
  const dotted = series.dots ?? (navigable && points.length <= MAX_DOTS);
  const marks = points.map((point) => ({ x: x.at(point.x), y: y.at(point.y), cell: [seriesIndex, point.index], colorIndex }));
  const continues = (index) => index > 0 && points[index].index === points[index - 1].index + 1;
  const path = marks.map((mark, index) =>
    `${continues(index) ? "L" : "M"}${mark.x.toFixed(1)} ${mark.y.toFixed(1)}`);
  const bandPoints = points.filter((point) => Number.isFinite(point.low) && Number.isFinite(point.high));
  const edge = (key) => bandPoints.map((point) => `${x.at(point.x).toFixed(1)} ${y.at(point[key]).toFixed(1)}`);
  const node = svg("g", { class: `chart-series series-${colorIndex}` },
    bandPoints.length > 1 && svg("path", { class: "chart-band",
      d: `M${[...edge("low"), ...edge("high").reverse()].join("L")}Z` }),
    svg("path", { d: path.join(""), class: "chart-stroke", "stroke-dasharray": DASHES[colorIndex - 1] || null }),
    ...(dotted ? marks.map((mark) => dot(mark.x, mark.y, colorIndex)) : []));
  return { node, marks: navigable ? marks : [] };
}

function bars({ spec, x, y, left, right }, seriesIndex, colorIndex, points, navigable) {
  const groups = spec.series.flatMap((series, index) => (series.kind === "bars" ? [index] : []));
  const width = (x.band || (right - left) / Math.max(points.length, 1)) * 0.8;
  const barWidth = Math.max(1, Math.min(width / groups.length, 48));
  const shift = (groups.indexOf(seriesIndex) - (groups.length - 1) / 2) * barWidth;
  const marks = points.map((point) => ({ x: x.at(point.x) + shift, y: y.at(point.y), cell: [seriesIndex, point.index], colorIndex,
    width: barWidth, height: y.at(0) - y.at(point.y) }));
  const node = svg("g", { class: `chart-series chart-bars series-${colorIndex}` }, ...marks.map((mark) =>
    svg("rect", { x: mark.x - barWidth / 2 + 0.5, y: mark.y, width: Math.max(barWidth - 1, 0.5),
      height: Math.max(mark.height, 0) })));
  return { node, marks: navigable ? marks : [] };
}

/** A marker whose shape goes with its colour. */
function dot(x, y, colorIndex, size = 4) {
  const half = size * 1.3;
  const forms = [
    () => svg("circle", { cx: x, cy: y, r: size }),
    () => svg("rect", { x: x - size * 0.9, y: y - size * 0.9, width: size * 1.8, height: size * 1.8 }),
    () => svg("path", { d: `M${x} ${y - size * 1.2}l${size * 1.1} ${size * 2}h${-size * 2.2}z` }),
    () => svg("path", { d: `M${x} ${y - half}l${half} ${half}l${-half} ${half}l${-half} ${-half}z` }),
  ];
  const shape = forms[(colorIndex - 1) % forms.length]();
  shape.setAttribute("class", "chart-dot");
  return shape;
}

/** The focus ring around a point or a bar. */
export function focusRing(mark) {
  return mark.height === undefined ? svg("circle", { cx: mark.x, cy: mark.y, r: 9, class: "chart-focus-ring" })
    : svg("rect", { x: mark.x - mark.width / 2 - 1, y: mark.y - 2, width: mark.width + 2,
      height: Math.max(mark.height, 0) + 3, class: "chart-focus-ring" });
}

function sample(series, colorIndex, x, y) {
  return svg("g", { class: `chart-series series-${colorIndex}${series.kind === "bars" ? " chart-bars" : ""}` },
    series.kind === "bars" ? svg("rect", { x, y: y - 5, width: 18, height: 10 })
      : svg("path", { d: `M${x} ${y}h22`, class: "chart-stroke", "stroke-dasharray": DASHES[colorIndex - 1] || null }),
    series.kind !== "bars" && series.navigable !== false && dot(x + 11, y, colorIndex));
}

/** Series names at the line ends, moved apart where they would overlap. */
function endLabels({ spec, x, y, above, below }) {
  const labels = spec.series.flatMap((series, index) => {
    const last = series.points.filter((point) => Number.isFinite(point.y)).at(-1);
    if (!last || series.kind === "bars") return [];
    return [{ series, colorIndex: colorIndexOf(spec, index), x: x.at(last.x), y: y.at(last.y) }];
  }).sort((a, b) => a.y - b.y);
  let free = above;
  for (const label of labels) free = (label.to = Math.max(label.y, free)) + ROW - 3;
  let floor = below - 6; // names stay above the axis
  for (const label of [...labels].reverse()) floor = (label.to = Math.min(label.to, floor)) - ROW + 3;
  return svg("g", {}, ...labels.map((label) => svg("g", {},
    Math.abs(label.to - label.y) > 3 && svg("path", { d: `M${label.x + 6} ${label.y}L${label.x + 14} ${label.to}`,
      class: `chart-leader series-${label.colorIndex}` }),
    svg("text", { x: label.x + 17, y: label.to + 4, class: "chart-name", lang: label.series.lang }, label.series.name))));
}

/** Legend above the chart, wrapped to its width. */
function legend(spec, width) {
  let [x, row] = [2, 0];
  const names = spec.series.map((series, index) => {
    const entryWidth = 30 + textWidth(series.name) + 18;
    if (x > 2 && x + entryWidth > width) [x, row] = [2, row + 1];
    const y = 12 + ROW + 4 + row * ROW;
    const entry = svg("g", {}, sample(series, colorIndexOf(spec, index), x, y),
      svg("text", { x: x + 30, y: y + 4, class: "chart-name", lang: series.lang }, series.name));
    x += entryWidth;
    return entry;
  });
  return { node: svg("g", {}, ...names), height: (row + 1) * ROW + 6 };
}
