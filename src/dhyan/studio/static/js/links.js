/** Links to states of the page: a click changes the state; with a modifier key the browser opens the address. */

import { el } from "./dom.js";
import { address, set, state } from "./state.js";

/**
 * @param {Partial<import("./state.js").State>} patch of the state @param {Child | Child[]} content
 * @param {Attributes & {replace?: boolean}} [options] attributes; `replace` replaces the history entry
 */
export const stateLink = (patch, content, { replace, ...attributes } = {}) => el("a", { ...attributes, href: address({ ...state, ...patch }), on: { click: (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  set(patch, { replace });
} } }, content);
