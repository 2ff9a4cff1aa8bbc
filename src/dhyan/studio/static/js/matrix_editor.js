/**
 * A matrix one can edit: every number is a field, and arrows lead from one to the next.
 *
 *   matrixEditor({ name: "W_q", about: "W_q, the query projection", values, change: (row, column, value) => … })
 *
 * `change` hears of every number as soon as it is one; what is no number is marked and not used.
 * Rows may be named by words that can be rewritten (`rename`) and taken away (`remove`).
 */

import { el } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { message, addMessages } from "./messages.js";
import { showStatus } from "./status.js";
import { bracketed, framed, lit, moved, places } from "./matrix.js";

const LARGEST = 9999;
const LONGEST_WORD = 20;

addMessages({
  edit_cell: ["{0}, row {1}, column {2}", "{0}, पंक्ति {1}, स्तंभ {2}"],
  edit_word: ["word {0}", "शब्द {0}"],
  edit_remove: ["Remove {0}", "{0} हटाइए"],
  edit_wrong: ["“{0}” is not a number; the value stays {1}.", "“{0}” कोई संख्या नहीं है; {1} ही रखा गया है।"],
});

/**
 * @param {{name: string, about: string, values: number[][], change: (row: number, column: number, value: number) => void,
 *   words?: string[], rename?: (place: number, word: string) => void, remove?: (place: number) => void,
 *   touch?: (row: number, column: number) => void}} of
 */
export function matrixEditor(of) {
  const [down, across] = [places(of.values.length), places(of.values[0].length)];
  const kept = of.values.map((line) => [...line]);
  const cells = new Map();
  const fields = new Map();
  const body = down.map((row) => el("tr", {}, of.words && named(row),
    ...bracketed(across.map((column) => cell(row, column))),
    of.remove && el("td", { class: "beside" }, down.length > 1 && el("button", { type: "button", class: "remove",
      "aria-label": message("edit_remove", of.words[row]), on: { click: () => of.remove(row) } }, "×"))));
  const letters = Math.max(4, ...kept.flat().map((value) => written(value).length));
  const table = el("table", { class: "matrix-table edited", "aria-label": of.about, style: { "--letters": letters } }, el("tbody", {}, ...body));
  const node = framed(of, table, [down.length, across.length]);

  function named(row) {
    const field = el("input", { type: "text", class: "word", value: of.words[row], maxlength: 20,
      autocomplete: "off", spellcheck: "false", "aria-label": message("edit_word", row + 1), on: { input: () => {
        const word = wordOf(field.value);
        if (word) of.rename(row, word);
      }, blur: () => { field.value = wordOf(field.value) || of.words[row]; } } });
    return el("th", { scope: "row" }, field);
  }

  function cell(row, column) {
    const field = el("input", { type: "text", inputmode: "text", class: "entry", autocomplete: "off",
      value: written(kept[row][column]), tabindex: row || column ? -1 : 0,
      "aria-label": message("edit_cell", of.about, row + 1, column + 1), on: {
        input: () => heard(field, row, column),
        focus: () => { stop([row, column]); field.select(); of.touch?.(row, column); },
        blur: () => {
          if (numberOf(field.value) === null) showStatus(message("edit_wrong", field.value, written(kept[row][column])));
          field.removeAttribute("aria-invalid");
          field.value = written(kept[row][column]);
        },
        keydown: (event) => walk(event, field, row, column),
      } });
    fields.set(`${row} ${column}`, field);
    const made = el("td", { on: { pointerenter: () => of.touch?.(row, column) } }, field);
    cells.set(`${row} ${column}`, made);
    return made;
  }

  function heard(field, row, column) {
    const value = numberOf(field.value);
    field.setAttribute("aria-invalid", String(value === null));
    if (value === null || value === kept[row][column]) return;
    kept[row][column] = value;
    of.change(row, column, value);
  }

  /** Arrows leave a field only from its edge, so that one can still walk within a number. */
  function walk(event, field, row, column) {
    const key = event.key === "Enter" ? "ArrowDown" : event.key;
    const all = field.selectionStart === 0 && field.selectionEnd === field.value.length;
    if (key === "ArrowLeft" && !all && field.selectionStart > 0) return;
    if (key === "ArrowRight" && !all && field.selectionEnd < field.value.length) return;
    if (!/^Arrow/.test(key)) return;
    event.preventDefault();
    fields.get(moved(key, [row, column], down, across).join(" ")).focus();
  }

  function stop(at) {
    for (const [key, field] of fields) field.setAttribute("tabindex", key === at.join(" ") ? "0" : "-1");
  }

  return Object.assign(node, { light: (what) => lit(cells, what) });
}

/** As short as it is exact. */
const written = (value) => (Number.isInteger(value) ? formatNumber(value, 0) : formatNumber(value, decimals(value)));
const decimals = (value) => [1, 2, 3, 4, 5].find((digits) => Number(value.toFixed(digits)) === value) ?? 6;

/** Six digits after the point, which is as exact as a number is kept. */
export const rounded = (value) => Math.round(value * 1e6) / 1e6;

/** A number as a person writes it, with either minus and either point; null if it is none. */
export function numberOf(written) {
  const plain = written.trim().replace(/[−–]/, "-").replace(",", ".");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain)) return null;
  return rounded(Math.min(Math.max(Number(plain), -LARGEST), LARGEST));
}

/** A word as the address can keep it: no spaces, no stars, not too long. */
export const wordOf = (written) =>
  [...written.normalize("NFC").replace(/[\s*]+/g, "")].slice(0, LONGEST_WORD).join("");
