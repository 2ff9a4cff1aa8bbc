/** The leak test: a word to change, and a table of what moves where. */

import { el, fill, text } from "../dom.js";
import { said, vector } from "../numbers.js";
import { state, set } from "../state.js";
import { say } from "../words.js";

const exact = (value) => (value === 0 ? "0.0" : value < 0.001 ? value.toExponential(1).replace("-", "−") : said(value, 3));

/** Where the word is chosen; `follow` takes up the words of a translation, `offer` what was found. */
export function form(lang) {
  const place = el("select", { id: "mask-place", lang, on: { change: () =>
    set({ p: Number(place.value), w: "" }, { quiet: true }) } });
  const word = el("input", { id: "mask-word", lang, maxlength: 60, autocomplete: "off", spellcheck: "false",
    "aria-describedby": "mask-problem" });
  const problem = el("p", { id: "mask-problem", class: "problem", role: "alert" });
  const offered = el("p", { class: "mask-offered" });
  const node = el("form", { class: "mask-form", on: { submit: (event) => {
    event.preventDefault();
    set({ w: word.value.normalize("NFC").trim() });
  } } },
  el("label", { class: "field" }, el("span", {}, say("mask_place")), place),
  el("label", { class: "field" }, el("span", {}, say("mask_to")), word),
  el("button", { type: "submit", class: "main" }, say("mask_try")), problem, offered);

  const chips = (words) => words.map((one) => el("button", { type: "button", lang, "aria-pressed": one === state.w,
    on: { click: () => set({ w: one }, { quiet: true }) } }, one));

  /** @param {{text: string}[]} told @param {number} chosen counted from 1 */
  function follow(told, chosen) {
    fill(place, ...told.slice(1).map((token, at) => el("option", { value: at + 1, selected: at + 1 === chosen },
      `${at + 1} · ${token.text}`)));
    word.value = state.w;
  }

  function offer(found) {
    const refused = "near" in found;
    word.setAttribute("aria-invalid", String(refused));
    fill(problem, refused ? say(found.there ? "mask_there" : "mask_unknown", found.word) : "");
    const focused = offered.contains(document.activeElement) && document.activeElement.textContent;
    fill(offered, !refused && el("span", { class: "quiet" }, say("mask_offered")),
      ...chips(refused ? found.near : found.choices));
    [...offered.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
    if (!refused) word.placeholder = found.now;
  }
  return { node, follow, offer };
}

/** Whether anything before the changed word moved, in words. */
export function verdict(found) {
  const past = vector(found.moved).slice(0, found.place);
  const most = Math.max(...past);
  if (most > 0) return { tight: false, words: say("mask_leaks", exact(most)) };
  return { tight: true, words: say(past.length === 1 ? "mask_tight_one" : "mask_tight", past.length) };
}

/** What moved, place by place, and the verdict. */
export function moved(found, lang) {
  const values = vector(found.moved);
  const largest = Math.max(...values, 1e-9);
  const { tight, words } = verdict(found);
  const how = !found.switch ? say("mask_none") : say(found.masked ? "mask_on" : "mask_off");
  return [
    el("p", { class: tight ? "mask-verdict tight" : "mask-verdict leaks" },
      el("span", { class: "mask-sign", "aria-hidden": "true" }, tight ? "✓" : "⚠"), words),
    el("div", { class: "picture", role: "region", tabindex: "0", "aria-label": say("mask_leak") },
      el("table", { class: "numbers mask-table" },
        el("caption", {}, say("mask_caption", how, found.was, found.now)),
        el("thead", {}, el("tr", {}, ...["place", "told", "moved", "says"].map((key) =>
          el("th", { scope: "col" }, say(`mask_column_${key}`))))),
        part(found, values, largest, 0, found.place, lang),
        part(found, values, largest, found.place, values.length, lang))),
  ];
}

/** The places before the change, or those from it on, under a line of their own. */
function part(found, values, largest, first, last, lang) {
  const past = first === 0;
  const lines = values.slice(first, last).map((value, index) => {
    const at = first + index;
    const told = at === found.place
      ? [el("del", {}, found.was), " → ", el("ins", {}, found.now)] : [found.told[at]];
    const says = found.said[at] === found.then[at] ? [text(found.said[at], lang)]
      : [text(found.said[at], lang), " → ", text(found.then[at], lang)];
    return el("tr", { class: past && value > 0 ? "leaks" : "" }, el("td", {}, String(at)),
      el("th", { scope: "row", lang }, ...told),
      el("td", { class: "mask-moved", "data-value": value }, el("span", { class: "number" }, exact(value)),
        el("span", { class: "mask-bar", style: { width: `${Math.round((48 * value) / largest)}px` } })),
      el("td", {}, ...says));
  });
  return el("tbody", { class: past ? "mask-past" : "mask-rest" },
    el("tr", {}, el("th", { colspan: 4, scope: "rowgroup", class: "mask-group" }, say(past ? "mask_before" : "mask_from"))),
    ...lines);
}
