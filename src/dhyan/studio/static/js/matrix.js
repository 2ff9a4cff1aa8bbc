/** Matrices in brackets, with cell highlighting, keyboard navigation and an action per cell. */

import { closest, el, math } from "./dom.js";
import { signedColor, weightColor, textColor } from "./colors.js";
import { maxAbs } from "./vector_strips.js";
import { message } from "./messages.js";

/**
 * @typedef {object} Matrix
 * @property {() => number[][]} values read again by `show()`
 * @property {string} name symbol, in the syntax of `formula`
 * @property {string} ariaLabel accessible name
 * @property {() => {text: string, lang?: string}[]} [rows] row labels
 * @property {() => {text: string, lang?: string}[]} [columns]
 * @property {(value: number) => string} format
 * @property {"signed" | "weights" | ""} [tint]
 * @property {number[][]} [visible] visible rows and columns; all by default
 * @property {boolean} [isVector] only the visible rows count: a vector
 * @property {(row: number, column: number) => void} [onHover] a cell is focused or hovered
 * @property {(row: number, column: number) => void} [onOpen] makes every cell a button
 * @property {number[]} [selected] row and column of the cell with the initial focus; a box that scrolls begins there
 */

/** A matrix; `show()` updates its numbers, `highlight({row, column})` highlights cells. @param {Matrix} spec */
export function matrix(spec) {
  const [height, width] = [spec.values().length, spec.values()[0].length];
  const [down, across] = spec.visible ?? [indices(height), indices(width)];
  const cells = new Map();
  const heads = { rows: new Map(), columns: new Map() };
  const grid = Boolean(spec.onOpen);
  let [focusedRow, focusedColumn] = spec.selected ?? [down[0], across[0]];

  const body = insertGaps(down, spec.isVector ? down.at(-1) + 1 : height).map((row) => el("tr", { role: grid ? "row" : null },
    spec.rows && head(heads.rows, row, "row"),
    ...addBrackets(insertGaps(across, width).map((column) => (row === null || column === null
      ? el("td", { class: "gap", role: grid ? "gridcell" : null }, row === null ? "⋮" : "⋯") : cell(row, column))))));
  const above = spec.columns && el("thead", { role: grid ? "rowgroup" : null }, el("tr", { role: grid ? "row" : null },
    spec.rows && el("td", { role: grid ? "gridcell" : null }),
    ...insertGaps(across, width).map((column) => head(heads.columns, column, "col"))));
  const table = el("table", { class: "matrix-table", role: grid ? "grid" : null, "aria-label": spec.ariaLabel },
    above, el("tbody", { role: grid ? "rowgroup" : null }, ...body));
  const node = matrixFrame(spec, table, [spec.isVector ? 1 : height, width]);

  function head(map, index, scope) {
    const element = el(index === null ? "td" : "th", { scope: index === null ? null : scope,
      role: grid ? (index === null ? "gridcell" : { row: "rowheader", col: "columnheader" }[scope]) : null });
    if (index !== null) map.set(index, element);
    return element;
  }

  function cell(row, column) {
    const element = el("td", { "data-row": row, "data-column": column, role: grid ? "gridcell" : null,
      tabindex: grid ? -1 : null });
    cells.set(`${row} ${column}`, element);
    return element;
  }

  function show() {
    const values = spec.values();
    const [rows, columns] = [spec.rows?.(), spec.columns?.()];
    const largest = spec.tint === "signed" ? maxAbs(...values) : 1;
    for (const [index, element] of heads.rows) setLabel(element, rows?.[index]);
    for (const [index, element] of heads.columns) setLabel(element, columns?.[index]);
    for (const [key, element] of cells) {
      const [row, column] = key.split(" ").map(Number);
      const value = values[row][column];
      const text = spec.format(value);
      if (element.textContent !== text) element.textContent = text;
      element.dataset.value = String(value);
      element.classList.toggle("zero", value === 0);
      element.classList.toggle("masked", value === -Infinity);
      tint(element, spec.tint, value, largest);
      if (grid) element.setAttribute("aria-label", cellText(spec, rows?.[row], columns?.[column], row, column, text));
    }
  }

  function focus(row, column, moveFocus) {
    cells.get(`${focusedRow} ${focusedColumn}`)?.setAttribute("tabindex", "-1");
    [focusedRow, focusedColumn] = [row, column];
    const element = cells.get(`${row} ${column}`);
    element?.setAttribute("tabindex", "0");
    if (moveFocus) element?.focus();
  }

  /** @param {Event} event @returns {[number, number] | null} */
  const cellOf = (event) => {
    const element = closest(event, "td[data-row]");
    return element && [Number(element.dataset.row), Number(element.dataset.column)];
  };
  if (grid) {
    focus(focusedRow, focusedColumn, false);
    table.addEventListener("click", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      focus(...cell, true);
      spec.onOpen?.(...cell);
    });
    table.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        spec.onOpen?.(focusedRow, focusedColumn);
        return;
      }
      const next = nextCell(event.key, [focusedRow, focusedColumn], down, across);
      if (!next) return;
      event.preventDefault();
      focus(...next, true);
    });
    table.addEventListener("focusin", (event) => {
      const cell = cellOf(event);
      if (cell) spec.onHover?.(...cell);
    });
  }
  table.addEventListener("pointerover", (event) => {
    const cell = cellOf(event);
    if (cell) spec.onHover?.(...cell);
  });
  if (spec.selected) cells.get(`${focusedRow} ${focusedColumn}`)?.classList.add("start");
  show();
  return Object.assign(node, { show, highlight: (selection) => highlightCells(cells, selection) });
}

