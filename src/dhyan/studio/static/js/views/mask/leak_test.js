/** The leak test: a word to change, and a table of what moves where. */

import { el, fill, text } from "../../dom.js";
import { formatNumber, vector } from "../../numbers.js";
import { state, set } from "../../state.js";
import { message } from "../../messages.js";

const exact = (value) => (value === 0 ? "0.0" : value < 0.001 ? value.toExponential(1).replace("-", "−") : formatNumber(value, 3));

/** Where the word is chosen; `follow` takes up the words of a translation, `offer` what was found. */
export function form(lang) {
  const place = el("select", { id: "mask-place", lang, on: { change: () =>
    set({ position: Number(place.value), word: "" }, { quiet: true }) } });
  const word = el("input", { id: "mask-word", lang, maxlength: 60, autocomplete: "off", spellcheck: "false",
    "aria-describedby": "mask-problem" });
  const problem = el("p", { id: "mask-problem", class: "problem", role: "alert" });
  const offered = el("p", { class: "mask-offered" });
  const node = el("form", { class: "mask-form", on: { submit: (event) => {
    event.preventDefault();
    set({ word: word.value.normalize("NFC").trim() });
  } } },
  el("label", { class: "field" }, el("span", {}, message("mask_place")), place),
  el("label", { class: "field" }, el("span", {}, message("mask_to")), word),
  el("button", { type: "submit", class: "main" }, message("mask_try")), problem, offered);

  const chips = (words) => words.map((one) => el("button", { type: "button", lang, "aria-pressed": one === state.word,
    on: { click: () => set({ word: one }, { quiet: true }) } }, one));

  /** @param {{text: string}[]} told @param {number} chosen counted from 1 */
  function follow(told, chosen) {
    fill(place, ...told.slice(1).map((token, at) => el("option", { value: at + 1, selected: at + 1 === chosen },
      `${at + 1} · ${token.text}`)));
    word.value = state.word;
  }

  function offer(found) {
    const refused = "suggestions" in found;
    word.setAttribute("aria-invalid", String(refused));
    fill(problem, refused ? message(found.unchanged ? "mask_there" : "mask_unknown", found.word) : "");
    const focused = offered.contains(document.activeElement) && document.activeElement.textContent;
    fill(offered, !refused && el("span", { class: "quiet" }, message("mask_offered")),
      ...chips(refused ? found.suggestions : found.alternatives));
    [...offered.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
    if (!refused) word.placeholder = found.new_token;
  }
  return { node, follow, offer };
}

/** Whether anything before the changed word moved, in words. */
export function verdict(found) {
  const past = vector(found.max_change).slice(0, found.position);
  const most = Math.max(...past);
  if (most > 0) return { tight: false, words: message("mask_leaks", exact(most)) };
  return { tight: true, words: message(past.length === 1 ? "mask_tight_one" : "mask_tight", past.length) };
}

/** What moved, place by place, and the verdict. */
export function moved(found, lang) {
  const values = vector(found.max_change);
  const largest = Math.max(...values, 1e-9);
  const { tight, words } = verdict(found);
  const how = !found.has_mask ? message("mask_none") : message(found.masked ? "mask_on" : "mask_off");
  return [
    el("p", { class: tight ? "mask-verdict tight" : "mask-verdict leaks" },
      el("span", { class: "mask-sign", "aria-hidden": "true" }, tight ? "✓" : "⚠"), words),
    el("div", { class: "picture", role: "region", tabindex: "0", "aria-label": message("mask_leak") },
      el("table", { class: "numbers mask-table" },
        el("caption", {}, message("mask_caption", how, found.old_token, found.new_token)),
        el("thead", {}, el("tr", {}, ...["place", "told", "moved", "says"].map((key) =>
          el("th", { scope: "col" }, message(`mask_column_${key}`))))),
        part(found, values, largest, 0, found.position, lang),
        part(found, values, largest, found.position, values.length, lang))),
  ];
}

/** The places before the change, or those from it on, under a line of their own. */
function part(found, values, largest, first, last, lang) {
  const past = first === 0;
  const lines = values.slice(first, last).map((value, index) => {
    const at = first + index;
    const told = at === found.position
      ? [el("del", {}, found.old_token), " → ", el("ins", {}, found.new_token)] : [found.decoder_input[at]];
    const says = found.next_tokens[at] === found.changed_next_tokens[at] ? [text(found.next_tokens[at], lang)]
      : [text(found.next_tokens[at], lang), " → ", text(found.changed_next_tokens[at], lang)];
    return el("tr", { class: past && value > 0 ? "leaks" : "" }, el("td", {}, String(at)),
      el("th", { scope: "row", lang }, ...told),
      el("td", { class: "mask-moved", "data-value": value }, el("span", { class: "number" }, exact(value)),
        el("span", { class: "mask-bar", style: { width: `${Math.round((48 * value) / largest)}px` } })),
      el("td", {}, ...says));
  });
  return el("tbody", { class: past ? "mask-past" : "mask-rest" },
    el("tr", {}, el("th", { colspan: 4, scope: "rowgroup", class: "mask-group" }, message(past ? "mask_before" : "mask_from"))),
    ...lines);
}
