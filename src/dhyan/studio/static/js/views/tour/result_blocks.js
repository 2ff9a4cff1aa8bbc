/** Blocks of the tour that show a few vectors below each other, and the distribution over the vocabulary. */

import { message } from "../../messages.js";
import { labelWidth } from "../../heatmap_layout.js";
import { formatNumber } from "../../numbers.js";
import { maxAbs } from "../../vector_strips.js";
import { fit, label, part, shareBar, strip, STRIP, stripWidth } from "./shapes.js";
import { svg } from "../../dom.js";
import { formatWeight } from "./symbols.js";

const EDGE = 14;
const LINE = 50; // height of a vector with its text
const TOP = 44;
const BAR = 110;
const TOKEN = 100;
const MAX_TEXT = 260;

/**
 * Vectors below each other, each with a symbol and a text; a line before a result. The colours of `summed` vectors have one limit.
 * @param {{name: string, title: string, step: string, x: number, y: number, least: number, count: number, tall?: number, summed?: boolean,
 *   lines: {symbol: string, text: string, lang?: string, values: number[], names: string[], result?: boolean}[]}} stack
 */
export function stackBlock({ name, title, step, lines, x, y, least, count, tall = 0, summed = false }) {
  const width = Math.max(EDGE + 40 + stripWidth(count) + EDGE, ...lines.map(({ text }) => EDGE + 44 + Math.min(labelWidth(text), MAX_TEXT) + EDGE), least);
  const used = TOP + lines.length * LINE + 14;
  const height = Math.max(used, tall);
  const top = y + TOP + (height - used) / 3;
  const drawn = lines.map(({ values }) => values.slice(0, count));
  const limits = drawn.map((values) => maxAbs(...(summed ? drawn : [values])));
  const nodes = lines.flatMap(({ symbol, text, lang, values, names, result }, index) => {
    const at = top + index * LINE + (result ? 8 : 0);
    return [...(result ? [svg("line", { class: "tour-rule", x1: x + EDGE, x2: x + width - EDGE, y1: at - 3, y2: at - 3 })] : []),
      part(names, { x: x + EDGE, y: at + 2, width: width - 2 * EDGE, height: 40 }, label(x + EDGE + 40, at + 14, fit(text, width - 2 * EDGE - 44), { kind: "note", lang }),
        label(x + EDGE, at + 35, symbol, { kind: "symbol" }), strip(x + EDGE + 40, at + 19, values, { count, limit: limits[index] }))];
  });
  return { name, title, step, x, y, width, height, contents: [{ step, nodes }] };
}

/** The most probable tokens with logit and probability, and all others together. */
export function distributionBlock(numbers, lang, x, tall) {
  const { top, token, vocabularySize, otherProb, prob } = numbers;
  const listed = top.some(({ id }) => id === token.id);
  const rows = listed ? top : [...top.slice(0, -1), { id: token.id, text: token.text, logit: numbers.logit, prob }];
  const alternative = rows.find(({ id }) => id !== token.id);
  const width = EDGE + TOKEN + 66 + BAR + 70 + EDGE;
  const y = (index) => TOP + 8 + index * 34;
  const bar = x + EDGE + TOKEN + 66 + 12;
  const line = (names, text, value, logit, index, special = false) => part(names, { x: x + EDGE, y: y(index), width: width - 2 * EDGE, height: STRIP },
    label(x + EDGE, y(index) + 15, fit(text, TOKEN), special ? { kind: "note" } : { lang }),
    logit !== null && label(x + EDGE + TOKEN + 60, y(index) + 15, formatNumber(logit, 2), { kind: "number", "text-anchor": "end" }),
    shareBar(bar, y(index), value, BAR), label(x + width - EDGE, y(index) + 15, formatWeight(value), { kind: "number", "text-anchor": "end", "data-prob": value }));
  const rest = otherProb + (listed ? 0 : top.at(-1).prob - prob);
  const nodes = [label(x + EDGE + TOKEN + 60, TOP - 2, message("tour_logit"), { kind: "symbol", "text-anchor": "end" }),
    label(x + width - EDGE, TOP - 2, message("tour_probability"), { kind: "symbol", "text-anchor": "end" }),
    ...rows.map((own, rank) => line([`rank-${rank}`, ...(own.id === token.id ? ["chosen"] : []), ...(own === alternative ? ["alternative"] : []), "distribution"], own.text, own.prob, own.logit, rank)),
    line(["rest"], message("tour_other_tokens", (vocabularySize - rows.length).toLocaleString("en")), Math.max(0, rest), null, rows.length, true)];
  return { name: "distribution", title: message("tour_block_distribution"), step: "distribution", x, y: 0, width, height: Math.max(tall, y(rows.length + 1) + 14), contents: [{ step: "distribution", nodes }] };
}
