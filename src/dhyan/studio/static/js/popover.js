/** A button that opens a panel below it; Escape, a click elsewhere or the button close it. */

import { el } from "./dom.js";

const NARROW = 700; // width of a window that a panel fills
const GAP = 6; // pixels between the button and its panel, and between the panel and the window

/**
 * @param {string} name id of the panel; the button's is `${name}-button`
 * @param {string} label
 * @param {(Node | null | false | undefined)[]} content
 * @returns {{button: HTMLButtonElement, panel: HTMLElement}}
 */
export function popover(name, label, content) {
  const button = el("button", { type: "button", id: `${name}-button`, popovertarget: name, class: "popover-button" }, `${label} ▾`);
  const panel = el("div", { id: name, popover: "auto", class: "popover", role: "group", "aria-label": label,
    on: { beforetoggle: (event) => event.newState === "open" && place(panel, button) } }, ...content);
  return { button, panel };
}

/** Place a panel below its button, inside the window. */
function place(panel, button) {
  const box = button.getBoundingClientRect();
  const [narrow, atRight] = [innerWidth < NARROW, box.left + box.width / 2 > innerWidth / 2];
  panel.style.left = narrow ? `${GAP}px` : atRight ? "auto" : `${box.left}px`;
  panel.style.right = narrow ? `${GAP}px` : atRight ? `${innerWidth - box.right}px` : "auto";
  panel.style.top = `${box.bottom + GAP}px`;
  panel.style.maxHeight = `${Math.max(160, innerHeight - box.bottom - 3 * GAP)}px`;
}
