/**
 * Attention heat map with keyboard navigation: rows are queries, columns are keys.
 * Small maps are SVG, large ones canvas; both are one ARIA grid.
 */

import { closest, el, svg } from "./dom.js";
import { weightColor, signedColor, textColor } from "./colors.js";
import { formatNumber } from "./numbers.js";
import { rowStatistics, labels, measure } from "./heatmap_layout.js";
import { onCanvas } from "./heatmap_canvas.js";

const MAX_SVG_SIZE = 60; // rows and columns drawn as SVG
const MAX_ROWS = 40; // rows above which a map scrolls inside its box
const BORDERS = 20; // pixels of a large map's border and scroll bar
let patternCount = 0;

/**
 * @typedef {{text: string, lang?: string, prefix?: string, subtitle?: string, faint?: boolean, note?: string}} Label
 *   `prefix` is a faint mark, `subtitle` a second line (rows only), `faint` an unknown word, `note` a tooltip
 * @typedef {[row: number, column: number]} Position
 * @typedef {object} Heat
 * @property {number[][]} values
 * @property {Label[]} rows queries
 * @property {Label[]} columns keys
 * @property {string} label accessible name
 * @property {(row: number, column: number, value: number) => string} describe description of a cell
 * @property {boolean[][]} [hidden] masked cells: hatched, −∞
 * @property {"weights" | "numbers"} [kind]
 * @property {string} [scale] "linear" or "sqrt"
 * @property {number} [colorLimit] limit of the signed colour map; the largest magnitude by default
 * @property {number[]} [selected] row and column of the focused cell
 * @property {boolean} [numbers] numbers in the cells where they fit
 * @property {{titles: string[], rows: string[][]}} [statistics] columns at the right of every row
 * @property {number | null} [pinned] the pinned row
 * @property {(row: number, column: number) => void} [onFocus] a cell gets the focus
 * @property {(row: number | null, column: number | null) => void} [onHover] the pointer is over a label or a cell; two
 *   nulls when the pointer leaves
 * @property {(row: number, column: number) => void} [onOpen] Enter, or a double click
 * @property {(row: number) => void} [onPin] Space
 * @property {(row: number | null, column: number | null) => void} [onLabelClick] a label is clicked
 * @property {number} [maxWidth] available width in pixels
 * @property {number} [minCellWidth] smallest cell width in pixels; a wider map scrolls
 */

/**
 * The map. `setFocus([row, column])` sets the focus, `setCrosshair(row, column)` the crosshair
 * without callbacks, `setPinned(row)` the pinned row.
 * @param {Heat} heat
 */
