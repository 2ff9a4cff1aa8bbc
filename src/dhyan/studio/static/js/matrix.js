/** Matrices between brackets: their cells can be lit, walked through and opened. */

import { el, math } from "./dom.js";
import { signed, weight as paint, ink } from "./colors.js";
import { mostOf } from "./vector_strips.js";
import { message, addMessages } from "./messages.js";

addMessages({ matrix_cell: ["{0}, {1}, {2}: {3}", "{0}, {1}, {2}: {3}"] });

/**
 * @typedef {object} Matrix
 * @property {() => number[][]} values looked at again by `show()`
 * @property {string} name how it is written, as `formula` reads it
 * @property {string} about the same in words, for those who hear it
 * @property {() => {text: string, lang?: string}[]} [rows] whose the rows are
 * @property {() => {text: string, lang?: string}[]} [columns]
 * @property {(value: number) => string} write
 * @property {"signed" | "weights" | ""} [tint]
 * @property {[number[], number[]]} [window] rows and columns that are shown, where not all are
 * @property {boolean} [alone] of all rows only those shown are meant: a vector
 * @property {(row: number, column: number) => void} [touch] a cell is looked at
 * @property {(row: number, column: number) => void} [open] makes every cell a button
 * @property {[number, number]} [at] where the focus begins
 */

/** A matrix; `show()` writes its numbers anew, `light({row, column})` lights what is used. @param {Matrix} of */
export function matrix(of) {
  const [height, width] = [of.values().length, of.values()[0].length];
  const [down, across] = of.window ?? [places(height), places(width)];
  const cells = new Map();
  const heads = { rows: new Map(), columns: new Map() };
  const grid = Boolean(of.open);
  let here = of.at ?? [down[0], across[0]];

  const body = withGaps(down, of.alone ? down.at(-1) + 1 : height).map((row) => el("tr", { role: grid ? "row" : null },
    of.rows && head(heads.rows, row, "row"),
    ...bracketed(withGaps(across, width).map((column) => (row === null || column === null
      ? el("td", { class: "gap", role: grid ? "gridcell" : null }, row === null ? "⋮" : "⋯") : cell(row, column))))));
  const above = of.columns && el("thead", { role: grid ? "rowgroup" : null }, el("tr", { role: grid ? "row" : null },
    of.rows && el("td", { role: grid ? "gridcell" : null }),
    ...withGaps(across, width).map((column) => head(heads.columns, column, "col"))));
  const table = el("table", { class: "matrix-table", role: grid ? "grid" : null, "aria-label": of.about },
    above, el("tbody", { role: grid ? "rowgroup" : null }, ...body));
  const node = framed(of, table, [of.alone ? 1 : height, width]);

  function head(map, place, scope) {
    const made = el(place === null ? "td" : "th", { scope: place === null ? null : scope,
      role: grid ? (place === null ? "gridcell" : { row: "rowheader", col: "columnheader" }[scope]) : null });
    if (place !== null) map.set(place, made);
    return made;
  }

  function cell(row, column) {
    const made = el("td", { "data-row": row, "data-column": column, role: grid ? "gridcell" : null,
      tabindex: grid ? -1 : null });
    cells.set(`${row} ${column}`, made);
    return made;
  }

  function show() {
    const values = of.values();
    const [rows, columns] = [of.rows?.(), of.columns?.()];
    const most = of.tint === "signed" ? mostOf(...values) : 1;
    for (const [place, made] of heads.rows) named(made, rows[place]);
    for (const [place, made] of heads.columns) named(made, columns[place]);
    for (const [key, made] of cells) {
      const [row, column] = key.split(" ").map(Number);
      const value = values[row][column];
      const words = of.write(value);
      if (made.textContent !== words) made.textContent = words;
      made.dataset.value = String(value);
      made.classList.toggle("none", value === 0);
      made.classList.toggle("blocked", value === -Infinity);
      tint(made, of.tint, value, most);
      if (grid) made.setAttribute("aria-label", spoken(of, rows?.[row], columns?.[column], row, column, words));
    }
  }

  function focus(row, column, really) {
    cells.get(here.join(" "))?.setAttribute("tabindex", "-1");
    here = [row, column];
    const made = cells.get(here.join(" "));
    made?.setAttribute("tabindex", "0");
    if (really) made?.focus();
  }

  const place = (event) => {
    const found = event.target.closest("td[data-row]");
    return found && [Number(found.dataset.row), Number(found.dataset.column)];
  };
  if (grid) {
    focus(...here, false);
    table.addEventListener("click", (event) => {
      const at = place(event);
      if (!at) return;
      focus(...at, true);
      of.open(...at);
    });
    table.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        of.open(...here);
        return;
      }
      const next = moved(event.key, here, down, across);
      if (!next) return;
      event.preventDefault();
      focus(...next, true);
    });
    table.addEventListener("focusin", (event) => {
      const at = place(event);
      if (at) of.touch?.(...at);
    });
  }
  table.addEventListener("pointerover", (event) => {
    const at = place(event);
    if (at) of.touch?.(...at);
  });
  show();
  return Object.assign(node, { show, light: (what) => lit(cells, what) });
}

