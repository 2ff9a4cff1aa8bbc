/** Link to the guided tour of the model of the state. */

import { el } from "../../dom.js";
import { card } from "../../header.js";
import { message } from "../../messages.js";
import { address, set, state } from "../../state.js";

/** A paragraph with the link; null where the page has no tour of the model. */
export function tourLink() {
  if (!card()?.views.includes("tour")) return null;
  return el("p", { class: "tour-link-line" }, el("a", { href: address({ ...state, view: "tour" }), on: { click: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    set({ view: "tour" });
  } } }, message("tour_link")));
}
