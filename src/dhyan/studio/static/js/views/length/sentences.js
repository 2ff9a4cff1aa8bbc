/** The worst and best sentences of a bucket, by model. */

import { el } from "../../dom.js";
import { alignSequences } from "../../engine/sequence_alignment.js";
import { formatNumber } from "../../numbers.js";
import { stateLink } from "../../links.js";
import { message } from "../../messages.js";
import { card } from "../../header.js";

/** Cards of all models for a bucket. */
export function sentenceCards(results, minWords, colorIndexOf) {
  const cards = results.map((result) => {
    const bucket = result.buckets.find((bucket) => bucket.min_words === minWords);
    return bucket && modelCard(result.model, bucket, colorIndexOf(result.model));
  });
  return el("div", { class: "length-cards" }, ...cards);
}

function modelCard(model, bucket, colorIndex) {
  const sentenceList = (sentences) => el("ol", {}, ...sentences.map((sentence) => item(model, sentence)));
  return el("section", { class: `card length-card series-${colorIndex}`, "aria-label": model },
    el("h3", {}, el("span", { class: "length-swatch", "aria-hidden": "true" }), model,
      el("span", { class: "muted number" }, ` BLEU ${formatNumber(bucket.value, 1)}`)),
    el("h4", {}, message("length_worst")), sentenceList(bucket.worst),
    el("details", {}, el("summary", {}, message("length_best")), sentenceList(bucket.best)));
}

function item(model, sentence) {
  const { source_language: source = "en", target_language: target = "hi" } = card(model) ?? {};
  const patch = { view: "translate", text: sentence.source, model, target: 1, source: 1, prefix: "" };
  const [reference, hypothesis] = [sentence.reference.split(/\s+/), sentence.translation.split(/\s+/).filter(Boolean)];
  const matches = alignSequences(reference, hypothesis).filter(([left, right]) => left !== null && right !== null);
  const row = (label, words, lang) => [el("dt", {}, label), el("dd", { lang }, ...words)];
  return el("li", {},
    el("dl", {}, ...row(message("length_source"), [sentence.source], source),
      ...row(message("length_reference"), markWords(reference, matches.map(([index]) => index), "length-missing"), target),
      ...row(message("length_output"), hypothesis.length ? markWords(hypothesis, matches.map(([, index]) => index), "length-wrong")
        : [message("length_empty")], hypothesis.length ? target : null)),
    el("p", { class: "length-footer" },
      el("span", { class: "muted" }, message("length_score", formatNumber(sentence.score, 1))),
      stateLink(patch, `${message("length_open")} →`, { "aria-label": message("length_open_long", model, sentence.source) })));
}

/** Words, with unmatched ones underlined. */
function markWords(words, matched, name) {
  const matchedSet = new Set(matched);
  return words.flatMap((word, index) => [matchedSet.has(index) ? word : el("span", { class: name }, word), " "]);
}
