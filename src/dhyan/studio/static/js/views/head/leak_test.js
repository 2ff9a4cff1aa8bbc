/** Leak test: form to change a token, and a table of output changes by position. */

import { el, setChildren, text } from "../../dom.js";
import { formatNumber, vector } from "../../numbers.js";
import { state, set } from "../../state.js";
import { message } from "../../messages.js";

const formatExact = (value) => (value === 0 ? "0.0" : value < 0.001 ? value.toExponential(1).replace("-", "−") : formatNumber(value, 3));

/** The form; `setTokens` lists the positions, `showSuggestions` the words of a response. */
export function leakForm() {
  let lang = ""; // of the translation
  const positionSelect = el("select", { id: "mask-position", on: { change: () =>
    set({ position: Number(positionSelect.value), word: "" }, { replace: true }) } });
  const wordInput = el("input", { id: "mask-word", maxlength: 60, autocomplete: "off", spellcheck: "false",
    "aria-describedby": "mask-error" });
  const problem = el("p", { id: "mask-error", class: "error", role: "alert" });
  const suggestions = el("p", { class: "mask-suggestions" });
  const node = el("form", { class: "mask-form", on: { submit: (event) => {
    event.preventDefault();
    set({ word: wordInput.value.normalize("NFC").trim() });
  } } },
  el("label", { class: "field" }, el("span", {}, message("mask_position")), positionSelect),
  el("label", { class: "field" }, el("span", {}, message("mask_to")), wordInput),
  el("button", { type: "submit", class: "primary" }, message("mask_test")), problem, suggestions);

  const chips = (words) => words.map((word) => el("button", { type: "button", lang, "aria-pressed": word === state.word,
    on: { click: () => set({ word }, { replace: true }) } }, word));

  /** @param {{text: string}[]} tokens @param {number} position counted from 1 @param {string} language */
  function setTokens(tokens, position, language) {
    lang = positionSelect.lang = wordInput.lang = language;
    setChildren(positionSelect, ...tokens.slice(1).map((token, index) => el("option", { value: index + 1, selected: index + 1 === position },
      `${index + 1} · ${token.text}`)));
    wordInput.value = state.word;
  }

  function showSuggestions(response) {
    const refused = "suggestions" in response;
    wordInput.setAttribute("aria-invalid", String(refused));
    setChildren(problem, refused ? message(response.unchanged ? "mask_unchanged" : "mask_unknown", response.word) : "");
    const focused = suggestions.contains(document.activeElement) && document.activeElement?.textContent;
    setChildren(suggestions, !refused && el("span", { class: "muted" }, message("mask_suggestions")),
      ...chips(refused ? response.suggestions : response.alternatives));
    [...suggestions.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
    if (!refused) wordInput.placeholder = response.new_token;
  }
  return { node, setTokens, showSuggestions };
}

/** Whether any output before the changed token changed. */
export function verdict(response) {
  const earlier = vector(response.max_change).slice(0, response.position);
  const largest = Math.max(...earlier);
  if (largest > 0) return { passed: false, text: message("mask_leak_found", formatExact(largest)) };
  return { passed: true, text: message(earlier.length === 1 ? "mask_no_leak_one" : "mask_no_leak", earlier.length) };
}

/** Output changes by position, and the verdict; `reference` are the next words with the mask, where it was removed.
 * @param {any} response @param {string} lang @param {string[]} [reference] */
export function leakTable(response, lang, reference) {
  const values = vector(response.max_change);
  const largest = Math.max(...values, 1e-9);
  const { passed, text: verdictText } = verdict(response);
  const maskLabel = !response.has_mask ? message("mask_none") : message(response.masked ? "mask_on" : "mask_off");
  const different = reference?.filter((token, position) => token !== response.next_tokens[position]).length ?? 0;
  return [
    reference && el("p", {}, message("mask_without", different, reference.length)),
    el("p", { class: passed ? "mask-verdict no-leak" : "mask-verdict leak" },
      el("span", { class: "mask-icon", "aria-hidden": "true" }, passed ? "✓" : "⚠"), verdictText),
    el("div", { class: "picture", role: "region", tabindex: "0", "aria-label": message("mask_leak") },
      el("table", { class: "numbers mask-table" },
        el("caption", {}, message("mask_caption", maskLabel, response.old_token, response.new_token)),
        el("thead", {}, el("tr", {}, ...["position", "input", "change", ...(reference ? ["reference", "without"] : ["next"])].map((key) =>
          el("th", { scope: "col" }, message(`mask_column_${key}`))))),
        positionGroup(response, values, largest, 0, response.position, lang, reference),
        positionGroup(response, values, largest, response.position, values.length, lang, reference))),
  ];
}

/** The positions before the change, or from it on. */
function positionGroup(response, values, largest, first, last, lang, reference) {
  const earlier = first === 0;
  const rows = values.slice(first, last).map((value, index) => {
    const position = first + index;
    const inputCell = position === response.position
      ? [el("del", {}, response.old_token), " → ", el("ins", {}, response.new_token)] : [response.decoder_input[position]];
    const outputCell = response.next_tokens[position] === response.changed_next_tokens[position] ? [text(response.next_tokens[position], lang)]
      : [text(response.next_tokens[position], lang), " → ", text(response.changed_next_tokens[position], lang)];
    return el("tr", { class: earlier && value > 0 ? "leak" : "" }, el("td", {}, String(position)),
      el("th", { scope: "row", lang }, ...inputCell),
      el("td", { class: "mask-change", "data-value": value }, el("span", { class: "number" }, formatExact(value)),
        el("span", { class: "mask-bar", style: { width: `${Math.round((48 * value) / largest)}px` } })),
      reference && el("td", { class: reference[position] === response.next_tokens[position] ? "" : "mask-different" }, text(reference[position], lang)),
      el("td", {}, ...outputCell));
  });
  return el("tbody", { class: earlier ? "mask-before" : "mask-after" },
    el("tr", {}, el("th", { colspan: reference ? 5 : 4, scope: "rowgroup", class: "mask-group" }, message(earlier ? "mask_before" : "mask_after"))),
    ...rows);
}
