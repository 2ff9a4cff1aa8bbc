/**
 * Matrix editor: every number is a text field; arrow keys move between fields.
 *
 *   matrixEditor({ name: "W_q", ariaLabel: "W_q, the query projection", values, onChange: (row, column, value) => … })
 *
 * `onChange` is called for every valid number; an invalid one is marked and ignored.
 * Rows may have word labels that can be edited (`onRename`) and removed (`onRemove`).
 */

import { el } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { message } from "./messages.js";
import { showStatus } from "./status.js";
import { addBrackets, matrixFrame, highlightCells, nextCell, indices } from "./matrix.js";

const MAX_MAGNITUDE = 9999;
const MAX_WORD_LENGTH = 20; // characters

/**
 * @param {{name: string, ariaLabel: string, values: number[][], onChange: (row: number, column: number, value: number) => void,
 *   words?: string[], onRename?: (index: number, word: string) => void, onRemove?: (index: number) => void,
 *   onHover?: (row: number, column: number) => void}} spec
 */
export function matrixEditor(spec) {
  const [down, across] = [indices(spec.values.length), indices(spec.values[0].length)];
  const currentValues = spec.values.map((line) => [...line]);
  const cells = new Map();
  const fields = new Map();
  const { words, onRename, onRemove } = spec;
  const body = down.map((row) => el("tr", {}, words && wordField(words, row),
    ...addBrackets(across.map((column) => cell(row, column))),
    words && onRemove && el("td", { class: "remove-cell" }, down.length > 1 && el("button", { type: "button", class: "remove",
      "aria-label": message("edit_remove", words[row]), on: { click: () => onRemove(row) } }, "×"))));
  const width = Math.max(4, ...currentValues.flat().map((value) => formatExact(value).length));
  const table = el("table", { class: "matrix-table editable", "aria-label": spec.ariaLabel, style: { "--characters": String(width) } }, el("tbody", {}, ...body));
  const node = matrixFrame(spec, table, [down.length, across.length]);

  function wordField(words, row) {
    const field = el("input", { type: "text", class: "word", value: words[row], maxlength: MAX_WORD_LENGTH,
      autocomplete: "off", spellcheck: "false", "aria-label": message("edit_word", row + 1), on: { input: () => {
        const word = wordOf(field.value);
        if (word) onRename?.(row, word);
      }, blur: () => { field.value = wordOf(field.value) || words[row]; } } });
    return el("th", { scope: "row" }, field);
  }

  function cell(row, column) {
    const field = el("input", { type: "text", inputmode: "text", class: "entry", autocomplete: "off",
      value: formatExact(currentValues[row][column]), tabindex: row || column ? -1 : 0,
      "aria-label": message("edit_cell", spec.ariaLabel, row + 1, column + 1), on: {
        input: () => handleInput(field, row, column),
        focus: () => { setTabStop([row, column]); field.select(); spec.onHover?.(row, column); },
        blur: () => {
          if (numberOf(field.value) === null) showStatus(message("edit_invalid", field.value, formatExact(currentValues[row][column])));
          field.removeAttribute("aria-invalid");
          field.value = formatExact(currentValues[row][column]);
        },
        keydown: (event) => handleKey(event, field, row, column),
      } });
    fields.set(`${row} ${column}`, field);
    const cellElement = el("td", { on: { pointerenter: () => spec.onHover?.(row, column) } }, field);
    cells.set(`${row} ${column}`, cellElement);
    return cellElement;
  }

  function handleInput(field, row, column) {
    const value = numberOf(field.value);
    field.setAttribute("aria-invalid", String(value === null));
    if (value === null || value === currentValues[row][column]) return;
    currentValues[row][column] = value;
    spec.onChange(row, column, value);
  }

  /** Arrow keys leave a field only at its edge, so that they also move within a number. */
  function handleKey(event, field, row, column) {
    const key = event.key === "Enter" ? "ArrowDown" : event.key;
    const allSelected = field.selectionStart === 0 && field.selectionEnd === field.value.length;
    if (key === "ArrowLeft" && !allSelected && field.selectionStart > 0) return;
    if (key === "ArrowRight" && !allSelected && field.selectionEnd < field.value.length) return;
    if (!/^Arrow/.test(key)) return;
    event.preventDefault();
    const next = nextCell(key, [row, column], down, across);
    if (next) fields.get(next.join(" ")).focus();
  }

  function setTabStop(cell) {
    for (const [key, field] of fields) field.setAttribute("tabindex", key === cell.join(" ") ? "0" : "-1");
  }

  return Object.assign(node, { highlight: (selection) => highlightCells(cells, selection) });
}

/** Shortest exact decimal form. */
const formatExact = (value) => (Number.isInteger(value) ? formatNumber(value, 0) : formatNumber(value, decimals(value)));
const decimals = (value) => [1, 2, 3, 4, 5].find((digits) => Number(value.toFixed(digits)) === value) ?? 6;

/** Round to six decimals, the stored precision. */
export const roundValue = (value) => Math.round(value * 1e6) / 1e6;

/** Parse a number with either minus sign and decimal point or comma; null if invalid. */
export function numberOf(text) {
  const plain = text.trim().replace(/[−–]/, "-").replace(",", ".");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain)) return null;
  return roundValue(Math.min(Math.max(Number(plain), -MAX_MAGNITUDE), MAX_MAGNITUDE));
}

/** A word as the URL can store it: no spaces, no asterisks, at most 20 characters. */
export const wordOf = (text) =>
  [...text.normalize("NFC").replace(/[\s*]+/g, "")].slice(0, MAX_WORD_LENGTH).join("");
