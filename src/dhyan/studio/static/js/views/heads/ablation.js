/** A head switched off: the translation with it and without it, and what each word loses. */

import { el, text } from "../../dom.js";
import { formatNumber, sum } from "../../numbers.js";
import { change, nats } from "./statistics.js";
import { message } from "../../messages.js";

const LITTLE = 0.05; // nats: a twentieth more or less likely is much the same

/**
 * @param {{words: [string, string][], logprobs: number[], ablated_logprobs: number[], score: number}} found
 * @param {{target: {words: string[], tokens: {word: number}[]}}} trace @param {string} lang of the translation
 */
export function difference(found, trace, lang) {
  const [gone, come] = ["removed", "added"].map((kind) => found.words.filter(([, one]) => one === kind).length);
  return el("div", { class: "heads-found" },
    el("p", { class: "heads-diff", lang }, ...found.words.flatMap(([word, kind]) => [marked(word, kind), " "])),
    el("p", {}, gone + come ? message("heads_changed", gone, come) : message("heads_same")),
    el("p", {}, likelihood(found), gone + come ? ` ${message("heads_new_score", nats(found.score))}` : ""),
    table(found, trace, lang));
}

/** A word that stays, goes or comes: by sign and line as well as by colour. */
function marked(word, kind) {
  if (kind === "same") return el("span", {}, word);
  const [tag, sign, key] = kind === "removed" ? ["del", "−", "heads_gone"] : ["ins", "+", "heads_new"];
  return el(tag, {}, el("span", { class: "heads-sign", "aria-hidden": "true" }, sign),
    el("span", { class: "unseen" }, `${message(key)}: `), word);
}

/** What the first translation loses or gains without the head. */
export function likelihood(found) {
  const [before, after] = [sum(found.logprobs), sum(found.ablated_logprobs)];
  const gained = after - before;
  const written = [nats(before), nats(after), change(gained)];
  if (Math.abs(gained) < LITTLE) return message("heads_even", ...written);
  if (gained > 0) return message("heads_more", ...written);
  const times = Math.exp(-gained);
  return message("heads_less", ...written, times < 10 ? formatNumber(times, 1) : Math.round(times).toLocaleString("en"));
}

/** Log-probabilities by word: those of its pieces together. */
function table(found, trace, lang) {
  const { words, tokens } = trace.target;
  const rows = words.map((word, number) => {
    const own = (values) => sum(values.filter((_, at) => tokens[at].word === number));
    return [text(word, lang), own(found.logprobs), own(found.ablated_logprobs)];
  });
  rows.push([message("heads_all"), sum(found.logprobs), sum(found.ablated_logprobs)]);
  return el("table", { class: "numbers heads-table" },
    el("caption", {}, message("heads_words")),
    el("thead", {}, el("tr", {}, ...["word", "with", "less_one", "change"].map((key) =>
      el("th", { scope: "col" }, message(`heads_${key}`))))),
    el("tbody", {}, ...rows.map(([word, before, after]) => el("tr", {}, el("th", { scope: "row" }, word),
      ...[nats(before), nats(after), change(after - before)].map((words) => el("td", {}, words))))));
}
