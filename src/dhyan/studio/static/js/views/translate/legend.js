/** What the colours and widths mean, and what was summed. */

import { el, math } from "../../dom.js";
import { dark, weight } from "../../colors.js";
import { LEAST } from "../../ribbons.js";
import { message } from "../../messages.js";

const STEPS = 24;

/** @param {object} seen @param {{v: string, sc: string, sp: string, u: string, n: string, tr: string}} how */
export function legend(seen, how) {
  const notes = [
    how.display === "ribbons" ? message("translate_thin", LEAST) : message(`translate_scale_${how.scale}`),
    how.display === "map" && how.numbers === "1" && message("translate_dots"),
    seen.tables.length > 1 && ["avg", "max"].includes(seen.which) && message(`translate_summary_${seen.which}`),
    how.specials === "0" && message("translate_hidden"),
    seen.unknown && message("translate_unknown"),
    how.transliterate === "1" && message("translate_rough"),
    how.unit === "word" && !seen.pieces && message("translate_unit_same"),
    how.display === "map" && message("translate_hint"),
  ].filter(Boolean);
  return el("div", { class: "legend" }, how.display !== "ribbons" && scale(how.scale),
    el("ul", { class: "legend-notes" }, ...notes.map((words) => el("li", {}, words)),
      how.unit === "word" && seen.pieces && el("li", {}, message("translate_unit_word"), " ", formula())));
}

/** The colours from 0 to 1. */
function scale(kind) {
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return el("div", { class: "legend-scale", role: "img", "aria-label": message(`translate_scale_${kind}`), "data-dark": dark() },
    el("div", { class: "legend-colours" }, ...Array.from({ length: STEPS }, (_, at) =>
      el("span", { style: { "background-color": weight((at + 0.5) / STEPS, kind) } }))),
    el("div", { class: "legend-ticks number" }, ...ticks.map((one) => el("span", {}, String(one)))));
}

/** α(w, v) = 1/|w| Σ Σ α_ij */
function formula() {
  const [mi, mo, mn] = ["mi", "mo", "mn"].map((tag) => (words) => math(tag, {}, words));
  const over = (index, set) => math("munder", {}, mo("∑"), math("mrow", {}, mi(index), mo("∈"), mi(set)));
  return math("math", {}, mi("α"), mo("("), mi("w"), mo(","), mi("v"), mo(")"), mo("="),
    math("mfrac", {}, mn("1"), math("mrow", {}, mo("|"), mi("w"), mo("|"))),
    over("i", "w"), over("j", "v"), math("msub", {}, mi("α"), math("mrow", {}, mi("i"), mi("j"))));
}
