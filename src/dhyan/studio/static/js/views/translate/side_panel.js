/** What went into the word that is looked at, and what else might have been said there. */

import { el, fill, text } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { set } from "../../state.js";
import { message } from "../../messages.js";
import { ranked } from "./attention_view.js";

const NAMED = 3; // words of a sum that are named

/** Side panel of a row: its context, and the likeliest words. */
export function ofRow(seen, trace, row) {
  const own = seen.rows[row];
  return [
    el("div", { class: "side-part" },
      el("h2", { class: "side-title" }, text(own.text, own.lang), own.under && el("span", { class: "quiet" }, own.under),
        el("span", { class: "quiet" }, message("translate_step", row + 1, seen.rows.length))),
      el("h3", {}, message("translate_mixed")),
      contextBar(seen, row),
      seen.symbols && el("p", { class: "context-sum" }, ...summed(seen, row))),
    el("div", { class: "side-part" },
      el("h3", {}, message("alternatives")),
      ...own.tokens.map((at) => topTokens(trace, at, own)),
      el("p", { class: "quiet" }, message("translate_instead"))),
  ];
}

/** Side panel of a column: the words that a word of the sentence went into. */
export function ofColumn(seen, column) {
  const own = seen.columns[column];
  const line = seen.values.map((values) => values[column]);
  const best = ranked(line).slice(0, 6).filter(([, value]) => value >= 0.005);
  return [el("div", { class: "side-part" },
    el("h2", { class: "side-title" }, text(own.text, own.lang)),
    el("h3", {}, message("translate_used")),
    el("ol", { class: "chances" }, ...best.map(([row, value]) => el("li", { class: "chance" },
      text(seen.rows[row].text, seen.rows[row].lang), bar(value), el("span", { class: "number" }, formatNumber(value))))),
    el("p", { class: "quiet" }, message("translate_total", formatNumber(line.reduce((a, b) => a + b, 0), 2))))];
}

/** How much of every source word, side by side. */
function contextBar(seen, row) {
  const line = seen.values[row];
  const told = ranked(line).slice(0, NAMED).map(([at, value]) => `${seen.columns[at].text} ${formatNumber(value)}`);
  return el("div", { class: "context-bar", role: "img",
    "aria-label": message("translate_bar", seen.rows[row].text, told.join(", ")) },
  ...line.map((value, at) => value >= 0.01 && el("span", {
    class: `context-part hue-${seen.columns[at].special ? "none" : at % 8}`, lang: seen.columns[at].lang,
    title: `${seen.columns[at].text} ${formatNumber(value)}`, style: { "flex-grow": String(value) } },
  value >= 0.15 ? seen.columns[at].text : "")));
}

/** c₃ = .94 h(astronomer) + …; a head sums values v, and a summary of heads is no such sum. */
function summed(seen, row) {
  const [whole, part] = seen.symbols;
  const order = ranked(seen.values[row]);
  const rest = order.slice(NAMED).reduce((total, [, value]) => total + value, 0);
  const parts = order.slice(0, NAMED).filter(([, value]) => value >= 0.005).flatMap(([at, value], turn) =>
    [turn ? " + " : "", el("span", { class: "number" }, formatNumber(value, 2, { weight: true })), " ",
      el("i", {}, part), el("sub", { lang: seen.columns[at].lang }, seen.columns[at].text)]);
  const left = rest >= 0.005 ? [" + ", el("span", { class: "number" }, formatNumber(rest, 2, { weight: true })), ` ${message("translate_rest")}`] : [];
  return [el("i", {}, whole), el("sub", {}, String(row + 1)), " = ", ...parts, ...left];
}

const bar = (value) => el("span", { class: "chance-bar", "aria-hidden": "true" },
  el("span", { style: { width: `${100 * Math.min(value, 1)}%` } }));

/** The likeliest words at a step; choosing one makes the translation begin with it. */
export function topTokens(trace, at, { lang }, { short = false } = {}) {
  const told = trace.target.tokens[at];
  return el("ol", { class: short ? "chances short" : "chances" }, ...trace.steps[at].top_tokens.map(([word, share]) => {
    const own = word === told.text;
    const inside = [el("span", { lang, class: "chance-word" }, word), bar(share), el("span", { class: "number" }, percent(share))];
    if (own || /^<.*>$/.test(word)) return el("li", {}, el("span", { class: `chance${own ? " own" : ""}` }, ...inside));
    return el("li", {}, el("button", { type: "button", class: "chance", "aria-label": message("translate_force", word, formatNumber(share)),
      on: { click: () => set({ prefix: prefixWith(trace, at, word), pinned: 0 }) } }, ...inside));
  }));
}

/** Shares too small for two places are told in powers of ten. */
const percent = (share) => (share >= 0.0005 ? formatNumber(share) : share > 0 ? share.toExponential(0).replace("-", "−") : "0");

/** The text of the translation before a step, and another word in its place. */
export function prefixWith(trace, at, word) {
  const { tokens, words } = trace.target;
  const own = tokens[at].word;
  const first = tokens.findIndex((token) => token.word === own);
  let end = 0;
  for (const before of words.slice(0, own)) {
    const found = trace.translation.indexOf(before, end);
    end = found < 0 ? end : found + before.length;
  }
  const begun = tokens.slice(first, at).map((token) => token.text).join("");
  return `${trace.translation.slice(0, end)} ${begun}${word}`.trim();
}

/** Every step with its five likeliest, in a box that opens. */
export function everyStep(trace, seen) {
  const box = el("details", { class: "every" }, el("summary", {}, message("translate_every")));
  const steps = el("ol", { class: "every-steps", tabindex: 0, role: "region", "aria-label": message("translate_every") });
  box.addEventListener("toggle", () => {
    if (!box.open || steps.children.length) return;
    fill(steps, seen.rows.flatMap((one) => one.tokens.map((at) => el("li", {},
      el("b", { lang: one.lang }, trace.target.tokens[at].text), topTokens(trace, at, one, { short: true })))));
  });
  box.append(steps);
  return box;
}
