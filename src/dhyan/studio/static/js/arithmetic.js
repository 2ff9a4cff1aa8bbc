/**
 * Arithmetic dialog: the sum of products behind a number, term by term.
 *
 *   openSum({ title: "q₃ of bank", terms: [[x1, w1], [x2, w2]], symbols: ["x", "W"], total, modelValue })
 *
 * recomputes the sum and shows its difference from the model's value. A term may have
 * one factor; `addends` lists further ones ({symbol, value}), `transform` is a function of the sum
 * ({symbol, value}: this value is compared with the model instead of the sum).
 */

import { el, svg, setChildren } from "./dom.js";
import { agreementBadge } from "./agreement.js";
import { formatNumber, sum } from "./numbers.js";
import { linearScale } from "./scales.js";
import { message } from "./messages.js";
import { strip, maxAbs } from "./vector_strips.js";
import { signedColor, textColor } from "./colors.js";

const LARGEST_FIRST = "size";

/**
 * @typedef {object} Sum
 * @property {string} title
 * @property {Node} [formula] MathML of the rule
 * @property {number[][]} terms one or two factors each
 * @property {string[]} symbols of the factors
 * @property {string[]} [termLabels] label of each term (a word) instead of its number
 * @property {{symbol: string, value: number}[]} [addends]
 * @property {{symbol: string, value: number}} [transform]
 * @property {number} [total] the sum, where already computed
 * @property {number} [modelValue] the model's value
 * @property {(term: number, factor: number) => Sum | null} [origin] the sum that a factor comes from
 * @property {{label: string | Node, values: number[], ariaLabel: string, selected: number, onSelect: (index: number) => Sum}} [vector]
 *   the vector that contains the number; another element may be selected
 */

