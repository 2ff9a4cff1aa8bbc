/** The attention weights of a translation as a table. */

import { el } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { completion, strongest } from "./attention_view.js";

/** @param {object} view @param {(row: number) => void} choose a row is clicked */
export function weightsTable(view, choose) {
  const best = view.values.map((weights) => strongest(weights)[0]);
  return el("div", { class: "weights", role: "region", tabindex: 0, "aria-label": message("translate_table") },
    el("table", { class: "numbers" },
      el("caption", { class: "visually-hidden" }, message("heatmap_label")),
      el("thead", {}, el("tr", {}, el("td"),
        ...view.columns.map((column) => el("th", { scope: "col", lang: column.lang }, column.text)),
        el("th", { scope: "col", class: "statistic-column" }, completion(view).title), el("th", { scope: "col" }, message("translate_bits")))),
      el("tbody", {}, ...view.values.map((weights, row) => el("tr", { "data-row": row, on: { click: () => choose(row) } },
        el("th", { scope: "row", lang: view.rows[row].lang }, view.rows[row].text),
        ...weights.map((value, index) => el("td", { class: index === best[row] ? "best" : null }, formatNumber(value))),
        el("td", { class: "statistic-column" }, formatNumber(completion(view).weights[row])),
        el("td", {}, view.bits[row] === null ? "–" : formatNumber(view.bits[row], 2)))))));
}
