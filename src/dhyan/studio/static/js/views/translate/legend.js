/** Legend of the attention map: colour scale and notes. */

import { el, math } from "../../dom.js";
import { isDark, weightColor } from "../../colors.js";
import { MIN_WEIGHT } from "../../ribbons.js";
import { message } from "../../messages.js";
import { hasServer } from "../../state.js";

const STEPS = 24;

/** @param {object} view @param {{display: string, scale: string, unit: string, hasNumbers: boolean, transliterate: string}} options */
export function legend(view, options) {
  const notes = [
    options.display === "ribbons" && message("translate_min_weight", MIN_WEIGHT),
    options.display === "map" && message(`translate_scale_${options.scale}`),
    options.display === "table" && message("translate_best"),
    options.hasNumbers && message("translate_dots"),
    view.tables.length > 1 && ["avg", "max"].includes(view.which) && message(`translate_summary_${view.which}`),
    view.hidden && (options.display === "ribbons" ? message("translate_hidden_ribbons") : message("translate_hidden", view.hidden.text)),
    view.unknown && message("translate_unknown"),
    options.transliterate === "1" && message("translate_transliteration"),
    options.unit === "word" && !view.pieces && message("translate_unit_same"),
    options.display === "map" && message(hasServer() ? "translate_hint" : "translate_hint_saved"),
  ].filter(Boolean);
  return el("div", { class: "legend" }, options.display === "map" && scale(options.scale),
    el("ul", { class: "legend-notes" }, ...notes.map((note) => el("li", {}, note)),
      options.unit === "word" && view.pieces && el("li", {}, message("translate_unit_word"), " ", formula())));
}

/** The colours from 0 to 1. */
function scale(kind) {
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return el("div", { class: "legend-scale", role: "img", "aria-label": message(`translate_scale_${kind}`), "data-dark": isDark() },
    el("div", { class: "legend-colors" }, ...Array.from({ length: STEPS }, (_, index) =>
      el("span", { style: { "background-color": weightColor((index + 0.5) / STEPS, kind) } }))),
    el("div", { class: "legend-ticks number" }, ...ticks.map((tick) => el("span", {}, String(tick)))));
}

/** α(w, v) = 1/|w| Σ Σ α_ij */
function formula() {
  const [mi, mo, mn] = ["mi", "mo", "mn"].map((tag) => (note) => math(tag, {}, note));
  const over = (index, set) => math("munder", {}, mo("∑"), math("mrow", {}, mi(index), mo("∈"), mi(set)));
  return math("math", {}, mi("α"), mo("("), mi("w"), mo(","), mi("v"), mo(")"), mo("="),
    math("mfrac", {}, mn("1"), math("mrow", {}, mo("|"), mi("w"), mo("|"))),
    over("i", "w"), over("j", "v"), math("msub", {}, mi("α"), math("mrow", {}, mi("i"), mi("j"))));
}
