/**
 * Where a number comes from: the sum of products behind it, written out term by term in a dialog.
 *
 *   openSum({ title: "q₃ of bank", terms: [[x1, w1], [x2, w2]], symbols: ["x", "W"], total, model })
 *
 * adds the terms up again and says how far the sum is from the model's own number. A term may have
 * one factor; `plus` are further numbers added ({symbol, value}), `then` is what is made of the sum
 * ({symbol, value}: value is compared with the model instead of the sum).
 */

import { el, svg, fill } from "./dom.js";
import { formatNumber, sum, formatTiny } from "./numbers.js";
import { message, addMessages } from "./messages.js";
import { strip, mostOf } from "./vector_strips.js";
import { signed, ink } from "./colors.js";

const CLOSE = 1e-5; // of their size; models compute in single precision, the page in double
const LARGEST_FIRST = "size";

addMessages({
  sum_agrees: ["agrees with the model to {0}", "मॉडल से {0} तक मेल खाता है"],
  sum_exact: ["agrees with the model to the last bit", "मॉडल से अंतिम बिट तक मेल खाता है"],
  sum_differs: ["differs from the model by {0}", "मॉडल से {0} का अंतर है"],
  sum_terms: ["{0} terms", "{0} पद"],
  sum_order: ["in order", "क्रम से"],
  sum_size: ["largest first", "सबसे बड़े पहले"],
  sum_running: ["running total", "अब तक का योग"],
  sum_model: ["in the model", "मॉडल में"],
  sum_path: ["How the total grows, term by term", "पद-दर-पद योग कैसे बढ़ता है"],
  sum_table: ["The terms of the sum", "योग के पद"],
  sum_sorting: ["Order of the terms", "पदों का क्रम"],
});

/**
 * Whether a difference is only rounding, and a sentence about it.
 * @param {number} difference @param {number} [size] of the largest number that was added
 */
export function agreement(difference, size = 1) {
  const same = difference <= CLOSE * Math.max(1, size);
  const key = difference === 0 ? "sum_exact" : same ? "sum_agrees" : "sum_differs";
  return { same, words: message(key, formatTiny(difference)) };
}

/** The same as a small badge; not by colour alone. */
export function badge(difference, size = 1) {
  const { same, words } = agreement(difference, size);
  return el("span", { class: `badge ${same ? "same" : "other"}` },
    el("span", { "aria-hidden": "true" }, same ? "✓ " : "≠ "), words);
}

/**
 * @typedef {object} Sum
 * @property {string} title
 * @property {Node} [formula] MathML of the rule
 * @property {number[][]} terms one or two factors each
 * @property {string[]} symbols of the factors
 * @property {string[]} [names] what each term belongs to (a word), instead of its number
 * @property {{symbol: string, value: number}[]} [plus]
 * @property {{symbol: string, value: number}} [then]
 * @property {number} [total] the sum, if it is known already
 * @property {number} [model] the model's own number
 * @property {{label: string | Node, values: number[], about: string, at: number, choose: (place: number) => Sum}} [vector]
 *   the vector the number stands in: another of its numbers may be chosen
 */

