/** Link to the guided tour of the model of the state. */

import { el } from "../../dom.js";
import { card } from "../../header.js";
import { stateLink } from "../../links.js";
import { message } from "../../messages.js";

/** A paragraph with the link; null where the page has no tour of the model. */
export function tourLink() {
  if (!card()?.views.includes("tour")) return null;
  return el("p", { class: "tour-link-line" }, stateLink({ view: "tour" }, message("tour_link")));
}
