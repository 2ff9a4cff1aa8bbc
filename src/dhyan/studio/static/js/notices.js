/** Notices above the view, which stay until they are closed. */

import { el } from "./dom.js";
import { message } from "./messages.js";

/** The box of the notices; the page puts it above the view. */
export const noticeBox = el("div", { class: "notices", role: "status", "aria-live": "polite" });

/** Add notices, each once. @param {string[]} texts */
export function addNotices(texts) {
  const shown = [...noticeBox.children].map((notice) => notice.firstElementChild?.textContent ?? "");
  noticeBox.append(...texts.filter((text) => !shown.includes(text)).map((text) => {
    const notice = el("p", { class: "notice" }, el("span", {}, text),
      el("button", { type: "button", "aria-label": message("close"), on: { click: () => notice.remove() } }, "×"));
    return notice;
  }));
}