/** What a matrix, shown or edited, stands in: a box that scrolls, its name and its size. */
export function framed({ name, about }, table, [height, width]) {
  const box = el("div", { class: "matrix-box" }, table);
  watch.observe(box);
  box.dataset.about = about;
  return el("div", { class: "matrix" }, box, el("p", { class: "matrix-name" }, formula(name),
    el("span", { class: "quiet number" }, `${height} × ${width}`)));
}

/** The cells of a row with the brackets' lines beside the first and the last. @param {Element[]} cells */
export function bracketed(cells) {
  cells[0].classList.add("opens");
  cells.at(-1).classList.add("shuts");
  return cells;
}

/** Only a box that does scroll can be stopped at. */
const watch = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    const wide = target.scrollWidth > target.clientWidth + 1;
    for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", target.dataset.about]]) {
      if (wide) target.setAttribute(key, value);
      else target.removeAttribute(key);
    }
  }
});

/** Light the cells of a row, of a column, or where both meet; nothing lights none. */
export function lit(cells, what) {
  for (const [key, made] of cells) {
    const [row, column] = key.split(" ").map(Number);
    const [own, also] = [what?.row, what?.column];
    made.classList.toggle("lit-cell", own === row && also === column);
    made.classList.toggle("lit-row", own === row && also === undefined);
    made.classList.toggle("lit-column", also === column && own === undefined);
  }
}

function tint(made, kind, value, most) {
  if (!kind || !Number.isFinite(value)) {
    for (const key of ["background", "color"]) made.style.removeProperty(key);
    return;
  }
  const ground = kind === "weights" ? paint(value) : signed(value, most);
  made.style.setProperty("background", ground);
  made.style.setProperty("color", ink(ground));
}

function named(made, { text, lang }) {
  made.textContent = text;
  if (lang) made.setAttribute("lang", lang);
}

const spoken = (of, row, column, r, c, words) =>
  message("matrix_cell", of.about, row?.text ?? r + 1, column?.text ?? c + 1, words);

/** Where a key leads among the cells that are shown. */
export function moved(key, [row, column], down, across) {
  const [r, c] = [down.indexOf(row), across.indexOf(column)];
  const at = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1],
    Home: [r, 0], End: [r, across.length - 1] }[key];
  if (!at) return null;
  const [to, beside] = [down[at[0]], across[at[1]]];
  return to === undefined || beside === undefined ? [row, column] : [to, beside];
}

export const places = (count) => Array.from({ length: count }, (_, at) => at);

/** The first few places, and one that must be among them. */
export function first(count, most, must = 0) {
  const shown = places(Math.min(count, most));
  return must < shown.length ? shown : [...shown, Math.min(must, count - 1)];
}

/** The same with a gap (null) wherever some are left out. */
const withGaps = (shown, count) => [...shown.flatMap((place, index) =>
  (index && place !== shown[index - 1] + 1 ? [null, place] : [place])), ...(shown.at(-1) < count - 1 ? [null] : [])];

/** A formula as one writes it: `Q = X W_q`, `Q K^T / √d_k`. @param {string} text */
export function formula(text) {
  return math("math", { lang: "en" }, ...text.split(" ").map(symbol));
}

function symbol(word) {
  if (/^[=+/·×÷()→,]$/.test(word)) return math("mo", { stretchy: "false" }, word);
  if (word.startsWith("√")) return math("msqrt", {}, symbol(word.slice(1)));
  const [, base, mark, more] = /^([^_^]+)(?:([_^])(.+))?$/.exec(word);
  const own = math(/^[\d.]+$/.test(base) ? "mn" : "mi", {}, base);
  return mark ? math(mark === "_" ? "msub" : "msup", {}, own, math("mi", {}, more)) : own;
}
