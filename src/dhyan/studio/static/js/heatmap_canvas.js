/** Large heat map: cells on one canvas, with a single focusable cell for keyboard and screen readers. */

import { contextOf, el, svg } from "./dom.js";
import { rowStatistics } from "./heatmap_layout.js";

/** @param {import("./heatmap.js").Heat} heat */
export function onCanvas(heat, layout, { labelLayer, crosshair, color }) {
  const [height, width] = [heat.values.length, heat.columns.length];
  const ratio = globalThis.devicePixelRatio || 1;
  const [across, down] = [layout.cell * width, layout.rowHeight * height];
  const canvas = el("canvas", { width: Math.round(across * ratio), height: Math.round(down * ratio),
    class: "heatmap-canvas", "aria-hidden": "true", style: { left: `${layout.left}px`, top: `${layout.top}px`,
      width: `${across}px`, height: `${down}px` } });
  const context = contextOf(canvas);
  context.scale(ratio, ratio);
  const hatchPattern = createHatch(context);
  heat.values.forEach((line, row) => line.forEach((value, column) => {
    context.fillStyle = heat.hidden?.[row]?.[column] ? hatchPattern : color(value);
    context.fillRect(column * layout.cell, row * layout.rowHeight, layout.cell, layout.rowHeight);
  }));
  const live = el("div", { class: "heatmap-cursor cell", role: "gridcell", tabindex: 0,
    style: { width: `${layout.cell}px`, height: `${layout.rowHeight}px` } });
  const line = el("div", { role: "row" }, live);
  const grid = el("div", { role: "grid", "aria-label": heat.label, "aria-rowcount": height,
    "aria-colcount": width }, line);
  const picture = svg("svg", { width: layout.width, height: layout.height, class: "heatmap-svg" },
    crosshair.node, rowStatistics(heat, layout), labelLayer.node);
  const node = el("div", { class: "heatmap-layers", style: { width: `${layout.width}px`,
    height: `${layout.height}px` } }, canvas, grid, picture);

  function mark(row, column, focus) {
    live.setAttribute("aria-label", heat.describe(row, column, heat.values[row][column]));
    line.setAttribute("aria-rowindex", String(row + 1));
    live.setAttribute("aria-colindex", String(column + 1));
    live.dataset.value = String(heat.values[row][column]);
    live.style.left = `${layout.left + column * layout.cell}px`;
    live.style.top = `${layout.top + row * layout.rowHeight}px`;
    if (focus) live.focus();
  }

  function bindEvents(onEvent) {
    const cellAt = (event) => {
      const box = node.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top - layout.top) / layout.rowHeight);
      const column = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
      const inside = row >= 0 && row < height && column >= 0 && column < width;
      return inside && !event.target.closest(".label, .label-background") ? [row, column] : null;
    };
    const listener = (kind) => (event) => {
      const cell = cellAt(event);
      if (cell) onEvent(...cell, kind(event));
    };
    node.addEventListener("click", listener((event) => (event.detail > 1 ? "open" : "move")));
    node.addEventListener("pointermove", listener(() => "hover"));
  }
  return { node, mark, bindEvents };
}

/** Hatch pattern in the theme's colours. */
function createHatch(context) {
  const style = getComputedStyle(document.documentElement);
  const tile = el("canvas", { width: 6, height: 6 });
  const context2d = contextOf(tile);
  context2d.fillStyle = style.getPropertyValue("--raised");
  context2d.fillRect(0, 0, 6, 6);
  context2d.strokeStyle = style.getPropertyValue("--grey");
  context2d.beginPath();
  for (const offset of [-6, 0, 6]) {
    context2d.moveTo(offset - 1, 7);
    context2d.lineTo(offset + 7, -1);
  }
  context2d.stroke();
  return context.createPattern(tile, "repeat");
}
