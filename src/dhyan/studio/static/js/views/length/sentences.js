/** The worst and the best sentences of a group of lengths, model by model. */

import { el } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { state, set, address } from "../../state.js";
import { message } from "../../messages.js";
import { card } from "../../header.js";

/** Cards of all models for a group; `results` are what the server measured. */
export function sentencesOf(results, least, toneOf) {
  const cards = results.map((result) => {
    const part = result.buckets.find((one) => one.min_words === least);
    return part && ofModel(result.model, part, toneOf(result.model));
  });
  return el("div", { class: "length-cards" }, ...cards);
}

function ofModel(model, part, tone) {
  const listed = (sentences) => el("ol", {}, ...sentences.map((one) => item(model, one)));
  return el("section", { class: `card length-card tone-${tone}`, "aria-label": model },
    el("h3", {}, el("span", { class: "length-swatch", "aria-hidden": "true" }), model,
      el("span", { class: "quiet number" }, ` BLEU ${formatNumber(part.value, 1)}`)),
    el("h4", {}, message("length_worst")), listed(part.worst),
    el("details", {}, el("summary", {}, message("length_best")), listed(part.best)));
}

function item(model, one) {
  const { source_language: source = "en", target_language: target = "hi" } = card(model) ?? {};
  const there = { view: "translate", text: one.source, model, target: 1, source: 1, prefix: "" };
  const [wanted, heard] = [one.reference.split(/\s+/), one.translation.split(/\s+/).filter(Boolean)];
  const same = shared(wanted, heard);
  const row = (label, words, lang) => [el("dt", {}, label), el("dd", { lang }, ...words)];
  return el("li", {},
    el("dl", {}, ...row(message("length_source"), [one.source], source),
      ...row(message("length_reference"), marked(wanted, same.map(([at]) => at), "length-missed"), target),
      ...row(message("length_said"), heard.length ? marked(heard, same.map(([, at]) => at), "length-wrong")
        : [message("length_silent")], heard.length ? target : null)),
    el("p", { class: "length-foot" },
      el("span", { class: "quiet" }, message("length_score", formatNumber(one.score, 1))),
      el("a", { href: address({ ...state, ...there }),
        "aria-label": message("length_open_long", model, one.source), on: { click: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          set(there);
        } } }, `${message("length_open")} →`)));
}

/** Words, those that the other sentence does not share underlined. */
function marked(words, kept, name) {
  const known = new Set(kept);
  return words.flatMap((word, at) => [known.has(at) ? word : el("span", { class: name }, word), " "]);
}

/** The places of the longest sequence of words that two sentences share. */
function shared(one, other) {
  const most = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let a = one.length - 1; a >= 0; a--) {
    for (let b = other.length - 1; b >= 0; b--) {
      most[a][b] = one[a] === other[b] ? most[a + 1][b + 1] + 1 : Math.max(most[a + 1][b], most[a][b + 1]);
    }
  }
  const places = [];
  for (let [a, b] = [0, 0]; a < one.length && b < other.length;) {
    if (one[a] === other[b]) places.push([a++, b++]);
    else if (most[a + 1][b] >= most[a][b + 1]) a++;
    else b++;
  }
  return places;
}
