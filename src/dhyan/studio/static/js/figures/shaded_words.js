/** Shaded words: a label with its probability, and the words it was read from, shaded by their attention weights. */

import { el } from "../dom.js";
import { formatNumber } from "../numbers.js";
import { message } from "../messages.js";
import { mark, outputs, roving, shade, SHOWN, wordButton } from "./parts.js";

/** @param {FigureOptions} options @returns {TaskFigure} */
export function drawShadedWords({ trace, view, selected, onFocus, onHover }) {
  const labels = outputs(view);
  const probability = (unit) => Math.exp(unit.tokens.reduce((total, token) => total + trace.steps[token].logprob, 0));
  const title = el("div", { class: "figure-labels", role: "group", "aria-label": message("figure_label") }, ...labels.map((unit) =>
    el("p", { class: "figure-label" }, el("strong", { lang: unit.lang }, unit.text), " ", el("span", { class: "number" }, formatNumber(probability(unit), 2)))));
  const runners = labels.length === 1 ? trace.steps[labels[0].tokens[0]].top_tokens.filter(([text]) => text !== labels[0].text && !/^<.*>$/.test(text)) : [];
  const list = el("ul", { class: "figure-runners", role: "list", "aria-label": message("alternatives") }, ...runners.slice(0, 4).map(([text, prob]) =>
    el("li", {}, el("span", { lang: labels[0].lang }, text), el("span", { class: "prob-bar", "aria-hidden": "true" }, el("span", { style: { width: `${100 * prob}%` } })),
      el("span", { class: "number" }, formatNumber(prob, 2)))));
  const numbers = view.columns.map(() => el("span", { class: "figure-number", "aria-hidden": "true" }));
  const words = view.columns.map((unit, column) => wordButton(unit, "source", column, unit.text, numbers[column]));
  const flow = el("div", { class: "figure-flow shaded", role: "group", "aria-label": message("figure_words") }, ...words);
  const tabs = roving(flow, words, { focus: (column) => onFocus(null, column), hover: (column) => onHover(null, column) });
  let current = Math.min(selected[0], view.rows.length - 1);

  function showRow(row) {
    current = row;
    view.columns.forEach((unit, column) => {
      const weight = view.attends ? view.values[row][column] : null;
      shade(words[column], weight);
      numbers[column].textContent = weight !== null && weight >= SHOWN ? formatNumber(weight, 2, { weight: true }) : "";
      words[column].setAttribute("aria-label", weight === null ? unit.text : `${unit.text}, ${formatNumber(weight, 2)}`);
    });
  }

  const node = el("div", { class: "task-figure" }, el("div", { class: "figure-head" }, title, runners.length > 0 && list), flow,
    el("p", { class: "muted" }, message(view.attends ? "figure_shade" : "no_attention")));
  showRow(current);
  return Object.assign(node, {
    setCrosshair(row, column) {
      if (row !== null) showRow(row);
      mark(words, column);
    },
    setFocus([row, column], { focus }) {
      showRow(row);
      tabs.move(column);
      if (focus) words[column].focus();
    },
    summary() {
      const best = view.attends ? view.values[current].indexOf(Math.max(...view.values[current])) : -1;
      const name = message("figure_label_is", labels.map((unit) => unit.text).join(" "), formatNumber(probability(labels[0] ?? view.rows[0]), 2));
      return best < 0 ? name : `${name} ${message("figure_most_on", view.columns[best].text, formatNumber(view.values[current][best], 2))}`;
    },
  });
}
