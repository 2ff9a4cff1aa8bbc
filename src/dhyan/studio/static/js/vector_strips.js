/**
 * Vectors as strips of coloured cells with numbers: orange is negative, blue is positive.
 *
 *   strip({ label: "q", values, ariaLabel: "the query of bank", onOpen: (k) => openSum(…) })
 *
 * shows the first 8 elements, the norm and a button for the rest, and calls `onOpen` with the index
 * (from 0) of the selected cell. `vectorTiles` is the same without labels or buttons, for tables.
 */

import { closest, el, setChildren } from "./dom.js";
import { signedColor, textColor } from "./colors.js";
import { norm, formatNumber } from "./numbers.js";
import { message } from "./messages.js";

const DEFAULT_COUNT = 8;

/**
 * @typedef {object} Strip
 * @property {string | Node} label symbol of the vector (text or MathML)
 * @property {number[]} values
 * @property {string} [ariaLabel] accessible name; required where the label is a node
 * @property {number} [visibleCount] number of elements shown at first
 * @property {(index: number) => void} [onOpen] makes every cell a button
 * @property {number} [colorLimit] limit of the colour map; the largest magnitude by default
 * @property {number} [selected] index of the marked cell
 */

/** A labelled vector. `mark(index)` marks a cell. @param {Strip} of */
export function strip({ label, values, ariaLabel, visibleCount = DEFAULT_COUNT, onOpen, colorLimit = maxAbs(values), selected = -1 }) {
  const name = ariaLabel ?? String(label);
  const long = values.length > visibleCount;
  let expanded = long && selected >= visibleCount;
  let marked = selected;
  const cells = el("div", { class: "strip-cells" });
  const more = long && el("button", { type: "button", class: "strip-toggle", "aria-expanded": expanded,
    on: { click: () => { expanded = !expanded; render(); } } });
  const node = el("div", { class: "strip", role: "group", "aria-label": name },
    el("div", { class: "strip-head" }, label && el("span", { class: "strip-label" }, label),
      el("span", { class: "strip-norm number", "aria-label": message("strip_norm", formatNumber(norm(values))) },
        `‖·‖ ${formatNumber(norm(values))}`), more), cells);

  function render() {
    const count = expanded ? values.length : Math.min(visibleCount, values.length);
    setChildren(cells, ...values.slice(0, count).map((value, index) => cell(value, index)), long && !expanded &&
      el("span", { class: "strip-ellipsis", "aria-hidden": "true" }, "…"));
    if (!more) return;
    more.setAttribute("aria-expanded", String(expanded));
    more.textContent = expanded ? message("strip_first", visibleCount) : message("strip_all", values.length);
  }

  function cell(value, index) {
    const background = signedColor(value, colorLimit);
    const attributes = { class: `strip-cell${index === marked ? " selected" : ""}`, "data-index": index,
      style: { background, color: textColor(background) } };
    if (!onOpen) return el("span", attributes, formatBrief(value));
    return el("button", { ...attributes, type: "button", tabindex: index === Math.max(marked, 0) ? 0 : -1,
      "aria-label": message("strip_cell", name, index + 1, formatNumber(value, 4)),
      "aria-current": index === marked ? "true" : null, on: { click: () => onOpen(index) } }, formatBrief(value));
  }

  cells.addEventListener("keydown", (event) => {
    const offset = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const from = offset && onOpen && closest(event, ".strip-cell");
    if (!from) return;
    event.preventDefault();
    const to = cells.querySelector(`[data-index="${Number(from.dataset.index) + offset}"]`);
    if (!to) return;
    from.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
  });
  render();
  return Object.assign(node, { mark(index) {
    marked = index;
    expanded ||= index >= visibleCount;
    render();
  } });
}

/**
 * The first elements of a vector as coloured cells with `data-index`, for a table cell
 * with its own label and click. `size`: "numbers" writes the values, "plain" only colours
 * (without `data-index`), "small" is for a whole vector. @param {number[]} values
 */
export function vectorTiles(values, { visibleCount = DEFAULT_COUNT, colorLimit = maxAbs(values), size = "numbers" } = {}) {
  if (size === "plain") return bands(values.slice(0, visibleCount), colorLimit);
  return el("span", { class: `tiles ${size}`, "aria-hidden": "true" },
    ...values.slice(0, visibleCount).map((value, index) => {
      const background = signedColor(value, colorLimit);
      return el("span", { class: "strip-cell", "data-index": index,
        style: { background, color: textColor(background) } }, size === "numbers" ? formatBrief(value) : "");
    }));
}

/** Two rows of colours as gradients of one element, for speed with many vectors. */
function bands(values, colorLimit) {
  const half = Math.ceil(values.length / 2);
  const line = (part) => `linear-gradient(90deg, ${part.map((value, index) =>
    `${signedColor(value, colorLimit)} ${(index / half) * 100}% ${((index + 1) / half) * 100}%`).join(", ")})`;
  return el("span", { class: "tiles plain", "aria-hidden": "true",
    style: { "background-image": [values.slice(0, half), values.slice(half)].filter((part) => part.length).map(line).join(", ") } });
}

/** The largest magnitude in one or several vectors. */
export function maxAbs(...vectors) {
  let largest = 1e-9;
  for (const values of vectors) for (const value of values) if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/** A number in at most four characters: −.12, 1.3, −14. */
export function formatBrief(value) {
  if (!Number.isFinite(value)) return formatNumber(value);
  const size = Math.abs(value);
  const digits = size < 0.995 ? 2 : size < 9.95 ? 1 : 0;
  return formatNumber(value, digits).replace(/^(−?)0\./, "$1.").replace(/^−(\.?0+|0)$/, "$1");
}
