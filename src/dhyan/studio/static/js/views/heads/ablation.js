/** Result of a head ablation: diff of the translations and change of the log-probabilities. */

import { el, text } from "../../dom.js";
import { formatNumber, sum } from "../../numbers.js";
import { formatChange, formatNats } from "./statistics.js";
import { message } from "../../messages.js";

const NEGLIGIBLE = 0.05; // nats: smaller changes count as equal

/**
 * @param {{words: [string, string][], logprobs: number[], ablated_logprobs: number[], score: number}} result
 * @param {{target: {words: string[], tokens: {word: number}[]}}} trace @param {string} lang of the translation
 */
export function difference(result, trace, lang) {
  const [removed, added] = ["removed", "added"].map((change) => result.words.filter(([, kind]) => kind === change).length);
  return el("div", { class: "heads-comparison" },
    el("p", { class: "heads-diff", lang }, ...result.words.flatMap(([word, kind]) => [diffWord(word, kind), " "])),
    el("p", {}, removed + added ? message("heads_changed", removed, added) : message("heads_same")),
    el("p", {}, likelihood(result), removed + added ? ` ${message("heads_new_score", formatNats(result.score))}` : ""),
    table(result, trace, lang));
}

/** A kept, removed or added word, marked by sign and line as well as colour. */
function diffWord(word, kind) {
  if (kind === "same") return el("span", {}, word);
  const [tag, sign, key] = kind === "removed" ? ["del", "−", "heads_removed"] : ["ins", "+", "heads_added"];
  return el(tag, {}, el("span", { class: "heads-sign", "aria-hidden": "true" }, sign),
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

/** Log-probabilities by word, summed over its tokens. */
function table(result, trace, lang) {
  const { words, tokens } = trace.target;
  const rows = words.map((word, number) => {
    const wordSum = (logprobs) => sum(logprobs.filter((_, index) => tokens[index].word === number));
    return [text(word, lang), wordSum(result.logprobs), wordSum(result.ablated_logprobs)];
  });
  rows.push([message("heads_all"), sum(result.logprobs), sum(result.ablated_logprobs)]);
  return el("table", { class: "numbers heads-table" },
    el("caption", {}, message("heads_words")),
    el("thead", {}, el("tr", {}, ...["word", "with", "ablated", "change"].map((key) =>
      el("th", { scope: "col" }, message(`heads_${key}`))))),
    el("tbody", {}, ...rows.map(([word, before, after]) => el("tr", {}, el("th", { scope: "row" }, word),
      ...[formatNats(before), formatNats(after), formatChange(after - before)].map((cellText) => el("td", {}, cellText))))));
}
