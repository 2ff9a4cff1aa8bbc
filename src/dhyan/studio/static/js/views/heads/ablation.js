/** Result of a head ablation: diff of the translations and change of the log-probabilities. */

import { el, text } from "../../dom.js";
import { formatNumber, sum } from "../../numbers.js";
import { formatChange, formatNats } from "./statistics.js";
import { message } from "../../messages.js";

const LARGE = 0.1; // change of a probability that is marked
const NOTHING = 0.01; // a smaller change of every probability counts as none
const NEGLIGIBLE = 0.05; // nats: smaller changes count as equal

/**
 * @param {{words: [string, string][], logprobs: number[], ablated_logprobs: number[], score: number}} result
 * @param {{target: {words: string[], tokens: {word: number}[]}}} trace @param {string} lang of the translation
 */
export function difference(result, trace, lang) {
  const [removed, added] = ["removed", "added"].map((change) => result.words.filter(([, kind]) => kind === change).length);
  return el("div", { class: "heads-comparison" },
    el("p", { class: "heads-diff", lang }, ...result.words.flatMap(([word, kind]) => [diffWord(word, kind), " "])),
    el("p", { class: "heads-verdict" }, verdict(result, removed + added) ?? message("heads_changed", removed, added)),
    el("p", {}, likelihood(result), removed + added ? ` ${message("heads_new_score", formatNats(result.score))}` : ""),
    el("details", {}, el("summary", {}, message("heads_words")), table(result, trace, lang)));
}

/** That nothing changed, or only probabilities; null if words did. */
function verdict(result, changedWords) {
  if (changedWords) return null;
  const largest = Math.max(...result.logprobs.map((logprob, index) => Math.abs(Math.exp(result.ablated_logprobs[index]) - Math.exp(logprob))));
  return largest < NOTHING ? message("heads_nothing", formatNumber(NOTHING, 2)) : message("heads_same", formatNumber(largest));
}

/** A kept, removed or added word, marked by sign and line as well as colour. */
function diffWord(word, kind) {
  if (kind === "same") return el("span", {}, word);
  const [sign, key] = kind === "removed" ? ["−", "heads_removed"] : ["+", "heads_added"];
  return el(kind === "removed" ? "del" : "ins", {}, el("span", { class: "heads-sign", "aria-hidden": "true" }, sign),
    el("span", { class: "visually-hidden" }, `${message(key)}: `), word);
}

/** Change of the log-probability of the original translation. */
export function likelihood(result) {
  const [before, after] = [sum(result.logprobs), sum(result.ablated_logprobs)];
  const difference = after - before;
  const values = [formatNats(before), formatNats(after), formatChange(difference)];
  if (Math.abs(difference) < NEGLIGIBLE) return message("heads_unchanged", ...values);
  if (difference > 0) return message("heads_increased", ...values);
  const ratio = Math.exp(-difference);
  return message("heads_decreased", ...values, ratio < 10 ? formatNumber(ratio, 1) : Math.round(ratio).toLocaleString("en"));
}

/** Probabilities by word, the product of its tokens', with all heads and without this one. */
function table(result, trace, lang) {
  const { words, tokens } = trace.target;
  const rows = words.map((word, number) => {
    const prob = (logprobs) => Math.exp(sum(logprobs.filter((_, index) => tokens[index].word === number)));
    return [text(word, lang), prob(result.logprobs), prob(result.ablated_logprobs)];
  });
  rows.push([message("heads_all"), Math.exp(sum(result.logprobs)), Math.exp(sum(result.ablated_logprobs))]);
  return el("table", { class: "numbers heads-table" },
    el("caption", { class: "visually-hidden" }, message("heads_words")),
    el("thead", {}, el("tr", {}, ...["word", "with", "ablated", "change"].map((key) =>
      el("th", { scope: "col" }, message(`heads_${key}`))))),
    el("tbody", {}, ...rows.map(([word, before, after]) => el("tr", { class: Math.abs(after - before) >= LARGE ? "changed" : null }, el("th", { scope: "row" }, word),
      ...[formatNumber(before), formatNumber(after), formatDifference(after - before)].map((cellText) => el("td", {}, cellText))))));
}

/** A difference of probabilities, with its sign. */
const formatDifference = (value) => (Math.abs(value) < 0.0005 ? "0" : `${value > 0 ? "+" : ""}${formatNumber(value)}`);
