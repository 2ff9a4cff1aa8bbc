/** What the colours and widths mean, and what was summed. */

import { el, math } from "../../dom.js";
import { dark, weight } from "../../colour.js";
import { LEAST } from "../../ribbons.js";
import { say } from "../../words.js";

const STEPS = 24;

/** @param {object} seen @param {{v: string, sc: string, sp: string, u: string, n: string, tr: string}} how */
export function legend(seen, how) {
  const notes = [
    how.v === "ribbons" ? say("translate_thin", LEAST) : say(`translate_scale_${how.sc}`),
    how.v === "map" && how.n === "1" && say("translate_dots"),
    seen.tables.length > 1 && ["avg", "max"].includes(seen.which) && say(`translate_summary_${seen.which}`),
    how.sp === "0" && say("translate_hidden"),
    seen.unknown && say("translate_unknown"),
    how.tr === "1" && say("translate_rough"),
    how.u === "word" && !seen.pieces && say("translate_unit_same"),
    how.v === "map" && say("translate_hint"),
  ].filter(Boolean);
  return el("div", { class: "legend" }, how.v !== "ribbons" && scale(how.sc),
    el("ul", { class: "legend-notes" }, ...notes.map((words) => el("li", {}, words)),
      how.u === "word" && seen.pieces && el("li", {}, say("translate_unit_word"), " ", formula())));
}

/** The colours from 0 to 1. */
function scale(kind) {
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return el("div", { class: "legend-scale", role: "img", "aria-label": say(`translate_scale_${kind}`), "data-dark": dark() },
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
