/**
 * Vectors as strips of coloured cells: orange below nought, blue above, the number written in each.
 *
 *   strip({ label: "q", values, about: "the query of bank", open: (k) => openSum(…) })
 *
 * shows the first 8 of a vector, ‖·‖ always, a button for the rest, and calls `open` with the place
 * (from 0) of the cell that is chosen. `tiles` is the same without words or buttons, for tables.
 */

import { el, fill } from "./dom.js";
import { signed, ink } from "./colors.js";
import { norm, formatNumber } from "./numbers.js";
import { message, addMessages } from "./messages.js";

export const FIRST = 8;

addMessages({
  strip_all: ["all {0}", "सभी {0}"],
  strip_few: ["first {0}", "पहले {0}"],
  strip_cell: ["{0}, number {1}: {2}", "{0}, संख्या {1}: {2}"],
  strip_norm: ["norm {0}", "नॉर्म {0}"],
});

/**
 * @typedef {object} Strip
 * @property {string | Node} label how the vector is written (text, or MathML)
 * @property {number[]} values
 * @property {string} [about] the vector in words, for those who hear it; needed where label is a node
 * @property {number} [shown] how many before all are asked for
 * @property {(place: number) => void} [open] makes every cell a button
 * @property {number} [most] the number with the fullest colour; the largest of all, if not given
 * @property {number} [at] a cell that is marked
 */

/** A vector on a line of its own. `mark(place)` marks a cell. @param {Strip} of */
export function strip({ label, values, about, shown = FIRST, open, most = mostOf(values), at = -1 }) {
  const name = about ?? String(label);
  const long = values.length > shown;
  let all = long && at >= shown;
  let marked = at;
  const cells = el("div", { class: "strip-cells" });
  const more = long && el("button", { type: "button", class: "strip-more", "aria-expanded": all,
    on: { click: () => { all = !all; render(); } } });
  const node = el("div", { class: "strip", role: "group", "aria-label": name },
    el("div", { class: "strip-head" }, label && el("span", { class: "strip-label" }, label),
      el("span", { class: "strip-norm number", "aria-label": message("strip_norm", formatNumber(norm(values))) },
        `‖·‖ ${formatNumber(norm(values))}`), more), cells);

  function render() {
    const count = all ? values.length : Math.min(shown, values.length);
    fill(cells, ...values.slice(0, count).map((value, index) => cell(value, index)), long && !all &&
      el("span", { class: "strip-rest", "aria-hidden": "true" }, "…"));
    if (!more) return;
    more.setAttribute("aria-expanded", String(all));
    more.textContent = all ? message("strip_few", shown) : message("strip_all", values.length);
  }

  function cell(value, place) {
    const ground = signed(value, most);
    const own = { class: `strip-cell${place === marked ? " here" : ""}`, "data-place": place,
      style: { background: ground, color: ink(ground) } };
    if (!open) return el("span", own, brief(value));
    return el("button", { ...own, type: "button", tabindex: place === Math.max(marked, 0) ? 0 : -1,
      "aria-label": message("strip_cell", name, place + 1, formatNumber(value, 4)),
      "aria-current": place === marked ? "true" : null, on: { click: () => open(place) } }, brief(value));
  }

  cells.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const from = by && open && event.target.closest(".strip-cell");
    if (!from) return;
    event.preventDefault();
    const to = cells.querySelector(`[data-place="${Number(from.dataset.place) + by}"]`);
    if (!to) return;
    from.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
  });
  render();
  return Object.assign(node, { mark(place) {
    marked = place;
    all ||= place >= shown;
    render();
  } });
}

/**
 * The first numbers of a vector as bare coloured cells with `data-place`, for a cell of a table
 * that has words and a click of its own. `size`: "numbers" are written in them, "plain" are colours
 * alone (without `data-place`), "small" are for a vector in full. @param {number[]} values
 */
export function tiles(values, { shown = FIRST, most = mostOf(values), size = "numbers" } = {}) {
  if (size === "plain") return bands(values.slice(0, shown), most);
  return el("span", { class: `tiles ${size}`, "aria-hidden": "true" },
    ...values.slice(0, shown).map((value, index) => {
      const ground = signed(value, most);
      return el("span", { class: "strip-cell", "data-place": index,
        style: { background: ground, color: ink(ground) } }, size === "numbers" ? brief(value) : "");
    }));
}

/** Two lines of colours in one element: many words have many vectors. */
function bands(values, most) {
  const half = Math.ceil(values.length / 2);
  const line = (own) => `linear-gradient(90deg, ${own.map((value, index) =>
    `${signed(value, most)} ${(index / half) * 100}% ${((index + 1) / half) * 100}%`).join(", ")})`;
  return el("span", { class: "tiles plain", "aria-hidden": "true",
    style: { "background-image": [values.slice(0, half), values.slice(half)].filter((own) => own.length).map(line).join(", ") } });
}

/** The largest number of a vector, or of several, without its sign. */
export function mostOf(...vectors) {
  let most = 1e-9;
  for (const values of vectors) for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}

/** A number in four letters: −.12, 1.3, −14. */
export function brief(value) {
  if (!Number.isFinite(value)) return formatNumber(value);
  const size = Math.abs(value);
  const digits = size < 0.995 ? 2 : size < 9.95 ? 1 : 0;
  return formatNumber(value, digits).replace(/^(−?)0\./, "$1.").replace(/^−(\.?0+|0)$/, "$1");
}
