/** Parts of the figures of tasks: words as buttons with one tab stop, shaded by a weight. */

import { el } from "../dom.js";
import { textColor, weightColor } from "../colors.js";

/** Scale of shades: the weights of a long text are small. */
export const SCALE = "sqrt";

/** Weights from here on have a number of their own. */
export const SHOWN = 0.05;

/** A word of a figure. @param {{text: string, lang?: string}} unit @param {string} side @param {number} index @param {string} label @param {Child[]} more */
export const wordButton = ({ text, lang }, side, index, label, ...more) => el("button", { type: "button", class: "figure-word", tabindex: index ? -1 : 0,
  "data-side": side, "data-index": index, "aria-label": label }, el("span", { class: "figure-text", lang }, text), ...more);

/** Shade an element by a weight; null removes the shade. @param {HTMLElement | SVGElement} element @param {number | null} weight */
export function shade(element, weight) {
  const background = weight === null ? "" : weightColor(weight, SCALE);
  element.style.setProperty("background-color", background);
  element.style.setProperty("color", background && textColor(background));
}

/**
 * One tab stop for the words of a group: arrow keys, Home and End move it; focus and pointer report the word.
 * @param {HTMLElement} group @param {HTMLElement[]} items
 * @param {{focus: (index: number) => void, hover: (index: number | null) => void, columns?: number}} listener `columns` of a grid
 */
export function roving(group, items, { focus, hover, columns = 0 }) {
  const indexOf = (event) => items.findIndex((item) => item.contains(event.target));
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -(columns || 1), ArrowDown: columns || 1 };
  function move(index) {
    for (const item of items) item.setAttribute("tabindex", item === items[index] ? "0" : "-1");
  }
  group.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    const next = { Home: 0, End: items.length - 1 }[event.key] ?? index + (steps[event.key] ?? NaN);
    if (index < 0 || !items[next]) return;
    event.preventDefault();
    items[next].focus();
  });
  group.addEventListener("focusin", (event) => {
    const index = indexOf(event);
    if (index < 0) return;
    move(index);
    if (items[index].matches(":focus-visible")) focus(index);
  });
  group.addEventListener("click", (event) => indexOf(event) >= 0 && focus(indexOf(event)));
  group.addEventListener("pointerover", (event) => indexOf(event) >= 0 && hover(indexOf(event)));
  group.addEventListener("pointerleave", () => hover(null));
  return { move };
}

/** Mark one of several elements as selected. @param {Element[]} items @param {number | null} index */
export function mark(items, index) {
  items.forEach((item, at) => item.classList.toggle("selected", at === index));
}

/** The units of the output that are no special token, with their rows. @param {any} view */
export const outputs = (view) => view.rows.map((unit, row) => ({ ...unit, row })).filter((unit) => !unit.special);
