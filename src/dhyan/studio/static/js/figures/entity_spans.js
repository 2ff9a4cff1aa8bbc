/** Entity spans: the words of a sentence, with the spans that their tags mark, such as names. */

import { el } from "../dom.js";
import { formatNumber } from "../numbers.js";
import { message } from "../messages.js";
import { groups } from "../trace.js";
import { mark, roving, wordButton } from "./parts.js";

const OUTSIDE = "O";
const HUES = 8;

/**
 * The spans of tags, as `dhyan.insight.entity_spans`: B-X and every I-X after it; any other tag but O is a span of one word.
 * @param {string[]} tags @returns {{label: string, first: number, last: number}[]}
 */
export function entitySpans(tags) {
  /** @type {{label: string, first: number, last: number}[]} */
  const spans = [];
  tags.forEach((tag, at) => {
    if (tag === OUTSIDE || !tag) return;
    const [, prefix, label] = /^([BI])-(.+)$/.exec(tag) ?? [];
    const previous = spans[spans.length - 1];
    if (prefix === "I" && previous?.label === label && previous.last === at) previous.last = at + 1;
    else spans.push({ label: label ?? tag, first: at, last: at + 1 });
  });
  return spans;
}

/** The hue of each label, the same in every sentence unless two would have one. @param {string[]} labels @returns {Record<string, number>} */
export function labelHues(labels) {
  const hues = /** @type {Record<string, number>} */ ({});
  for (const label of [...new Set(labels)].sort()) {
    const first = [...label].reduce((total, character) => total + (character.codePointAt(0) ?? 0), 0) % 7;
    const used = new Set(Object.values(hues));
    hues[label] = Array.from({ length: HUES }, (_, step) => (first + step) % HUES).find((hue) => !used.has(hue)) ?? first;
  }
  return hues;
}

/** @param {FigureOptions} options @returns {TaskFigure} */
export function drawEntitySpans({ trace, view, card, onFocus, onHover }) {
  const units = groups(trace.source, "word", false);
  const tags = groups(trace.target, "word", false).slice(0, units.length);
  const spans = entitySpans(units.map((_, at) => tags[at]?.text ?? OUTSIDE));
  const hues = labelHues(spans.map((span) => span.label));
  const lang = card.source_language;
  const words = units.map((unit, at) => wordButton({ text: unit.text, lang }, "source", at, labelOf(at)));
  const parts = [];
  for (let at = 0; at < words.length; at += 1) {
    const span = spans.find((own) => own.first === at);
    if (!span) parts.push(words[at]);
    else {
      parts.push(el("span", { class: `entity hue-${hues[span.label]}`, role: "group", "aria-label": `${textOf(span)}: ${span.label}` },
        el("span", { class: "entity-words" }, ...words.slice(span.first, span.last)), el("span", { class: "entity-label", "aria-hidden": "true" }, span.label)));
      at = span.last - 1;
    }
  }
  const flow = el("div", { class: "figure-flow", role: "group", "aria-label": message("figure_words") }, ...parts);
  const tabs = roving(flow, words, { focus: (at) => onFocus(row(at), null), hover: (at) => onHover(at === null ? null : row(at), null) });
  const labels = Object.keys(hues).map((label) => el("li", {}, el("b", { class: `entity-name hue-${hues[label]}` }, label), " ",
    el("span", { lang }, spans.filter((span) => span.label === label).map(textOf).join(" · "))));

  function row(at) {
    return Math.min(at, view.rows.length - 1);
  }
  function textOf(span) {
    return units.slice(span.first, span.last).map((unit) => unit.text).join(" ");
  }
  function labelOf(at) {
    const tag = tags[at];
    return tag ? message("figure_tag", units[at].text, tag.text, formatNumber(Math.exp(trace.steps[tag.tokens[0]].logprob), 2)) : units[at].text;
  }

  const node = el("div", { class: "task-figure" }, flow,
    el("ul", { class: "entity-list", role: "list", "aria-label": message("figure_spans") }, ...(labels.length ? labels : [el("li", { class: "muted" }, message("figure_no_spans"))])));
  return Object.assign(node, {
    setCrosshair: (target) => mark(words, target),
    setFocus(/** @type {[number, number]} */ [target], { focus }) {
      tabs.move(Math.min(target, words.length - 1));
      if (focus) words[Math.min(target, words.length - 1)].focus();
    },
    summary: () => (spans.length ? spans.map((span) => `${span.label} ${textOf(span)}`).join(", ") : message("figure_no_spans")),
  });
}
