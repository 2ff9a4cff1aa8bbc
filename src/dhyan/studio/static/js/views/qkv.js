/** Q K V view: one head of a trained model, or a toy, recomputed on the page. */

import { el, setChildren } from "../dom.js";
import { state, set } from "../state.js";
import { message } from "../messages.js";
import { openModel } from "./qkv/model.js";
import { openToy } from "./qkv/toy.js";

export { lesson } from "./qkv/messages.js";

export function open() {
  const container = el("div", { class: "qkv-container" });
  const choice = el("div", { class: "segments", role: "group", "aria-label": message("qkv_source") });
  const node = el("section", { class: "qkv", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("qkv_title")), choice), container);
  let toy = null;
  let inner = null;

  function show() {
    inner?.close();
    toy = Boolean(state.toy);
    setChildren(choice, ...[["", "qkv_trained"], ["cat", "qkv_toy"]].map(([value, key]) => el("button", { type: "button",
      "aria-pressed": Boolean(value) === toy, on: { click: () => {
        if (Boolean(value) === toy) return;
        set({ toy: value });
      } } }, message(key))));
    inner = toy ? openToy() : openModel();
    setChildren(container, inner.node);
  }

  show();
  return {
    node,
    update(changed) {
      if (Boolean(state.toy) === toy) {
        inner.update(changed);
        return;
      }
      const focused = node.contains(document.activeElement);
      show();
      if (focused) choice.querySelector("[aria-pressed=true]").focus();
    },
    exportData: () => inner.exportData(),
    close: () => inner.close(),
  };
}
