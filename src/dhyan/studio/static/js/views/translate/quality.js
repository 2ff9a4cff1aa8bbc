/** Notice that a translation is probably wrong: unknown words in the sentence, or low probabilities. */

import { el } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { lang, message } from "../../messages.js";
import { set } from "../../state.js";

// Below it, sentences of Tatoeba's validation set have a chrF++ of 13 to 20 on average, above it 46 to 50.
const LOW_PROBABILITY = 0.3;
const NONSENSE_SHARE = 0.4; // of unknown words
// A complete translation has between 0.6 and 1.6 times the words of its sentence.
const SHORT_SHARE = 0.5;
const LONG_SENTENCE = 20; // words from which a much shorter translation leaves something out
const LETTER_CORPORA = ["copy", "reverse"];

/** The words of a sentence, the unknown ones, and the geometric mean of the output's probabilities. */
export function assess(trace) {
  const words = trace.text.split(/[^\p{L}\p{N}\p{M}'’-]+/u).filter((word) => /\p{L}/u.test(word));
  const logprobs = trace.steps.map((step) => step.logprob);
  return { words, unknown: (trace.unknown_words ?? []).filter((word) => /\p{L}/u.test(word)),
    probability: Math.exp(logprobs.reduce((a, b) => a + b, 0) / Math.max(logprobs.length, 1)) };
}

/** The notice, if there is a reason. */
export function quality(trace, card, text) {
  if (trace.picture) return null;
  const letters = LETTER_CORPORA.includes(card.synthetic) && [...text.replace(/\s/g, "")].join(" ");
  if (letters && letters !== text.trim()) {
    return notice(message("quality_spaced"), el("button", { type: "button", on: { click: () => set({ text: letters, target: 1, source: 1, prefix: "" }) } },
      message("quality_space", letters)));
  }
  const { words, unknown, probability } = assess(trace);
  const low = probability < LOW_PROBABILITY;
  const length = trace.target.words.filter((word) => /\p{L}/u.test(word)).length;
  const short = !card.codecs && words.length >= LONG_SENTENCE && length < SHORT_SHARE * words.length;
  const foreign = isForeign(words, card.source_language);
  if (foreign) return notice(message("quality_foreign", languageName(card.source_language)));
  if (!unknown.length && !low && !short) return null;
  const nonsense = unknown.length >= NONSENSE_SHARE * words.length || (unknown.length && low);
  const title = unknown.length ? message(nonsense ? "quality_unknown" : "quality_some", unknown.length, words.length) : message(low ? "quality_low" : "quality_short");
  return notice(title, [unknown.length && message("quality_words", unknown.map((word) => withPieces(word, trace.source)).join(", ")), low && message("quality_mean", formatNumber(probability, 2)),
    short && message("quality_lengths", words.length, length)]
    .filter(Boolean).join(" "));
}

/** @param {string} title @param {string | Element | null} [content] */
const notice = (title, content = null) => el("div", { class: "quality-notice", role: "status" },
  el("span", { class: "quality-icon", "aria-hidden": "true" }, "⚠"), el("div", {}, el("strong", {}, title), " ", content));

/** Whether most words are in a script that a language is not written in. @param {string[]} words @param {string} language */
function isForeign(words, language) {
  const script = scriptOf(language);
  return script !== null && words.filter((word) => !script.test(word)).length > words.length / 2;
}

/** The letters of a language's script; null if it is not known or has several, as Japanese. @param {string} language */
function scriptOf(language) {
  if (!language || language === "und") return null;
  try {
    return new RegExp(`\\p{Script=${new Intl.Locale(language).maximize().script}}`, "u");
  } catch {
    return null;
  }
}

const languageName = (code) => new Intl.DisplayNames([lang()], { type: "language" }).of(code);

/** An unknown word with the tokens it was read in, if they are several. */
function withPieces(word, { words, tokens }) {
  const index = words.findIndex((text) => text.includes(word));
  const pieces = tokens.filter((token) => token.word === index).map((token) => token.text);
  return pieces.length > 1 ? `${word} (${pieces.join("·")})` : word;
}
