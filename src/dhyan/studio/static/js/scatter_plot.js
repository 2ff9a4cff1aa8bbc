/**
 * Scatter plot of words with trails and arrows to their context vectors. Points can
 * be dragged, or moved with the arrow keys.
 */

import { svg, setChildren } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { textWidth } from "./ticks.js";

/**
 * @typedef {object} PlotPoint
 * @property {string} id
 * @property {string} text
 * @property {string | null} [lang]
 * @property {[number, number]} position
 * @property {[number, number][]} [trail] position after each layer
 * @property {number} [colorIndex] 1 … 8
 * @property {boolean} [draggable]
 * @property {boolean} [faint]
 * @property {string} label accessible name
 *
 * @typedef {object} Plot
 * @property {string} label
 * @property {PlotPoint[]} points
 * @property {{x: [number, number], y: [number, number]}} [range] by default all points, with padding
 * @property {(id: string, position: [number, number]) => void} [onMove]
 * @property {[string, string]} [axes] titles
 */

const STEP = 0.5;
const MARGIN = { left: 36, right: 14, top: 14, bottom: 30 };

/** Size of the plot; smaller on narrow screens, so that labels keep their size. */
const size = () => (innerWidth < 700 ? { width: 350, height: 360 } : { width: 560, height: 420 });

/** The plot; `update(options)` redraws it. @param {Plot} initial */
export function scatterPlot(initial, { width, height } = size()) {
  let plot = initial;
  let scale = null;
  let dragged = null;
  const node = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": plot.label, on: { pointerdown, pointermove, pointerup: release, pointercancel: release, keydown } });

  function render() {
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    scale = computeScale(plot, width, height);
    const ends = plot.points.map((point) => ({ point, from: scale.place(point.position),
      path: (point.trail ?? []).map((position) => scale.place(position)) }));
    const labels = placeLabels(ends, width, height);
    setChildren(node, grid(scale, plot.axes, width, height), ...ends.map(trailElement), ...ends.map(tipElement),
      ...labels.map(({ x, y, text, point, tip }) => svg("text", { x, y, class: `plot-label series-${point.colorIndex ?? 1}${
        tip ? " tip" : ""}${point.faint ? " faint" : ""}`, lang: point.lang, "aria-hidden": "true" }, text)),
      ...ends.map(pointElement));
    if (focused) node.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  function pointerdown(event) {
    const element = event.target.closest("[data-id].draggable");
    if (!element) return;
    dragged = element.dataset.id;
    node.setPointerCapture(event.pointerId);
    element.focus({ preventScroll: true });
    event.preventDefault();
  }

  function pointermove(event) {
    if (dragged === null) return;
    const box = node.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) * (width / box.width), (event.clientY - box.top) * (height / box.height)];
    plot.onMove(dragged, clamp(scale.back([x, y])));
  }

  function release() {
    dragged = null;
  }

  function keydown(event) {
    const point = plot.points.find((point) => point.draggable && point.id === event.target.dataset?.id);
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!point || !direction) return;
    event.preventDefault();
    event.stopPropagation();
    const step = event.shiftKey ? STEP / 5 : STEP;
    plot.onMove(point.id, clamp([point.position[0] + step * direction[0], point.position[1] + step * direction[1]]));
  }

  /** Clamp a position to the plot and round it to tenths. */
  function clamp(position) {
    return position.map((value, axis) => {
      const [min, max] = axis ? scale.y : scale.x;
      return Math.round(Math.min(Math.max(value, min), max) * 10) / 10;
    });
  }

  render();
  return Object.assign(node, { update(next) {
    plot = { ...plot, ...next };
    render();
  } });
}

/** Equal unit length on both axes, so that distances are true. */
function computeScale(plot, width, height) {
  const positions = plot.points.flatMap((point) => [point.position, ...(point.trail ?? [])]);
  const span = (axis) => {
    const values = positions.map((position) => position[axis]);
    const [min, max] = [Math.min(...values), Math.max(...values)];
    const padding = (max - min || 1) * 0.14;
    return [min - padding, max + padding];
  };
  const [x, y] = [plot.range?.x ?? span(0), plot.range?.y ?? span(1)];
  const [plotWidth, plotHeight] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const unit = Math.min(plotWidth / (x[1] - x[0]), plotHeight / (y[1] - y[0]));
  const [extraX, extraY] = [plotWidth / unit - (x[1] - x[0]), plotHeight / unit - (y[1] - y[0])];
  const [left, right] = [x[0] - extraX / 2, x[1] + extraX / 2];
  const [low, high] = [y[0] - extraY / 2, y[1] + extraY / 2];
  return { unit, x: [left, right], y: [low, high],
    place: ([a, b]) => [MARGIN.left + (a - left) * unit, MARGIN.top + (high - b) * unit],
    back: ([a, b]) => [left + (a - MARGIN.left) / unit, high - (b - MARGIN.top) / unit] };
}