/** Frame of a matrix: scroll box, name and size. */
export function matrixFrame({ name, ariaLabel }, table, [height, width]) {
  const box = el("div", { class: "matrix-box" }, table);
  watch.observe(box);
  box.dataset.label = ariaLabel;
  return el("div", { class: "matrix" }, box, el("p", { class: "matrix-name" }, formula(name),
    el("span", { class: "muted number" }, `${height} × ${width}`)));
}

/** Add the bracket classes to the first and last cell of a row. @param {Element[]} cells */
export function addBrackets(cells) {
  cells[0].classList.add("bracket-left");
  cells.at(-1).classList.add("bracket-right");
  return cells;
}

/** Scroll boxes are focusable only while they overflow, and show their selected cell then. */
const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth + 1;
    const start = /** @type {HTMLElement | null} */ (target.querySelector(".start"));
    if (scrolls && start && !target.hasAttribute("tabindex")) target.scrollLeft = start.offsetLeft - (target.clientWidth - start.offsetWidth) / 2;
    for (const [key, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", target.dataset.label ?? ""]]) {
      if (scrolls) target.setAttribute(key, value);
      else target.removeAttribute(key);
    }
  }
});

/** Highlight a row, a column or one cell; without a selection, nothing. */
export function highlightCells(cells, selection) {
  for (const [key, element] of cells) {
    const [row, column] = key.split(" ").map(Number);
    const [selectedRow, selectedColumn] = [selection?.row, selection?.column];
    element.classList.toggle("highlight-cell", selectedRow === row && selectedColumn === column);
    element.classList.toggle("highlight-row", selectedRow === row && selectedColumn === undefined);
    element.classList.toggle("highlight-column", selectedColumn === column && selectedRow === undefined);
  }
}

function tint(element, kind, value, largest) {
  if (!kind || !Number.isFinite(value)) {
    for (const key of ["background", "color"]) element.style.removeProperty(key);
    return;
  }
  const background = kind === "weights" ? weightColor(value) : signedColor(value, largest);
  element.style.setProperty("background", background);
  element.style.setProperty("color", textColor(background));
}

/** @param {Element} element @param {{text: string, lang?: string}} [label] */
function setLabel(element, { text, lang } = { text: "" }) {
  element.textContent = text;
  if (lang) element.setAttribute("lang", lang);
}

const cellText = (spec, row, column, r, c, value) =>
  message("matrix_cell", spec.ariaLabel, row?.text ?? r + 1, column?.text ?? c + 1, value);

/** The visible cell an arrow key moves to; null for other keys.
 * @param {string} key @param {[number, number]} cell @param {number[]} down @param {number[]} across @returns {[number, number] | null} */
export function nextCell(key, [row, column], down, across) {
  const [r, c] = [down.indexOf(row), across.indexOf(column)];
  const next = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1],
    Home: [r, 0], End: [r, across.length - 1] }[key];
  if (!next) return null;
  const [nextRow, nextColumn] = [down[next[0]], across[next[1]]];
  return nextRow === undefined || nextColumn === undefined ? [row, column] : [nextRow, nextColumn];
}

export const indices = (count) => Array.from({ length: count }, (_, index) => index);

/** The first indices, and one required index. */
export function firstIndices(count, largest, required = 0) {
  const leading = indices(Math.min(count, largest));
  return required < leading.length ? leading : [...leading, Math.min(required, count - 1)];
}

/** Insert a gap (null) where indices are left out. */
const insertGaps = (shown, count) => [...shown.flatMap((value, index) =>
  (index && value !== shown[index - 1] + 1 ? [null, value] : [value])), ...(shown.at(-1) < count - 1 ? [null] : [])];

/** MathML of a formula such as `Q = X W_q`, `Q K^T / √d_k`. @param {string} text */
export function formula(text) {
  return math("math", { lang: "en" }, ...text.split(" ").map(symbol));
}

function symbol(word) {
  if (/^[=+/·×÷()→,]$/.test(word)) return math("mo", { stretchy: "false" }, word);
  if (word.startsWith("√")) return math("msqrt", {}, symbol(word.slice(1)));
  const [, base, mark, more] = /^([^_^]+)(?:([_^])(.+))?$/.exec(word) ?? [word, word];
  const baseNode = math(/^[\d.]+$/.test(base) ? "mn" : "mi", {}, base);
  return mark ? math(mark === "_" ? "msub" : "msup", {}, baseNode, math("mi", {}, more)) : baseNode;
}
