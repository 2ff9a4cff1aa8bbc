/**
 * Scatter plot of words with trails and arrows to their context vectors. Points can
 * be dragged, or moved with the arrow keys.
 */

import { axesGrid } from "./axes.js";
import { svg, setChildren } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { decimals, multiples, niceStep, planeScale } from "./scales.js";
import { textWidth } from "./text_width.js";

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
 * @property {{x: number[], y: number[]}} [range] by default all points, with padding
 * @property {(id: string, position: [number, number]) => void} [onMove]
 * @property {[string, string]} [axes] titles
 */

const STEP = 0.5;
const MARGIN = { left: 36, right: 14, top: 14, bottom: 30 };
const PADDING = 0.14; // around all points, as a share of their extent
const TICK_SPACING = 44; // pixels

/** Size of the plot; smaller on narrow screens, so that labels keep their size. */
const size = () => (innerWidth < 700 ? { width: 350, height: 360 } : { width: 560, height: 420 });

/** The plot; `update(options)` redraws it. @param {Plot} initial */
export function scatterPlot(initial, { width, height } = size()) {
  const box = { left: MARGIN.left, right: width - MARGIN.right, above: MARGIN.top, below: height - MARGIN.bottom };
  let plot = initial;
  let scale = null;
  let dragged = null;
  const node = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": plot.label, on: { pointerdown, pointermove, pointerup: release, pointercancel: release, keydown } });

  function render() {
    const focused = node.contains(document.activeElement) ? document.activeElement?.dataset.id : null;
    const positions = plot.points.flatMap((point) => [point.position, ...(point.trail ?? [])]);
    scale = planeScale(positions, box, { range: plot.range, padding: PADDING });
    const ends = plot.points.map((point) => ({ point, from: scale.place(point.position),
      path: (point.trail ?? []).map((position) => scale.place(position)) }));
    const labels = placeLabels(ends, width, height);
    setChildren(node, grid(scale, plot.axes, box), ...ends.map(trailElement), ...ends.map(tipElement),
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
    const frame = node.getBoundingClientRect();
    const [x, y] = [(event.clientX - frame.left) * (width / frame.width), (event.clientY - frame.top) * (height / frame.height)];
    plot.onMove?.(dragged, clamp(scale.back([x, y])));
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
    plot.onMove?.(point.id, clamp([point.position[0] + step * direction[0], point.position[1] + step * direction[1]]));
  }

  /** Clamp a position to the plot and round it to tenths. */
  function clamp(position) {
    return position.map((value, axis) => {
      const { from, to } = axis ? scale.y : scale.x;
      return Math.round(Math.min(Math.max(value, from), to) * 10) / 10;
    });
  }

  render();
  return Object.assign(node, { update(next) {
    plot = { ...plot, ...next };
    render();
  } });
}

function grid(scale, axes, box) {
  const step = niceStep(TICK_SPACING / scale.unit);
  const axis = ({ from, to, at }) => ({ scale: { at, ticks: multiples([from, to], step) }, origin: 0, format: (value) => formatNumber(value, decimals(step)) });
  return svg("g", { "aria-hidden": "true" }, axesGrid({ x: axis(scale.x), y: axis(scale.y) }, box),
    axes && svg("text", { x: box.right - 4, y: box.below - 6, class: "axis-tick", "text-anchor": "end" }, axes[0]),
    axes && svg("text", { x: box.left + 6, y: box.above + 12, class: "axis-tick" }, axes[1]));
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
