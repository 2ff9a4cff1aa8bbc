/** What stands below two maps: their difference, or why there is none, and the words of the sentence. */

import { el } from "../../dom.js";
import { draw } from "../../heatmap.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { both, uses } from "./match_tokens.js";

/** The map of differences, if the two have the same places. */
export function difference(a, b, match, how) {
  const head = el("h2", {}, message("compare_delta"));
  if (!match.values) {
    const [kind, lines] = a.columns.length !== b.columns.length ? ["columns", [a.columns, b.columns]] : ["rows", [a.rows, b.rows]];
    return { node: el("section", { class: "compare-delta" }, head, el("p", {}, message(`compare_no_${kind}`, lines[0].length, lines[1].length))) };
  }
  const most = match.values.flat().reduce((largest, one) => Math.max(largest, Math.abs(one)), 0);
  const [rows, columns] = [a.rows.map((one, at) => both(one, b.rows[at])), a.columns.map((one, at) => both(one, b.columns[at]))];
  const map = draw({ values: match.values, rows, columns, kind: "numbers", most: Math.max(most, 1e-9), ...how,
    label: message("compare_delta_label"),
    says: (row, column, value) => message("compare_cell", rows[row].text, columns[column].text,
      formatNumber(b.values[row][column]), formatNumber(a.values[row][column]), formatNumber(value)) });
  const mean = match.apart.reduce((total, one) => total + one, 0) / match.apart.length;
  const far = match.apart.indexOf(Math.max(...match.apart));
  return { map, node: el("section", { class: "compare-delta" }, head,
    [a, b].every((one) => one.which !== "max") && el("p", {}, most < 0.001 ? message("compare_alike")
      : message("compare_moved", percent(mean), rows[far].text, percent(match.apart[far]))),
    !(match.told && match.read) && el("p", { class: "quiet" }, message("compare_places")),
    map, most >= 0.001 && el("p", { class: "quiet" }, message("compare_domain", formatNumber(most)))) };
}

const percent = (share) => `${formatNumber(100 * share, share < 0.0995 ? 1 : 0)} %`;

/** The same sentence in two translations: where each of its words went. */
export function bySource(a, b) {
  const [left, right] = [uses(a), uses(b)];
  const word = (seen, use) => [el("span", { lang: seen.rows[use.row].lang }, seen.rows[use.row].text), " ",
    el("span", { class: "number quiet" }, formatNumber(use.value, 2, { weight: true }))];
  const names = ["A", "B"];
  return el("section", { class: "compare-sources" }, el("h2", {}, message("compare_sources")),
    el("p", { class: "quiet" }, message("compare_sources_text")),
    el("div", { class: "compare-box", role: "region", tabindex: 0, "aria-label": message("compare_sources") },
      el("table", { class: "numbers" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, message("compare_word")),
          ...names.map((one) => el("th", { scope: "col" }, message("compare_most", one))),
          ...names.map((one) => el("th", { scope: "col" }, message("compare_share", one))),
          el("th", { scope: "col" }, message("compare_change")))),
        el("tbody", {}, ...a.columns.map((one, at) => el("tr", {},
          el("th", { scope: "row", lang: one.lang }, one.text),
          el("td", {}, ...word(a, left[at])), el("td", {}, ...word(b, right[at])),
          el("td", {}, percent(left[at].share)), el("td", {}, percent(right[at].share)),
          el("td", {}, change(right[at].share - left[at].share))))))));
}

/** A bar to the left or to the right, and its number. */
function change(by) {
  const width = `${Math.min(50, Math.abs(by) * 200)}%`;
  const bar = el("span", { class: `lean ${by < 0 ? "less" : "more"}`, "aria-hidden": "true" },
    el("span", { style: { width } }));
  return el("span", { class: "compare-change" }, bar,
    el("span", { class: "number" }, `${by > 0 ? "+" : ""}${formatNumber(100 * by, 1)}`));
}
