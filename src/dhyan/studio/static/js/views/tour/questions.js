/** The question of each step: its choices, and the right one as it follows from the model's numbers. */

import { message } from "../../messages.js";
import { formatNumber, sum } from "../../numbers.js";
import { percent, subscript } from "./symbols.js";

/** @typedef {{text: string, side?: "source" | "target", correct: boolean}} Choice */
/** @typedef {{choices: Choice[]}} Question */

const MAX_CHOICES = 3;

/** The question of a step; null where its numbers leave no choice. @param {string} name @param {any} numbers @returns {Question | null} */
export function questionOf(name, numbers) {
  const choices = CHOICES[name]?.(numbers) ?? [];
  const different = choices.filter((choice, index) => choices.findIndex(({ text }) => text === choice.text) === index);
  return different.length > 1 && different.some(({ correct }) => correct) ? { choices: different } : null;
}

/** Choices in their order, the right one by its place. */
const listed = (texts, right, side = undefined) => texts.map((text, index) => ({ text, side, correct: index === right }));

/** Different whole numbers in ascending order. */
const numbersFrom = (right, others) => [...new Set([right, ...others])].sort((a, b) => a - b).map((value) => ({ text: value.toLocaleString("en"), correct: value === right }));

/** Tokens of the source in their order: that with the largest value, and others with large values, words preferred. */
function sourceTokens(numbers, values) {
  const { source } = numbers;
  const byValue = source.map((_, row) => row).sort((a, b) => values[b] - values[a]);
  const isWord = (row) => /\p{L}/u.test(source[row].text) && !source[row].special;
  const rows = [byValue[0]];
  for (const row of [...byValue.slice(1).filter(isWord), ...byValue.slice(1)]) {
    if (rows.length < MAX_CHOICES && !rows.some((own) => source[own].text === source[row].text)) rows.push(row);
  }
  return rows.sort((a, b) => a - b).map((row) => ({ text: quoted(source[row].text), side: "source", correct: row === byValue[0] }));
}

const quoted = (text) => message("tour_choice_token", text);

const stateChoices = ({ source, trace }) => listed([message("tour_choice_states_one"), message("tour_choice_states_source", source.length),
  message("tour_choice_states_target", trace.target.tokens.length)], 1);

function queryChoices({ step, after }) {
  const [before, now] = [subscript(step), subscript(step + 1)];
  return listed([message("tour_choice_state_before", `s${before}`), message("tour_choice_state_after", `s${now}`), message("tour_choice_context", `c${now}`)], after ? 1 : 0);
}

/** Shares of the context: the weight, an equal share, a half. */
function shareChoices({ weights, best, source }) {
  const right = weights[best];
  const others = [1 / source.length, 0.5, 1].filter((share) => Math.abs(share - right) >= 0.1).slice(0, MAX_CHOICES - 1);
  return [right, ...others].sort((a, b) => a - b).map((share) => ({ text: percent(share), correct: share === right }));
}

function widthChoices({ embeddings, source }) {
  return numbersFrom(embeddings[0].length, [1, source.length]);
}

const CHOICES = {
  sentence: () => listed(["tour_choice_at_once", "tour_choice_one_by_one", "tour_choice_word_for_word"].map((key) => message(key)), 1),
  tokens: ({ source, trace }) => numbersFrom(source.length, [source.length - 1, [...trace.text.replace(/\s/g, "")].length]),
  embedding: widthChoices,
  positions: widthChoices,
  self_attention: ({ source }) => numbersFrom(source.length ** 2, [source.length, 2 * source.length]),
  states: stateChoices,
  states_transformer: stateChoices,
  query_before: queryChoices,
  query_after: queryChoices,
  query_heads: ({ query, queryInput, heads }) => numbersFrom(query.length, [queryInput.length, heads]),
  scores: (numbers) => sourceTokens(numbers, numbers.scores),
  softmax(numbers) {
    if (numbers.kind !== "luong") return [1, numbers.source.length, sum(numbers.scores)].sort((a, b) => a - b).map((value) => ({ text: formatNumber(value, Number.isInteger(value) ? 0 : 2), correct: value === 1 }));
    const ordered = [...numbers.scores].sort((a, b) => a - b);
    return listed([ordered[0], ordered[Math.floor(ordered.length / 2)], ordered.at(-1)].map((score) => formatNumber(score, 2)), 2);
  },
  context: shareChoices,
  context_heads: shareChoices,
  decoder_state: ({ previous }) => listed([message("tour_choice_written", previous.text), message("tour_choice_words"), message("tour_choice_the_context")], 1),
  attentional: () => listed(["tour_choice_unit", "tour_choice_tanh", "tour_choice_any"].map((key) => message(key)), 1),
  residual: () => listed(["tour_choice_replaced", "tour_choice_added", "tour_choice_largest"].map((key) => message(key)), 1),
  distribution: ({ vocabularySize, token }) => listed([message("tour_choice_only", token.text), message("tour_choice_fitting"),
    message("tour_choice_all", vocabularySize.toLocaleString("en"))], 2),
  /** The written token, its alternative, the next one; or nothing. */
  word({ token, next, top }) {
    const alternative = top.find(({ id }) => id !== token.id);
    const nothing = { text: message("tour_choice_nothing"), correct: !next };
    return [{ text: quoted(token.text), side: "target", correct: Boolean(next) }, { text: quoted(alternative.text), side: "target", correct: false },
      ...(next ? [{ text: quoted(next.text), side: "target", correct: false }] : [nothing])];
  },
};
