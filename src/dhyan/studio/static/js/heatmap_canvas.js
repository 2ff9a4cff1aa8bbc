/** A large map: all cells on one canvas, with a single live cell above it for keyboard and readers. */

import { el, svg } from "./dom.js";
import { feet } from "./heatmap_layout.js";

/** @param {import("./heatmap.js").Heat} heat */
export function onCanvas(heat, layout, { signs, cross, colour }) {
  const [height, width] = [heat.values.length, heat.columns.length];
  const ratio = globalThis.devicePixelRatio || 1;
  const [across, down] = [layout.cell * width, layout.high * height];
  const canvas = el("canvas", { width: Math.round(across * ratio), height: Math.round(down * ratio),
    class: "heat-canvas", "aria-hidden": "true", style: { left: `${layout.beside}px`, top: `${layout.above}px`,
      width: `${across}px`, height: `${down}px` } });
  const brush = canvas.getContext("2d");
  brush.scale(ratio, ratio);
  const striped = hatched(brush);
  heat.values.forEach((line, row) => line.forEach((value, column) => {
    brush.fillStyle = heat.hidden?.[row]?.[column] ? striped : colour(value);
    brush.fillRect(column * layout.cell, row * layout.high, layout.cell, layout.high);
  }));
  const live = el("div", { class: "heat-live cell", role: "gridcell", tabindex: 0,
    style: { width: `${layout.cell}px`, height: `${layout.high}px` } });
  const line = el("div", { role: "row" }, live);
  const grid = el("div", { role: "grid", "aria-label": heat.label, "aria-rowcount": height,
    "aria-colcount": width }, line);
  const picture = svg("svg", { width: layout.wide, height: layout.tall, class: "heat-picture" },
    cross.node, feet(heat, layout), signs.node);
  const node = el("div", { class: "heat-large", style: { width: `${layout.wide}px`,
    height: `${layout.tall}px` } }, canvas, grid, picture);

  function mark(row, column, focus) {
    live.setAttribute("aria-label", heat.says(row, column, heat.values[row][column]));
    line.setAttribute("aria-rowindex", String(row + 1));
    live.setAttribute("aria-colindex", String(column + 1));
    live.dataset.value = String(heat.values[row][column]);
    live.style.left = `${layout.beside + column * layout.cell}px`;
    live.style.top = `${layout.above + row * layout.high}px`;
    if (focus) live.focus();
  }

  function hear(told) {
    const place = (event) => {
      const box = node.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top - layout.above) / layout.high);
      const column = Math.floor((event.clientX - box.left - layout.beside) / layout.cell);
      const inside = row >= 0 && row < height && column >= 0 && column < width;
      return inside && !event.target.closest(".label, .label-ground") ? [row, column] : null;
    };
    const from = (kind) => (event) => {
      const at = place(event);
      if (at) told(...at, kind(event));
    };
    node.addEventListener("click", from((event) => (event.detail > 1 ? "open" : "move")));
    node.addEventListener("pointermove", from(() => "hover"));
  }
  return { node, mark, hear };
}

/** Slanted lines in the theme's own colours. */
function hatched(brush) {
  const look = getComputedStyle(document.documentElement);
  const tile = el("canvas", { width: 6, height: 6 });
  const pen = tile.getContext("2d");
  pen.fillStyle = look.getPropertyValue("--raised");
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = look.getPropertyValue("--grey");
  pen.beginPath();
  for (const at of [-6, 0, 6]) {
    pen.moveTo(at - 1, 7);
    pen.lineTo(at + 7, -1);
  }
  pen.stroke();
  return brush.createPattern(tile, "repeat");
}
