/** Cell grid: output symbols as the cells of a square picture; a cell shades the words it attends to, a word its cells. */

import { el, svg } from "../dom.js";
import { weightColor } from "../colors.js";
import { formatNumber } from "../numbers.js";
import { message } from "../messages.js";
import { mark, outputs, roving, SCALE, shade, SHOWN, wordButton } from "./parts.js";

const BLANK = "blank";
const CELL = 40; // units of the picture
/** The colours of symbols, as in `dhyan.data.scenes`. @type {Record<string, string>} */
const COLOURS = { red: "#d62828", blue: "#2654c8", green: "#1e8c3c", yellow: "#f0c800", black: "#191919", orange: "#f58214" };
/** @param {FigureOptions} options @returns {TaskFigure} */
export function drawCellGrid({ view, selected, onFocus, onHover }) {
  const symbols = outputs(view);
  const side = Math.max(1, Math.ceil(Math.sqrt(symbols.length)));
  const down = Math.max(1, Math.ceil(symbols.length / side));
  const cells = symbols.map((unit, at) => drawCell(unit, at, side));
  const rows = Array.from({ length: down }, (_, row) => svg("g", { role: "row" }, ...cells.slice(row * side, (row + 1) * side)));
  const grid = svg("svg", { viewBox: `-2 -2 ${side * CELL + 4} ${down * CELL + 4}`, class: "cell-grid-picture" },
    svg("g", { role: "grid", "aria-label": message("figure_cells") }, ...rows));
  const numbers = view.columns.map(() => el("span", { class: "figure-number", "aria-hidden": "true" }));
  const words = view.columns.map((unit, column) => wordButton(unit, "source", column, unit.text, numbers[column]));
  const flow = el("div", { class: "figure-flow shaded", role: "group", "aria-label": message("figure_words") }, ...words);
  const holder = el("div", { class: "cell-grid" }, grid);
  const cellTabs = roving(holder, cells, { columns: side, focus: (at) => onFocus(symbols[at].row, null), hover: (at) => onHover(at === null ? null : symbols[at].row, null) });
  roving(flow, words, { focus: (column) => onFocus(null, column), hover: (column) => onHover(null, column) });

  function show(row, column) {
    const at = row === null ? -1 : symbols.findIndex((unit) => unit.row === row);
    mark(cells, at);
    mark(words, row === null ? column : null);
    words.forEach((word, index) => {
      const weight = at >= 0 && view.attends ? view.values[row][index] : null;
      shade(word, weight);
      numbers[index].textContent = weight !== null && weight >= SHOWN ? formatNumber(weight, 2, { weight: true }) : "";
    });
    cells.forEach((cell, index) => cell.firstElementChild?.setAttribute("fill",
      row === null && column !== null && view.attends ? weightColor(view.values[symbols[index].row][column], SCALE) : "var(--cell-paper)"));
  }

  show(selected[0], null);
  const node = el("div", { class: "task-figure" }, flow, holder, el("p", { class: "muted" }, message(view.attends ? "figure_cell_hint" : "no_attention")));
  return Object.assign(node, {
    setCrosshair: (row, column) => show(row, row === null ? column : null),
    setFocus(/** @type {[number, number]} */ [row], { focus }) {
      const at = Math.max(0, symbols.findIndex((unit) => unit.row === row));
      cellTabs.move(at);
      if (focus) cells[at]?.focus();
    },
    summary() {
      const counts = new Map();
      for (const { text } of symbols) if (text !== BLANK) counts.set(text, (counts.get(text) ?? 0) + 1);
      return message("figure_cells_are", symbols.length, [...counts].map(([text, count]) => `${text} × ${count}`).join(", ") || BLANK);
    },
  });
}

function drawCell({ text, row }, at, side) {
  const [line, column] = [Math.floor(at / side), at % side];
  const drawn = COLOURS[text] ? svg("rect", { x: 5, y: 5, width: CELL - 10, height: CELL - 10, fill: COLOURS[text], class: "cell-colour" }) : text === BLANK ? null
    : svg("text", { x: 20, y: 24, class: "cell-symbol", "text-anchor": "middle" }, text.length > 5 ? `${text.slice(0, 4)}…` : text);
  return svg("g", { role: "gridcell", class: "symbol-cell", tabindex: at ? -1 : 0, "data-side": "target", "data-index": row, "data-row": row,
    "aria-label": message("figure_cell", line + 1, column + 1, text), transform: `translate(${column * CELL} ${line * CELL})` },
  svg("rect", { width: CELL, height: CELL, fill: "var(--cell-paper)", class: "symbol-paper" }), drawn, svg("rect", { x: 1.5, y: 1.5, width: CELL - 3, height: CELL - 3, class: "symbol-ring" }));
}