export function drawHeatmap(heat) {
  const large = Math.max(heat.values.length, heat.columns.length) > MAX_SVG_SIZE;
  const layout = measure(large ? { ...heat, maxWidth: (heat.maxWidth || 720) - BORDERS } : heat);
  const labelLayer = labels(heat, layout);
  const crosshair = drawCrosshair(heat, layout);
  const grid = (large ? onCanvas : drawSvg)(heat, layout, { labelLayer, crosshair, color: colorScale(heat) });
  const scrolls = large || layout.width > (heat.maxWidth || 720) || heat.values.length > MAX_ROWS;
  const box = el("div", { class: scrolls ? "heatmap heatmap-scroll" : "heatmap", role: "group", "aria-label": heat.label,
    style: { "scroll-padding": `${layout.top}px 8px 8px ${layout.left}px` } }, grid.node);
  /** @type {Position} */
  let focused = [clamp(heat.selected?.[0] ?? 0, heat.values.length), clamp(heat.selected?.[1] ?? 0, heat.columns.length)];

  /** @param {Position} position */
  function move([row, column], { focus = true, announce = true } = {}) {
    focused = [clamp(row, heat.values.length), clamp(column, heat.columns.length)];
    grid.mark(...focused, focus);
    reveal(box, layout, focused);
    labelLayer.highlight(...focused);
    if (announce) heat.onFocus?.(...focused);
  }

  function point(row, column) {
    crosshair.point(row, column);
    if (row === null && column === null) labelLayer.highlight(...focused);
    else labelLayer.highlight(row, column);
  }

  box.addEventListener("keydown", (event) => {
    const next = nextCell(event, focused, heat);
    if (next) {
      event.preventDefault();
      move(next);
    } else if (event.key === "Enter" && heat.onOpen) {
      event.preventDefault();
      heat.onOpen(...focused);
    } else if (event.key === " " && heat.onPin) {
      event.preventDefault();
      heat.onPin(focused[0]);
    }
  });
  let last = "null null";
  const hover = (row, column) => {
    if (last === `${row} ${column}`) return;
    last = `${row} ${column}`;
    point(row, column);
    heat.onHover?.(row, column);
  };
  box.addEventListener("pointerover", (event) => {
    const element = closest(event, "[data-row], [data-column]");
    if (element) hover(...cellOf(element));
  });
  box.addEventListener("pointerleave", () => hover(null, null));
  box.addEventListener("click", (event) => {
    const label = closest(event, ".label");
    if (label && heat.onLabelClick) heat.onLabelClick(...cellOf(label));
  });
  box.addEventListener("scroll", () => labelLayer.scroll(box.scrollLeft, box.scrollTop), { passive: true });
  grid.bindEvents((row, column, kind) => {
    if (kind === "hover") hover(row, column);
    else if (kind === "open") heat.onOpen?.(row, column);
    else move([row, column]);
  });
  grid.mark(...focused, false);
  labelLayer.highlight(...focused);
  crosshair.pin(heat.pinned ?? null);
  return Object.assign(box, { setFocus: move, setCrosshair: point, setPinned: crosshair.pin });
}

/** Scroll a cell of a map larger than its box into view, beside the sticky labels. */
function reveal(box, layout, [row, column]) {
  const [x, y] = [layout.left + column * layout.cell, layout.top + row * layout.rowHeight];
  const across = Math.max(Math.min(box.scrollLeft, x - layout.left), x + layout.cell - box.clientWidth);
  const down = Math.max(Math.min(box.scrollTop, y - layout.top), y + layout.rowHeight - box.clientHeight);
  if (across !== box.scrollLeft) box.scrollLeft = across;
  if (down !== box.scrollTop) box.scrollTop = down;
}

/** Row and column of an element; null where it has none. @param {Element | null} element @returns {[number | null, number | null]} */
function cellOf(element) {
  const index = (value) => (value === undefined ? null : Number(value));
  return [index(element?.dataset.row), index(element?.dataset.column)];
}

/** The cell an arrow key moves to; null for other keys.
 * @param {KeyboardEvent} event @param {Position} focused @param {Heat} heat @returns {Position | null} */
function nextCell(event, [row, column], heat) {
  /** @type {Position} */
  const last = [heat.values.length - 1, heat.columns.length - 1];
  const toCorner = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowUp": return [row - 1, column];
    case "ArrowDown": return [row + 1, column];
    case "ArrowLeft": return [row, column - 1];
    case "ArrowRight": return [row, column + 1];
    case "Home": return toCorner ? [0, 0] : [row, 0];
    case "End": return toCorner ? last : [row, last[1]];
    case "PageUp": return [row - 10, column];
    case "PageDown": return [row + 10, column];
    default: return null;
  }
}

const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);

/** The colour map of this heat map. @param {Heat} heat @returns {(value: number) => string} */
function colorScale(heat) {
  if (heat.kind !== "numbers") return (value) => weightColor(value, heat.scale);
  const values = heat.values.flat().filter(Number.isFinite);
  const limit = heat.colorLimit ?? values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-9);
  return (value) => signedColor(value, limit);
}