function grid(scale, axes, width, height) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].find((candidate) => candidate * scale.unit >= 44) ?? 200;
  const along = ([from, to]) => {
    const initial = Math.ceil(from / step);
    return Array.from({ length: Math.floor(to / step) - initial + 1 }, (_, index) => (initial + index) * step);
  };
  const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
  const line = (x1, y1, x2, y2, value) => svg("line", { x1, y1, x2, y2,
    class: Math.abs(value) < step / 2 ? "plot-axis" : "plot-grid" });
  const bottom = height - MARGIN.bottom;
  return svg("g", { "aria-hidden": "true" },
    ...along(scale.x).flatMap((value) => {
      const [x] = scale.place([value, 0]);
      return [line(x, MARGIN.top, x, bottom, value), svg("text", { x, y: bottom + 17, class: "plot-tick", "text-anchor": "middle" }, formatNumber(value, digits))];
    }),
    ...along(scale.y).flatMap((value) => {
      const [, y] = scale.place([0, value]);
      return [line(MARGIN.left, y, width - MARGIN.right, y, value), svg("text", { x: MARGIN.left - 6, y: y + 4, class: "plot-tick", "text-anchor": "end" }, formatNumber(value, digits))];
    }),
    axes && svg("text", { x: width - MARGIN.right - 4, y: bottom - 6, class: "plot-tick", "text-anchor": "end" }, axes[0]),
    axes && svg("text", { x: MARGIN.left + 6, y: MARGIN.top + 12, class: "plot-tick" }, axes[1]));
}

/** Trail of a word through the layers. */
function trailElement({ point, from, path }) {
  if (!path.length) return svg("g");
  const points = [from, ...path].map((position) => position.join(",")).join(" ");
  return svg("g", { class: `plot-trail series-${point.colorIndex ?? 1}${point.faint ? " faint" : ""}`, "aria-hidden": "true" },
    svg("polyline", { points, class: "plot-trail-line" }),
    ...path.slice(0, -1).map(([cx, cy]) => svg("circle", { cx, cy, r: 3, class: "plot-waypoint" })));
}

function tipElement({ point, from, path }) {
  const end = path.at(-1);
  const before = path.at(-2) ?? from;
  if (!end) return svg("g");
  const [dx, dy] = [end[0] - before[0], end[1] - before[1]];
  const length = Math.hypot(dx, dy);
  const classes = `series-${point.colorIndex ?? 1}${point.faint ? " faint" : ""}`;
  if (length < 9) return svg("circle", { cx: end[0], cy: end[1], r: 4, class: `plot-arrow ${classes}` });
  const [ux, uy] = [dx / length, dy / length];
  const corner = (side) => `${end[0] - 11 * ux + 5 * side * uy},${end[1] - 11 * uy - 5 * side * ux}`;
  return svg("polygon", { points: `${end[0]},${end[1]} ${corner(1)} ${corner(-1)}`, class: `plot-arrow ${classes}` });
}

function pointElement({ point, from: [cx, cy] }) {
  return svg("g", { class: `plot-point series-${point.colorIndex ?? 1}${point.draggable ? " draggable" : ""}${point.faint ? " faint" : ""}`,
    "data-id": point.id, tabindex: point.draggable ? 0 : null, role: point.draggable ? "button" : "img", "aria-label": point.label },
  svg("circle", { cx, cy, r: 16, class: "plot-handle" }), svg("circle", { cx, cy, r: 7, class: "plot-marker" }));
}

/** Labels at points and, with a prime, at arrow tips, placed where they overlap least. */
function placeLabels(ends, width, height) {
  const occupied = ends.flatMap(({ from, path }) => along([from, ...path]).map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]));
  const labels = ends.flatMap(({ point, from, path }) => {
    const end = path.at(-1);
    const length = end ? Math.hypot(end[0] - from[0], end[1] - from[1]) : 0;
    const startLabel = { point, at: from, text: point.text, tip: false };
    return length > 26 && !point.faint ? [startLabel, { point, at: end, text: `${point.text}′`, tip: true }] : [startLabel];
  });
  return labels.map(({ point, at: [x, y], text, tip }) => {
    const [w, h] = [textWidth(text) * 1.25 + 2, 16];
    const choices = [[11, 5], [-w - 11, 5], [-w / 2, -13], [-w / 2, 24], [9, -9], [-w - 9, -9], [9, 20], [-w - 9, 20]];
    const boxes = choices.map(([dx, dy]) => [x + dx, y + dy - h + 3, x + dx + w, y + dy + 4]);
    const cost = (box) => occupied.reduce((total, other) => total + overlap(box, other), 0)
      + 1000 * Number(box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height);
    const costs = boxes.map(cost);
    const best = boxes[costs.indexOf(Math.min(...costs))];
    occupied.push(best);
    return { x: best[0], y: best[3] - 4, text, point, tip };
  });
}

/** Points along a path, dense enough for the overlap test of labels. */
const along = (path) => path.flatMap(([x, y], index) => {
  const [a, b] = path[index - 1] ?? [x, y];
  const count = Math.max(1, Math.ceil(Math.hypot(x - a, y - b) / 12));
  return Array.from({ length: count }, (_, part) => [a + ((x - a) * (part + 1)) / count, b + ((y - b) * (part + 1)) / count]);
});

const overlap = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]))
  * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
