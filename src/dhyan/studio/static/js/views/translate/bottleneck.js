/** Diagram of a model without attention: one context vector for the whole sentence. */

import { el, svg } from "../../dom.js";
import { labelWidth } from "../../heatmap_layout.js";
import { message } from "../../messages.js";
import { linkPath } from "../../tree_layout.js";
import { isWord } from "../../trace.js";

const HIGH = 26;

/** How many are words and no punctuation. @param {{text: string}[]} units */
const countWords = (units) => units.filter(({ text }) => isWord(text)).length;

/** @param {object} view @param {number} available width in pixels */
export function bottleneckDiagram(view, available) {
  const about = message(view.tables.length ? "bottleneck" : "no_attention");
  const [sourceWords, targetWords] = [view.columns, view.rows].map((words) => words.filter((word) => !word.special));
  const [left, right] = [sourceWords, targetWords].map((words) => Math.max(...words.map((word) => labelWidth(word.text)), 24) + 14);
  const backwards = sourceWords.length > 1 && view.tables[0]?.[0][0] > 0.5;
  const [gap, neck] = available < 560 ? [Math.max(32, (available - left - right - 96) / 2), 96] : [150, 120];
  const height = Math.max(sourceWords.length, targetWords.length, 4) * HIGH + 12;
  const [from, to] = [left + gap, left + gap + neck];
  const y = (index, count) => height / 2 + (index - (count - 1) / 2) * HIGH;
  const label = (word, index, count, x, anchor) => svg("text", { x, y: y(index, count) + 5, "text-anchor": anchor,
    class: "label", lang: word.lang }, word.text);
  const line = (index, count, x, end) => svg("path", { class: "bottleneck-line", d: linkPath(x, y(index, count), end, height / 2) });
  const picture = svg("svg", { viewBox: `0 0 ${to + gap + right} ${height}`, width: to + gap + right, height,
    class: "heatmap-svg bottleneck-svg", role: "img", "aria-label": about },
  ...sourceWords.map((_, index) => line(index, sourceWords.length, left, from)),
  ...targetWords.map((_, index) => line(index, targetWords.length, to + gap, to)),
  svg("rect", { x: from, y: height / 2 - 22, width: neck, height: 44, rx: 8, class: "bottleneck-vector" }),
  svg("text", { x: from + neck / 2, y: height / 2 + 5, "text-anchor": "middle", class: "bottleneck-label" }, message("translate_vector")),
  ...sourceWords.map((word, index) => label(word, index, sourceWords.length, left - 8, "end")),
  ...targetWords.map((word, index) => label(word, index, targetWords.length, to + gap + 8, "start")));
  return el("div", { class: "bottleneck card" }, el("h2", {}, message("translate_one_vector")), el("p", {}, about, backwards && ` ${message("translate_backwards")}`),
    el("p", { class: "muted" }, message(view.tables.length ? "translate_vector_text" : "translate_start_text", countWords(sourceWords), countWords(targetWords))),
    el("div", { class: "bottleneck-scroll", role: "region", tabindex: 0, "aria-label": message("translate_one_vector") }, picture));
}
