/** Side panel: context of the selected word, and its alternatives. */

import { el, setChildren, text } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { hasServer, set } from "../../state.js";
import { message } from "../../messages.js";
import { ranked } from "./attention_view.js";

const RUNNERS = 3;
const NAMED = 3; // largest terms of a sum that are written out

/** Panel of a target word: its context and the most probable tokens. */
export function rowPanel(view, trace, row) {
  const unit = view.rows[row];
  return [
    el("div", { class: "side-part" },
      el("h2", { class: "side-title" }, text(unit.text, unit.lang), unit.subtitle && el("span", { class: "muted" }, unit.subtitle),
        el("span", { class: "muted" }, message("translate_step", row + 1, view.rows.length))),
      ...(view.pictured ? [] : view.attends ? [el("h3", {}, message("translate_context")), contextBar(view, row)] : [el("p", {}, message(view.tables.length ? "translate_from_vector" : "no_attention"))]),
      view.attends && !view.pictured && view.symbols && el("p", { class: "context-sum" }, ...contextSum(view, row))),
    el("div", { class: "side-part" },
      el("h3", {}, message("alternatives")),
      ...unit.tokens.flatMap((step) => [unit.tokens.length > 1 && el("h4", {}, text(trace.target.tokens[step].text, unit.lang)), topTokens(trace, step, unit)]),
      hasServer() && el("p", { class: "muted" }, message("translate_alternatives_text"))),
  ];
}

/** Panel of a source word: a form to change it, and the target words that attend to it.
 * @param {any} view @param {number} column @param {HTMLElement | null} swap */
export function columnPanel(view, column, swap) {
  const unit = view.columns[column];
  if (!view.attends) {
    return [el("div", { class: "side-part" }, el("h2", { class: "side-title" }, text(unit.text, unit.lang)),
      swap, el("p", {}, message(view.tables.length ? "translate_in_vector" : "no_attention", unit.text)))];
  }
  const weights = view.values.map((values) => values[column]);
  const best = ranked(weights).slice(0, 6).filter(([, value]) => value >= 0.005);
  return [el("div", { class: "side-part" },
    el("h2", { class: "side-title" }, text(unit.text, unit.lang)), swap,
    el("h3", {}, message("translate_attended_by")),
    el("ol", { class: "top-tokens" }, ...best.map(([row, value]) => el("li", { class: "top-token" },
      text(view.rows[row].text, view.rows[row].lang), bar(value), el("span", { class: "number" }, formatNumber(value))))),
    el("p", { class: "muted" }, message("translate_total", formatNumber(weights.reduce((a, b) => a + b, 0), 2))))];
}

/** Stacked bar of the attention weights. */
function contextBar(view, row) {
  const { weights, columns } = contextOf(view, row);
  const largest = ranked(weights).slice(0, NAMED).map(([index, value]) => `${columns[index].text} ${formatNumber(value)}`);
  return el("div", { class: "context-bar", role: "img",
    "aria-label": message("translate_bar", view.rows[row].text, largest.join(", ")) },
  ...weights.map((value, index) => value >= 0.01 && el("span", {
    class: `context-part hue-${columns[index].special ? "none" : index % 8}`, lang: columns[index].lang,
    title: `${columns[index].text} ${formatNumber(value)}`, style: { "flex-grow": String(value) } },
  value >= 0.15 ? columns[index].text : "")));
}

/** All weights of a row with their columns, the hidden tokens last. */
function contextOf({ values, columns, hidden }, row) {
  if (!hidden) return { weights: values[row], columns };
  return { weights: [...values[row], hidden.weights[row]], columns: [...columns, { text: hidden.text, lang: "en", special: true }] };
}

/** c₃ = .94 h(astronomer) + …; one head sums values v; an average of heads has no such sum. */
function contextSum(view, row) {
  const [sumSymbol, vectorSymbol] = view.symbols;
  const { weights, columns } = contextOf(view, row);
  const order = ranked(weights);
  const rest = order.slice(NAMED).reduce((total, [, value]) => total + value, 0);
  const parts = order.slice(0, NAMED).filter(([, value]) => value >= 0.005).flatMap(([index, value], turn) =>
    [turn ? " + " : "", el("span", { class: "number" }, formatNumber(value, 2, { weight: true })), " ",
      el("i", {}, vectorSymbol), el("sub", { lang: columns[index].lang }, columns[index].text)]);
  const remainder = rest >= 0.005 ? [" + ", el("span", { class: "number" }, formatNumber(rest, 2, { weight: true })), ` ${message("translate_rest")}`] : [];
  return [el("i", {}, sumSymbol), el("sub", {}, String(row + 1)), " = ", ...parts, ...remainder];
}

const bar = (value) => el("span", { class: "prob-bar", "aria-hidden": "true" },
  el("span", { style: { width: `${100 * Math.min(value, 1)}%` } }));

/** The most probable tokens of a step; choosing one forces it as a prefix. */
function topTokens(trace, step, { lang }, { short = false } = {}) {
  const token = trace.target.tokens[step];
  return el("ol", { class: short ? "top-tokens short" : "top-tokens" }, ...trace.steps[step].top_tokens.map(([word, prob]) => {
    const generated = word === token.text;
    const inside = [el("span", { lang, class: "token-text" }, word), bar(prob), el("span", { class: "number" }, percent(prob))];
    if (generated || !hasServer() || /^<.*>$/.test(word)) return el("li", {}, el("span", { class: `top-token${generated ? " generated" : ""}` }, ...inside));
    return el("li", {}, el("button", { type: "button", class: "top-token", "aria-label": message("translate_force", word, formatNumber(prob)),
      on: { click: () => set({ prefix: prefixWith(trace, step, word), pinned: 0 }) } }, ...inside));
  }));
}

/** The tokens that come next to the chosen one, at the first step of a word. @returns {[string, number][]} */
export function runnersUp(trace, { tokens: [step] }) {
  return trace.steps[step].top_tokens.filter(([text]) => text !== trace.target.tokens[step].text).slice(0, RUNNERS);
}

/** Probabilities too small for fixed-point are written with an exponent. */
const percent = (prob) => (prob >= 0.0005 ? formatNumber(prob) : prob > 0 ? prob.toExponential(0).replace("-", "−") : "0");

/** Prefix: the translation before a step, then another token. */
function prefixWith(trace, step, word) {
  const { tokens, words } = trace.target;
  const wordIndex = tokens[step].word;
  const first = tokens.findIndex((token) => token.word === wordIndex);
  let end = 0;
  for (const earlier of words.slice(0, wordIndex)) {
    const start = trace.translation.indexOf(earlier, end);
    end = start < 0 ? end : start + earlier.length;
  }
  const wordPrefix = tokens.slice(first, step).map((token) => token.text).join("");
  return `${trace.translation.slice(0, end)} ${wordPrefix}${word}`.trim();
}

/** Expandable list of all steps with their five most probable tokens. */
export function allSteps(trace, view) {
  const box = el("details", { class: "all-steps" }, el("summary", {}, message("translate_all_steps")));
  const steps = el("ol", { class: "all-steps-list" });
  box.addEventListener("toggle", () => {
    if (!box.open || steps.children.length) return;
    setChildren(steps, view.rows.flatMap((row) => row.tokens.map((index) => el("li", {},
      el("b", { lang: row.lang }, trace.target.tokens[index].text), topTokens(trace, index, row, { short: true })))));
  });
  box.append(el("div", { class: "all-steps-box", tabindex: 0, role: "region", "aria-label": message("translate_all_steps") }, steps));
  return box;
}