/** Outlines of the row and column under the pointer, and of the pinned row. */
function drawCrosshair(heat, layout) {
  const [width, height] = [layout.cell * heat.columns.length, layout.rowHeight * heat.values.length];
  const band = (kind) => svg("rect", { class: kind, visibility: "hidden" });
  const [across, down, pinnedBand] = [band("crosshair"), band("crosshair"), band("crosshair pinned")];
  const placeBand = (band, index, x, y, width, height) => {
    band.setAttribute("visibility", index === null ? "hidden" : "inherit"); // of a map that is hidden while translating too
    if (index === null) return;
    for (const [name, value] of Object.entries({ x, y, width, height })) band.setAttribute(name, value);
  };
  const placeRow = (band, index) => placeBand(band, index, layout.left, layout.top + index * layout.rowHeight, width, layout.rowHeight);
  return {
    node: svg("g", { "aria-hidden": "true", class: "crosshairs" }, across, down, pinnedBand),
    point(row, column) {
      placeRow(across, row);
      placeBand(down, column, layout.left + column * layout.cell, layout.top, layout.cell, height);
    },
    pin: (row) => placeRow(pinnedBand, row),
  };
}

function hatch(name) {
  return svg("defs", {}, svg("pattern", { id: name, width: 6, height: 6,
    patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("rect", { width: 6, height: 6, class: "hatch-background" }),
  svg("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch-line" })));
}

/** SVG with one element per cell. */
function drawSvg(heat, layout, { labelLayer, crosshair, color }) {
  const pattern = `hatch-${patternCount++}`;
  const cells = heat.values.map((line, row) => line.map((value, column) =>
    cell(heat, layout, row, column, value, { color, pattern })));
  const lines = cells.map((line, row) =>
    svg("g", { role: "row", "aria-label": heat.rows[row].text }, ...line));
  const node = svg("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width,
    height: layout.height, class: "heatmap-svg" }, hatch(pattern),
  svg("g", { role: "grid", "aria-label": heat.label, "aria-rowcount": heat.values.length,
    "aria-colcount": heat.columns.length }, ...lines), crosshair.node, rowStatistics(heat, layout), labelLayer.node);
  const ring = svg("rect", { class: "focus-ring", width: layout.cell, height: layout.rowHeight });
  crosshair.node.append(ring); // drawn last, so that neighbouring cells do not cover it
  let focusedCell = null;

  function mark(row, column, focus) {
    ring.setAttribute("x", layout.left + column * layout.cell);
    ring.setAttribute("y", layout.top + row * layout.rowHeight);
    focusedCell?.setAttribute("tabindex", "-1");
    focusedCell = cells[row][column];
    focusedCell.setAttribute("tabindex", "0");
    if (focus) focusedCell.focus();
  }

  function bindEvents(onEvent) {
    node.addEventListener("click", (event) => {
      const cell = closest(event, ".cell");
      if (cell) onEvent(...cellOf(cell), event.detail > 1 ? "open" : "move");
    });
  }
  return { node, mark, bindEvents };
}

function cell(heat, layout, row, column, value, { color, pattern }) {
  const hidden = heat.hidden?.[row]?.[column];
  const background = hidden ? `url(#${pattern})` : color(value);
  const [x, y] = [layout.left + column * layout.cell, layout.top + row * layout.rowHeight];
  const small = layout.cell < 34 ? " small" : "";
  const formatted = digits(heat, value, hidden, small);
  const fits = heat.numbers !== false && layout.rowHeight >= 16 && layout.cell >= (small ? 6.4 : 7) * formatted.length;
  return svg("g", { class: "cell", role: "gridcell", tabindex: -1, "data-row": row,
    "data-column": column, "data-value": value, "aria-label": heat.describe(row, column, value) },
  svg("rect", { x, y, width: layout.cell, height: layout.rowHeight, fill: background, class: "cell-rect" }),
  fits && svg("text", { x: x + layout.cell / 2, y: y + layout.rowHeight / 2 + 4, class: `digits${small}`,
    fill: hidden ? "currentColor" : textColor(background), "aria-hidden": "true" }, formatted));
}

/** Text of a cell; a weight that would round to .00 is a dot, a number 0. */
function digits(heat, value, hidden, small) {
  if (hidden) return "−∞";
  if (heat.kind !== "numbers") return value < 0.005 ? "·" : formatNumber(value, 2, { weight: true });
  const formatted = formatNumber(value, 2);
  return Number(formatted) === 0 ? "0" : small ? formatted.replace("0.", ".") : formatted;
}
