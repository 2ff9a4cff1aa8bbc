/** Large heat map: cells on one canvas, with a single focusable cell for keyboard and screen readers. */

import { el, svg } from "./dom.js";
import { rowFeet } from "./heatmap_layout.js";

/** @param {import("./heatmap.js").Heat} heat */
export function onCanvas(heat, layout, { labelLayer, crosshair, color }) {
  const [height, width] = [heat.values.length, heat.columns.length];
  const ratio = globalThis.devicePixelRatio || 1;
  const [across, down] = [layout.cell * width, layout.rowHeight * height];
  const canvas = el("canvas", { width: Math.round(across * ratio), height: Math.round(down * ratio),
    class: "heat-canvas", "aria-hidden": "true", style: { left: `${layout.beside}px`, top: `${layout.above}px`,
      width: `${across}px`, height: `${down}px` } });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const hatchPattern = createHatch(context);
  heat.values.forEach((line, row) => line.forEach((value, column) => {
    context.fillStyle = heat.hidden?.[row]?.[column] ? hatchPattern : color(value);
    context.fillRect(column * layout.cell, row * layout.rowHeight, layout.cell, layout.rowHeight);
  }));
  const live = el("div", { class: "heat-live cell", role: "gridcell", tabindex: 0,
    style: { width: `${layout.cell}px`, height: `${layout.rowHeight}px` } });
  const line = el("div", { role: "row" }, live);
  const grid = el("div", { role: "grid", "aria-label": heat.label, "aria-rowcount": height,
    "aria-colcount": width }, line);
  const picture = svg("svg", { width: layout.width, height: layout.height, class: "heat-picture" },
    crosshair.node, rowFeet(heat, layout), labelLayer.node);
  const node = el("div", { class: "heat-large", style: { width: `${layout.width}px`,
    height: `${layout.height}px` } }, canvas, grid, picture);

  function mark(row, column, focus) {
    live.setAttribute("aria-label", heat.says(row, column, heat.values[row][column]));
    line.setAttribute("aria-rowindex", String(row + 1));
    live.setAttribute("aria-colindex", String(column + 1));
    live.dataset.value = String(heat.values[row][column]);
    live.style.left = `${layout.beside + column * layout.cell}px`;
    live.style.top = `${layout.above + row * layout.rowHeight}px`;
    if (focus) live.focus();
  }

  function bindEvents(onEvent) {
    const cellAt = (event) => {
      const box = node.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top - layout.above) / layout.rowHeight);
      const column = Math.floor((event.clientX - box.left - layout.beside) / layout.cell);
      const inside = row >= 0 && row < height && column >= 0 && column < width;
      return inside && !event.target.closest(".label, .label-ground") ? [row, column] : null;
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
  const pen = tile.getContext("2d");
  pen.fillStyle = style.getPropertyValue("--raised");
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = style.getPropertyValue("--grey");
  pen.beginPath();
  for (const offset of [-6, 0, 6]) {
    pen.moveTo(offset - 1, 7);
    pen.lineTo(offset + 7, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
