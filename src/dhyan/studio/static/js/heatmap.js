/**
 * A table of weights as a picture that can be walked through: rows ask, columns are seen.
 * Small ones are drawn as SVG, large ones on a canvas; both are one grid to keyboard and readers.
 */

import { el, svg } from "./dom.js";
import { weight as paint, signed, ink } from "./colors.js";
import { formatNumber } from "./numbers.js";
import { feet, labels, measure } from "./heatmap_layout.js";
import { onCanvas } from "./heatmap_canvas.js";

const MOST_DRAWN = 60; // rows and columns drawn as shapes
const BORDERS = 20; // pixels of a large map's frame, with what scrolls it
let drawn = 0;

/**
 * @typedef {{text: string, lang?: string, before?: string, under?: string, faint?: boolean, note?: string}} Label
 *   `before` is a faint mark, `under` a second line (rows only), `faint` an unusual word, `note` told on hover
 * @typedef {object} Heat
 * @property {number[][]} values
 * @property {Label[]} rows who asks
 * @property {Label[]} columns who is seen
 * @property {string} label what the picture is of
 * @property {(row: number, column: number, value: number) => string} says a cell in words
 * @property {boolean[][]} [hidden] cells that may not be seen: hatched, −∞
 * @property {"weights" | "numbers"} [kind]
 * @property {"linear" | "sqrt"} [scale]
 * @property {number} [most] where the colours of signed numbers end; the largest of them if not told
 * @property {[number, number]} [at] where the focus stands
 * @property {boolean} [numbers] written into the cells where there is room
 * @property {{heads: string[], rows: string[][]}} [feet] what stands at the right of every row
 * @property {number | null} [pinned] a row that is held
 * @property {(row: number, column: number) => void} [focus] walked to, or clicked
 * @property {(row: number | null, column: number | null) => void} [hover] pointed at, a label or a cell; two
 *   nulls when the pointer leaves
 * @property {(row: number, column: number) => void} [open] Enter, or a double click
 * @property {(row: number) => void} [pin] Space
 * @property {(row: number | null, column: number | null) => void} [label_click] a label is clicked
 * @property {number} [widest] pixels there are
 * @property {number} [least] pixels a cell has at least; the map is scrolled where there is no room
 */

/**
 * The picture. `move([row, column])` sets its focus from outside, `point(row, column)` its cross of
 * lines without telling anyone, `hold(row)` the row that is pinned.
 * @param {Heat} heat
 */
export function draw(heat) {
  const large = Math.max(heat.values.length, heat.columns.length) > MOST_DRAWN;
  const layout = measure(large ? { ...heat, widest: (heat.widest || 720) - BORDERS } : heat);
  const signs = labels(heat, layout);
  const cross = crossing(heat, layout);
  const made = (large ? onCanvas : asShapes)(heat, layout, { signs, cross, colour: colouring(heat) });
  const box = el("div", { class: large ? "heat heat-far" : "heat", role: "group", "aria-label": heat.label,
    style: { "scroll-padding": `${layout.above}px 8px 8px ${layout.beside}px` } }, made.node);
  let here = [clamp(heat.at?.[0] ?? 0, heat.values.length), clamp(heat.at?.[1] ?? 0, heat.columns.length)];

  function move([row, column], { focus = true, tell = true } = {}) {
    here = [clamp(row, heat.values.length), clamp(column, heat.columns.length)];
    made.mark(...here, focus);
    signs.light(...here);
    if (tell) heat.focus?.(...here);
  }

  function point(row, column) {
    cross.at(row, column);
    if (row === null && column === null) signs.light(...here);
    else signs.light(row, column);
  }

  box.addEventListener("keydown", (event) => {
    const next = stepped(event, here, heat);
    if (next) {
      event.preventDefault();
      move(next);
    } else if (event.key === "Enter" && heat.open) {
      event.preventDefault();
      heat.open(...here);
    } else if (event.key === " " && heat.pin) {
      event.preventDefault();
      heat.pin(here[0]);
    }
  });
  let last = "null null";
  const hover = (row, column) => {
    if (last === `${row} ${column}`) return;
    last = `${row} ${column}`;
    point(row, column);
    heat.hover?.(row, column);
  };
  box.addEventListener("pointerover", (event) => {
    const place = placed(event.target);
    if (place) hover(...place);
  });
  box.addEventListener("pointerleave", () => hover(null, null));
  box.addEventListener("click", (event) => {
    const label = event.target.closest(".label");
    if (label && heat.label_click) heat.label_click(...placed(label));
  });
  box.addEventListener("scroll", () => signs.follow(box.scrollLeft, box.scrollTop), { passive: true });
  made.hear((row, column, kind) => {
    if (kind === "hover") hover(row, column);
    else if (kind === "open") heat.open?.(row, column);
    else move([row, column]);
  });
  made.mark(...here, false);
  signs.light(...here);
  cross.hold(heat.pinned ?? null);
  return Object.assign(box, { move, point, hold: cross.hold });
}

/** Which row or column an element stands for. */
function placed(target) {
  const found = target.closest?.("[data-row], [data-column]");
  if (!found) return null;
  return [found.dataset.row, found.dataset.column].map((at) => (at === undefined ? null : Number(at)));
}