/** Open the dialog; it closes by Esc, its button or a click outside. @param {Sum} asked */
export function openSum(asked) {
  const body = el("div", { class: "sum-body" });
  const dialog = el("dialog", { class: "sum", "aria-labelledby": "sum-title", on: {
    close: () => dialog.remove(),
    click: (event) => { if (event.target === dialog) dialog.close(); },
  } }, body);
  let order = "";

  function show(now, { refocus = false } = {}) {
    fill(body,
      heading(now.title, () => dialog.close()),
      now.formula && el("p", { class: "sum-formula", lang: "en" }, now.formula),
      now.vector && strip({ ...now.vector, open: (place) => show(now.vector.choose(place), { refocus: true }) }),
      result(now), path(now),
      now.terms.length > 1 && sorting(now),
      terms(now, order));
    if (refocus) body.querySelector(".strip-cell.here")?.focus();
  }

  function sorting(now) {
    const choose = (value) => el("button", { type: "button", "aria-pressed": order === value,
      on: { click: () => { order = value; show(now); body.querySelector(".sum-order [aria-pressed=true]").focus(); } } },
    message(value ? "sum_size" : "sum_order"));
    return el("div", { class: "sum-order", role: "group", "aria-label": message("sum_sorting") },
      el("span", { class: "quiet" }, message("sum_terms", now.terms.length)), choose(""), choose(LARGEST_FIRST));
  }

  show(asked);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * A vector that nothing was computed for here: in full, with a sentence about it.
 * @param {{title: string, words: string, label: string | Node, values: number[], about: string}} asked
 */
export function openVector({ title, words, label, values, about }) {
  const dialog = el("dialog", { class: "sum", "aria-labelledby": "sum-title", on: {
    close: () => dialog.remove(),
    click: (event) => { if (event.target === dialog) dialog.close(); },
  } }, el("div", { class: "sum-body" }, heading(title, () => dialog.close()), el("p", {}, words),
    strip({ label, values, about, shown: values.length })));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

const heading = (title, close) => el("header", {}, el("h2", { id: "sum-title" }, title),
  el("button", { type: "button", class: "sum-close", "aria-label": message("close"), on: { click: close } }, "×"));

/** A number of any size: plain where that says something, 5.83e12 or 1.70e−11 where not. */
function written(value, digits) {
  const size = Math.abs(value);
  if (size < 1e6 && (size === 0 || size >= 10 ** (1 - digits))) return formatNumber(value, digits);
  return Number.isFinite(value) ? value.toExponential(digits - 2).replaceAll("-", "−").replace("+", "") : formatNumber(value);
}

const product = (term) => term.reduce((total, one) => total * one, 1);
const whole = (now) => now.total ?? sum(now.terms.map(product)) + sum((now.plus ?? []).map((addend) => addend.value));

/** The number in one line: what was added, what was made of it, and how far the model's is. */
function result(now) {
  const total = whole(now);
  const found = now.then ? now.then.value : total;
  const parts = [el("div", {}, el("dt", {}, "Σ"), el("dd", { class: "number" }, written(total, 6)))];
  if (now.then) {
    parts.push(el("div", {}, el("dt", {}, now.then.symbol), el("dd", { class: "number" }, written(found, 6))));
  }
  if (now.model !== undefined) {
    parts.push(el("div", {}, el("dt", {}, message("sum_model")), el("dd", { class: "number" }, written(now.model, 6))));
  }
  const size = now.model !== undefined && mostOf([now.model, found], now.then ? [] : now.terms.map(product));
  return el("div", { class: "sum-result" }, el("dl", {}, ...parts),
    now.model !== undefined && badge(now.model === found ? 0 : Math.abs(found - now.model), size));
}

/** The running total as a line: where the number is made. */
function path(now) {
  const steps = [0];
  for (const term of now.terms) steps.push(steps.at(-1) + product(term));
  for (const addend of now.plus ?? []) steps.push(steps.at(-1) + addend.value);
  if (steps.length < 4) return null;
  const [low, high] = [Math.min(...steps), Math.max(...steps)];
  const [wide, tall, edge] = [640, 72, 6];
  const x = (at) => edge + (at / (steps.length - 1)) * (wide - 2 * edge);
  const y = (value) => tall - edge - ((value - low) / (high - low || 1)) * (tall - 2 * edge);
  return svg("svg", { class: "sum-path", viewBox: `0 0 ${wide} ${tall}`, role: "img",
    "aria-label": message("sum_path") },
  svg("line", { class: "sum-zero", x1: x(0), x2: x(steps.length - 1), y1: y(0), y2: y(0) }),
  svg("polyline", { class: "sum-line", points: steps.map((value, index) => `${x(index)},${y(value)}`).join(" ") }),
  svg("circle", { class: "sum-dot", cx: x(steps.length - 1), cy: y(steps.at(-1)), r: 4 }));
}

/** Every term on a line: its factors, its product, the total so far. */
function terms(now, order) {
  const lines = now.terms.map((term, index) => ({ term, at: index, made: product(term) }));
  if (order === LARGEST_FIRST) lines.sort((a, b) => Math.abs(b.made) - Math.abs(a.made));
  const most = mostOf(lines.map((line) => line.made));
  const pair = now.symbols.length > 1;
  let total = 0;
  const line = (name, factors, made) => {
    total += made;
    const ground = signed(made, most);
    return el("tr", {}, el("th", { scope: "row" }, name),
      ...factors.map((factor) => el("td", {}, factor === null ? "" : written(factor, 4))),
      pair && el("td", {}, el("span", { class: "sum-made", style: { background: ground, color: ink(ground) } }, written(made, 4))),
      el("td", {}, written(total, 4)));
  };
  const blank = now.symbols.map(() => null);
  return el("div", { class: "sum-terms", tabindex: 0, role: "region", "aria-label": message("sum_table") },
    el("table", { class: "numbers" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "k"),
        ...now.symbols.map((symbol) => el("th", { scope: "col" }, symbol)),
        pair && el("th", { scope: "col" }, now.symbols.join(" · ")),
        el("th", { scope: "col" }, message("sum_running")))),
      el("tbody", {}, ...lines.map(({ term, at, made }) => line(now.names?.[at] ?? String(at + 1), term, made)),
        ...(now.plus ?? []).map((addend) => line(`+ ${addend.symbol}`, pair ? blank : [addend.value], addend.value)))));
}
