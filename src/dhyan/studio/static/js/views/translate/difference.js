/** Difference map, or the reason there is none, and the table by source word. */

import { el } from "../../dom.js";
import { drawHeatmap } from "../../heatmap.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { pairLabel, sourceUsage } from "./match_tokens.js";

/** The difference map B − A, if both have the same shape. */
export function difference(a, b, match, options) {
  const head = el("h2", {}, message("compare_delta"));
  if (!match.values) {
    const [kind, lines] = a.columns.length !== b.columns.length ? ["columns", [a.columns, b.columns]] : ["rows", [a.rows, b.rows]];
    return { node: el("section", { class: "compare-delta" }, head, el("p", {}, message(`compare_no_${kind}`, lines[0].length, lines[1].length))) };
  }
  const largest = match.values.flat().reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  const partner = (row) => match.rows[0][match.differenceRows[row]];
  const [rows, columns] = [match.differenceRows.map((row) => pairLabel(a.rows[row], b.rows[match.rows[0][row]])), a.columns.map((column, index) => pairLabel(column, b.columns[index]))];
  const map = drawHeatmap({ values: match.values, rows, columns, kind: "numbers", colorLimit: Math.max(largest, 1e-9), ...options,
    statistics: match.hidden ? { titles: [a.hidden.text], rows: match.hidden.map((weight) => [formatNumber(weight)]) } : undefined,
    label: message("compare_delta_label"),
    describe: (row, column, value) => message("compare_cell", rows[row].text, columns[column].text,
      formatNumber(b.values[partner(row)][column]), formatNumber(a.values[match.differenceRows[row]][column]), formatNumber(value)) });
  const mean = match.distances.reduce((total, distance) => total + distance, 0) / match.distances.length;
  const furthest = match.distances.indexOf(Math.max(...match.distances));
  return { map, node: el("section", { class: "compare-delta" }, head,
    [a, b].every((view) => view.which !== "max") && el("p", {}, largest < 0.001 ? message("compare_equal")
      : message("compare_distance", percent(mean), rows[furthest].text, percent(match.distances[furthest]))),
    a.rows.length !== b.rows.length && el("p", { class: "muted" }, message("compare_common_rows", a.rows.length, b.rows.length, rows.length)),
    a.rows.length === b.rows.length && !(match.sameTarget && match.sameSource) && el("p", { class: "muted" }, message("compare_by_position")),
    map, largest >= 0.001 && el("p", { class: "muted" }, message("compare_domain", formatNumber(largest)))) };
}

const percent = (share) => `${formatNumber(100 * share, share < 0.0995 ? 1 : 0)} %`;

/** Table by source word: the target word that attends to it most, in A and B. */
export function sourceTable(a, b) {
  const [left, right] = [sourceUsage(a), sourceUsage(b)];
  const word = (view, use) => [el("span", { lang: view.rows[use.row].lang }, view.rows[use.row].text), " ",
    el("span", { class: "number muted" }, formatNumber(use.value, 2, { weight: true }))];
  const names = ["A", "B"];
  return el("section", { class: "compare-sources" }, el("h2", {}, message("compare_sources")),
    el("p", { class: "muted" }, message("compare_sources_text")),
    el("div", { class: "compare-table", role: "region", tabindex: 0, "aria-label": message("compare_sources") },
      el("table", { class: "numbers" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, message("compare_word")),
          ...names.map((name) => el("th", { scope: "col" }, message("compare_most", name))),
          ...names.map((name) => el("th", { scope: "col" }, message("compare_share", name))),
          el("th", { scope: "col" }, message("compare_change")))),
        el("tbody", {}, ...a.columns.map((column, index) => el("tr", {},
          el("th", { scope: "row", lang: column.lang }, column.text),
          el("td", {}, ...word(a, left[index])), el("td", {}, ...word(b, right[index])),
          el("td", {}, percent(left[index].share)), el("td", {}, percent(right[index].share)),
          el("td", {}, changeBar(right[index].share - left[index].share))))))));
}

/** A signed bar with its number. */
function changeBar(difference) {
  const width = `${Math.min(50, Math.abs(difference) * 200)}%`;
  const bar = el("span", { class: `signed-bar ${difference < 0 ? "negative" : "positive"}`, "aria-hidden": "true" },
    el("span", { style: { width } }));
  return el("span", { class: "compare-change" }, bar,
    el("span", { class: "number" }, `${difference > 0 ? "+" : ""}${formatNumber(100 * difference, 1)}`));
}
