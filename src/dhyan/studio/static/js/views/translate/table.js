/** The weights as a table to read and to copy. */

import { el } from "../../dom.js";
import { said } from "../../numbers.js";
import { say } from "../../words.js";
import { strongest } from "./seen.js";

export function asTable(seen, choose) {
  const best = seen.values.map((line) => strongest(line)[0]);
  return el("div", { class: "weights", role: "region", tabindex: 0, "aria-label": say("translate_table") },
    el("table", { class: "numbers" },
      el("caption", { class: "unseen" }, say("heatLabel")),
      el("thead", {}, el("tr", {}, el("td"),
        ...seen.columns.map((one) => el("th", { scope: "col", lang: one.lang }, one.text)),
        el("th", { scope: "col", class: "foot-column" }, "Σ"), el("th", { scope: "col" }, say("translate_bits")))),
      el("tbody", {}, ...seen.values.map((line, row) => el("tr", { "data-row": row, on: { click: () => choose(row) } },
        el("th", { scope: "row", lang: seen.rows[row].lang }, seen.rows[row].text),
        ...line.map((value, at) => el("td", { class: at === best[row] ? "best" : null }, said(value))),
        el("td", { class: "foot-column" }, said(seen.sums[row])),
        el("td", {}, seen.bits[row] === null ? "–" : said(seen.bits[row], 2)))))));
}