/** Open the dialog; Esc, its button or a click outside closes it. @param {Sum} spec */
export function openSum(spec) {
  const body = el("div", { class: "sum-body" });
  const dialog = el("dialog", { class: "sum", "aria-labelledby": "sum-title", on: {
    close: () => dialog.remove(),
    click: (event) => { if (event.target === dialog) dialog.close(); },
  } }, body);
  let order = "";
  /** @type {Sum[]} */
  const trail = []; // the sums that led to the one shown

  /** @param {Sum} current */
  function show(current, { refocus = false } = {}) {
    const open = (/** @type {Sum} */ origin) => {
      trail.push(current);
      show(origin);
      body.querySelector("button")?.focus();
    };
    const { vector } = current;
    const back = () => {
      show(/** @type {Sum} */ (trail.pop()));
      body.querySelector("button")?.focus();
    };
    setChildren(body,
      heading(current.title, () => dialog.close()),
      trail.length > 0 && el("button", { type: "button", class: "sum-back", on: { click: back } }, `← ${trail[trail.length - 1].title}`),
      current.formula && el("p", { class: "sum-formula", lang: "en" }, current.formula),
      vector && strip({ ...vector, onOpen: (index) => show(vector.onSelect(index), { refocus: true }) }),
      resultLine(current), runningTotal(current),
      current.terms.length > 1 && sorting(current),
      termTable(current, order, open));
    if (refocus) body.querySelector(".strip-cell.selected")?.focus();
  }

  function sorting(current) {
    const choose = (value) => el("button", { type: "button", "aria-pressed": order === value,
      on: { click: () => { order = value; show(current); body.querySelector(".sum-order [aria-pressed=true]")?.focus(); } } },
    message(value ? "sum_size" : "sum_order"));
    return el("div", { class: "sum-order", role: "group", "aria-label": message("sum_sorting") },
      el("span", { class: "muted" }, message("sum_terms", current.terms.length)), choose(""), choose(LARGEST_FIRST));
  }

  show(spec);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Dialog with a whole vector that the page does not recompute.
 * @param {{title: string, text: string, label: string | Node, values: number[], ariaLabel: string}} spec
 */
export function openVector({ title, text, label, values, ariaLabel }) {
  const dialog = el("dialog", { class: "sum", "aria-labelledby": "sum-title", on: {
    close: () => dialog.remove(),
    click: (event) => { if (event.target === dialog) dialog.close(); },
  } }, el("div", { class: "sum-body" }, heading(title, () => dialog.close()), el("p", {}, text),
    strip({ label, values, ariaLabel, visibleCount: values.length })));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

const heading = (title, close) => el("header", {}, el("h2", { id: "sum-title" }, title),
  el("button", { type: "button", class: "sum-close", "aria-label": message("close"), on: { click: close } }, "×"));

/** A number of any size: fixed-point where it has significant digits, else 5.83e12 or 1.70e−11. */
function formatAny(value, digits) {
  const size = Math.abs(value);
  if (size < 1e6 && (size === 0 || size >= 10 ** (1 - digits))) return formatNumber(value, digits);
  return Number.isFinite(value) ? value.toExponential(digits - 2).replaceAll("-", "−").replace("+", "") : formatNumber(value);
}

const productOf = (term) => term.reduce((total, factor) => total * factor, 1);
const totalOf = (current) => current.total ?? sum(current.terms.map(productOf)) + sum((current.addends ?? []).map((addend) => addend.value));

/** One line: the sum, the function of it, the model's value and the difference. */
function resultLine(current) {
  const total = totalOf(current);
  const result = current.transform ? current.transform.value : total;
  const parts = [el("div", {}, el("dt", {}, "Σ"), el("dd", { class: "number" }, formatAny(total, 6)))];
  if (current.transform) {
    parts.push(el("div", {}, el("dt", {}, current.transform.symbol), el("dd", { class: "number" }, formatAny(result, 6))));
  }
  if (current.modelValue !== undefined) {
    parts.push(el("div", {}, el("dt", {}, message("sum_model")), el("dd", { class: "number" }, formatAny(current.modelValue, 6))));
  }
  const { modelValue } = current;
  return el("div", { class: "sum-result" }, el("dl", {}, ...parts),
    modelValue !== undefined && agreementBadge(modelValue === result ? 0 : Math.abs(result - modelValue), maxAbs([modelValue, result], current.transform ? [] : current.terms.map(productOf))));
}

/** The running total as a line chart. */
function runningTotal(current) {
  const steps = [0];
  for (const term of current.terms) steps.push(steps.at(-1) + productOf(term));
  for (const addend of current.addends ?? []) steps.push(steps.at(-1) + addend.value);
  if (steps.length < 4) return null;
  const [low, high] = [Math.min(...steps), Math.max(...steps)];
  const [width, height, edge] = [640, 72, 6];
  const { at: x } = linearScale([0, steps.length - 1], [edge, width - edge]);
  const { at: y } = linearScale([low, high], [height - edge, edge]);
  return svg("svg", { class: "sum-chart", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": message("sum_chart") },
  svg("line", { class: "sum-zero", x1: x(0), x2: x(steps.length - 1), y1: y(0), y2: y(0) }),
  svg("polyline", { class: "sum-line", points: steps.map((value, index) => `${x(index)},${y(value)}`).join(" ") }),
  svg("circle", { class: "sum-dot", cx: x(steps.length - 1), cy: y(steps.at(-1)), r: 4 }));
}

/** A table row per term: factors, product, running total. */
function termTable(current, order, open) {
  const lines = current.terms.map((term, index) => ({ term, at: index, product: productOf(term) }));
  if (order === LARGEST_FIRST) lines.sort((a, b) => Math.abs(b.product) - Math.abs(a.product));
  const largest = maxAbs(lines.map((line) => line.product));
  const pair = current.symbols.length > 1;
  let total = 0;
  /** A number that opens the sum it comes from. */
  const linked = (number, origin) => (origin ? el("button", { type: "button", class: "sum-origin", title: message("sum_origin", origin.title),
    on: { click: () => open(origin) } }, number) : number);
  /** @param {string} name @param {(number | null)[]} factors @param {number} product @param {(factor: number) => Sum | null | undefined} [origin] */
  const line = (name, factors, product, origin) => {
    total += product;
    const background = signedColor(product, largest);
    return el("tr", {}, el("th", { scope: "row" }, name),
      ...factors.map((factor, position) => el("td", {}, factor === null ? "" : linked(formatAny(factor, 4), origin?.(position)))),
      pair && el("td", {}, el("span", { class: "sum-product", style: { background, color: textColor(background) } }, formatAny(product, 4))),
      el("td", {}, formatAny(total, 4)));
  };
  const blank = current.symbols.map(() => null);
  return el("div", { class: "sum-terms", tabindex: 0, role: "region", "aria-label": message("sum_table") },
    el("table", { class: "numbers" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "k"),
        ...current.symbols.map((symbol) => el("th", { scope: "col" }, symbol)),
        pair && el("th", { scope: "col" }, current.symbols.join(" · ")),
        el("th", { scope: "col" }, message("sum_running")))),
      el("tbody", {}, ...lines.map(({ term, at: index, product }) => line(current.termLabels?.[index] ?? String(index + 1), term, product, (factor) => current.origin?.(index, factor))),
        ...(current.addends ?? []).map((addend) => line(`+ ${addend.symbol}`, pair ? blank : [addend.value], addend.value)))));
}