/** Where an arrow key leads; nothing for any other key. */
function stepped(event, [row, column], heat) {
  const last = [heat.values.length - 1, heat.columns.length - 1];
  const far = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowUp": return [row - 1, column];
    case "ArrowDown": return [row + 1, column];
    case "ArrowLeft": return [row, column - 1];
    case "ArrowRight": return [row, column + 1];
    case "Home": return far ? [0, 0] : [row, 0];
    case "End": return far ? last : [row, last[1]];
    case "PageUp": return [row - 10, column];
    case "PageDown": return [row + 10, column];
    default: return null;
  }
}

const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);

/** The colour of a value in this map. */
function colouring(heat) {
  if (heat.kind !== "numbers") return (value) => paint(value, heat.scale);
  const all = heat.values.flat().filter(Number.isFinite);
  const most = heat.most ?? all.reduce((largest, one) => Math.max(largest, Math.abs(one)), 1e-9);
  return (value) => signed(value, most);
}

/** A line around the row and the column that are pointed at, and around the row that is held. */
function crossing(heat, layout) {
  const [width, height] = [layout.cell * heat.columns.length, layout.high * heat.values.length];
  const band = (kind) => svg("rect", { class: kind, visibility: "hidden" });
  const [across, down, held] = [band("band"), band("band"), band("band held")];
  const put = (one, at, x, y, wide, tall) => {
    one.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) return;
    for (const [name, value] of Object.entries({ x, y, width: wide, height: tall })) one.setAttribute(name, value);
  };
  const row = (one, at) => put(one, at, layout.beside, layout.above + at * layout.high, width, layout.high);
  return {
    node: svg("g", { "aria-hidden": "true", class: "bands" }, across, down, held),
    at(asked, seen) {
      row(across, asked);
      put(down, seen, layout.beside + seen * layout.cell, layout.above, layout.cell, height);
    },
    hold: (asked) => row(held, asked),
  };
}

function hatch(name) {
  return svg("defs", {}, svg("pattern", { id: name, width: 6, height: 6,
    patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("rect", { width: 6, height: 6, class: "hatch-ground" }),
  svg("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch-line" })));
}

/** Every cell a shape of its own. */
function asShapes(heat, layout, { signs, cross, colour }) {
  const pattern = `hatch-${drawn++}`;
  const cells = heat.values.map((line, row) => line.map((value, column) =>
    cell(heat, layout, row, column, value, { colour, pattern })));
  const lines = cells.map((line, row) =>
    svg("g", { role: "row", "aria-label": heat.rows[row].text }, ...line));
  const node = svg("svg", { viewBox: `0 0 ${layout.wide} ${layout.tall}`, width: layout.wide,
    height: layout.tall, class: "heat-picture" }, hatch(pattern),
  svg("g", { role: "grid", "aria-label": heat.label, "aria-rowcount": heat.values.length,
    "aria-colcount": heat.columns.length }, ...lines), cross.node, feet(heat, layout), signs.node);
  const ring = svg("rect", { class: "ring", width: layout.cell, height: layout.high });
  cross.node.append(ring); // above the neighbours, which would cover half of a cell's own line
  let marked = null;

  function mark(row, column, focus) {
    ring.setAttribute("x", layout.beside + column * layout.cell);
    ring.setAttribute("y", layout.above + row * layout.high);
    marked?.setAttribute("tabindex", "-1");
    marked = cells[row][column];
    marked.setAttribute("tabindex", "0");
    if (focus) marked.focus();
  }

  function hear(told) {
    node.addEventListener("click", (event) => {
      const found = event.target.closest(".cell");
      if (found) told(...placed(found), event.detail > 1 ? "open" : "move");
    });
  }
  return { node, mark, hear };
}

function cell(heat, layout, row, column, value, { colour, pattern }) {
  const hidden = heat.hidden?.[row]?.[column];
  const ground = hidden ? `url(#${pattern})` : colour(value);
  const [x, y] = [layout.beside + column * layout.cell, layout.above + row * layout.high];
  const small = layout.cell < 34 ? " small" : "";
  const written = digits(heat, value, hidden, small);
  const roomy = heat.numbers !== false && layout.high >= 16 && layout.cell >= (small ? 5.8 : 7) * written.length;
  return svg("g", { class: "cell", role: "gridcell", tabindex: -1, "data-row": row,
    "data-column": column, "data-value": value, "aria-label": heat.says(row, column, value) },
  svg("rect", { x, y, width: layout.cell, height: layout.high, fill: ground, class: "tile" }),
  roomy && svg("text", { x: x + layout.cell / 2, y: y + layout.high / 2 + 4, class: `digits${small}`,
    fill: hidden ? "currentColor" : ink(ground), "aria-hidden": "true" }, written));
}

/** What is written into a cell; a weight that would be written .00 is a dot, and a number a nought. */
function digits(heat, value, hidden, small) {
  if (hidden) return "−∞";
  if (heat.kind !== "numbers") return value < 0.005 ? "·" : formatNumber(value, 2, { weight: true });
  const written = formatNumber(value, 2);
  return Number(written) === 0 ? "0" : small ? written.replace("0.", ".") : written;
}
