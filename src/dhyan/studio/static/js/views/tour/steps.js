/** The steps of the tour for a model: what each shows, and the values of its texts. */

import { message } from "../../messages.js";
import { formatNumber } from "../../numbers.js";
import { questionOf } from "./questions.js";
import { formatWeight, percent, SCORE_FORMULAS, subscript } from "./symbols.js";

/** The blocks of each step: those it is about, and those beside them that a wide picture shows too. */
const FRAMES = {
  sentence: { main: ["text"], near: [] },
  tokens: { main: ["tokens"], near: ["text"] },
  embedding: { main: ["embedding"], near: ["tokens"] },
  positions: { main: ["embedding"], near: ["tokens"] },
  self_attention: { main: ["self_attention"], near: [] },
  states: { main: ["states"], near: ["embedding"] },
  states_transformer: { main: ["states"], near: ["self_attention"] },
  query_before: { main: ["query"], near: ["states", "scores"] },
  query_after: { main: ["query"], near: ["states", "scores"] },
  query_heads: { main: ["query"], near: ["keys", "scores"] },
  scores: { main: ["scores"], near: ["keys", "query"] },
  softmax: { main: ["weights"], near: ["scores"] },
  context: { main: ["context"], near: ["weights"] },
  context_heads: { main: ["context"], near: ["weights"] },
  decoder_state: { main: ["state"], near: ["context"] },
  attentional: { main: ["state"], near: ["context"] },
  residual: { main: ["state"], near: ["context"] },
  distribution: { main: ["distribution"], near: ["state"] },
  word: { main: ["word"], near: ["distribution"] },
};
const DECODER_STEPS = { bahdanau: ["query_before", "scores", "softmax", "context", "decoder_state"], luong: ["query_after", "scores", "softmax", "context", "attentional"],
  transformer: ["query_heads", "scores", "softmax", "context_heads", "residual"] };

/** The names of the steps, in order. @param {any} numbers @returns {string[]} */
export const stepNames = (numbers) => ["sentence", "tokens", ...(numbers.selfAttention ? ["positions", "self_attention", "states_transformer"] : ["embedding", "states"]),
  ...DECODER_STEPS[numbers.kind], "distribution", "word"];

/** The title of a step. @param {string} name @param {any} numbers */
export const titleOf = (name, numbers) => message(`tour_${textName(name, numbers)}_title`);

/** A step by its name. @param {string} name @param {any} numbers
 * @returns {{name: string, title: string, main: string[], near: string[], texts: Record<string, string>, values: Value[], question: import("./questions.js").Question | null}} */
export function stepOf(name, numbers) {
  const own = textName(name, numbers);
  const variant = variantOf(name, numbers);
  const key = (part) => `tour_${variant[part] ?? `${own}_${part}`}`;
  return { name, title: titleOf(name, numbers), ...framesOf(name, numbers), texts: Object.fromEntries(["before", "question", "why", "after"].map((part) => [part, key(part)])),
    values: valuesOf(name, numbers), question: questionOf(name, numbers) };
}

/** The blocks of a step; a head scores its keys, a recurrent decoder the states. */
const framesOf = (name, { kind }) => (name === "scores" && kind !== "transformer" ? { main: ["scores"], near: ["states", "query"] } : FRAMES[name]);

const textName = (name, numbers) => (name === "scores" && numbers.kind === "transformer" ? "scores_heads" : name);

/** Texts that differ from the usual ones of a step, by part. */
function variantOf(name, { kind, bidirectional, residual, next, divisor, inputFeeding }) {
  const variants = {
    states: bidirectional && { after: "states_after_both" },
    softmax: kind === "luong" && { question: "softmax_question_largest", why: "softmax_why_largest" },
    query_after: inputFeeding && { after: "query_after_after_feeding" },
    residual: residual && !residual.preNorm && { why: "residual_why_post" },
    scores: kind === "transformer" && divisor === 1 && { before: "scores_plain_before" },
    distribution: { before: `distribution_before_${kind}` },
    word: !next && { why: "word_why_end", after: "word_after_end" },
  };
  return variants[name] || {};
}

/** @typedef {{text: string, side?: "source" | "target"}} Value of a text, and the side whose language it is in */

/** The values {0} to {9} of a step's texts. The usual ones: token, best source token, token before, source tokens, width of the vector,
 * largest weight, number of the token, of the one before, and two of the step. @returns {Value[]} */
function valuesOf(name, numbers) {
  const { source, best, token, previous, step, trace, weights } = numbers;
  const usual = [{ text: token.text, side: "target" }, { text: source[best].text, side: "source" }, { text: previous.text, side: "target" }, source.length,
    numbers.states[0].length, formatNumber(weights[best]), step + 1, step, "", ""];
  const changes = OWN_VALUES[name]?.(numbers, trace) ?? {};
  return usual.map((value, index) => changes[index] ?? value).map((value) => (typeof value === "object" ? value : { text: String(value) }));
}

const target = (text) => ({ text, side: "target" });
const source = (text) => ({ text, side: "source" });
const states = (numbers) => ({ 8: `s${subscript(numbers.step)}`, 9: `s${subscript(numbers.step + 1)}` });

/** What differs from the usual values, by the number in the text. */
const OWN_VALUES = {
  sentence: (numbers, trace) => ({ 8: target(numbers.targetWords[0]?.text ?? trace.target.words[0]), 9: trace.target.tokens.length }),
  tokens: (numbers) => ({ 8: numbers.source[numbers.best].id }),
  embedding: (numbers) => ({ 4: numbers.embeddings[0].length, 8: Math.min(12, numbers.embeddings[0].length) }),
  positions: (numbers) => ({ 4: numbers.embeddings[0].length, 8: Math.min(8, numbers.embeddings[0].length) }),
  self_attention: ({ selfAttention, source: tokens, encoderLayers }) => ({ 1: source(tokens[selfAttention.best].text), 2: source(tokens[selfAttention.query].text),
    4: selfAttention.head, 5: formatNumber(selfAttention.weights[selfAttention.best]), 6: tokens.length ** 2, 7: selfAttention.layer, 8: encoderLayers, 9: selfAttention.heads }),
  states_transformer: ({ encoderLayers }) => ({ 8: encoderLayers }),
  query_before: (numbers, trace) => ({ ...states(numbers), 2: numbers.step ? message("tour_state_wrote", trace.target.tokens[numbers.step - 1].text) : message("tour_state_first") }),
  query_after: states,
  query_heads: ({ query, queryInput, layer, head, heads }) => ({ 4: query.length, 5: queryInput.length, 7: layer, 8: heads, 9: head }),
  scores: (numbers) => ({ 4: numbers.query.length, 8: numbers.kind === "transformer" ? formatNumber(numbers.divisor, Number.isInteger(numbers.divisor) ? 0 : 2) : SCORE_FORMULAS[numbers.score],
    9: formatNumber(numbers.scores[numbers.best], 2) }),
  context: (numbers) => ({ 4: numbers.context.length, 8: percent(numbers.weights[numbers.best]) }),
  context_heads: (numbers) => ({ 4: numbers.context.length, 8: percent(numbers.weights[numbers.best]), 9: numbers.heads }),
  decoder_state: states,
  attentional: ({ attentional }) => ({ 4: attentional.length, 8: formatNumber(Math.min(...attentional)), 9: formatNumber(Math.max(...attentional)) }),
  residual: ({ residual, layer }) => ({ 4: residual.input.length, 7: layer, 8: sumInNumbers(residual), 9: residual.count }),
  distribution: (numbers) => {
    const alternative = numbers.top.find(({ id }) => id !== numbers.token.id);
    const listed = numbers.top.some(({ id }) => id === numbers.token.id);
    return { 4: formatWeight(alternative.prob), 5: formatWeight(numbers.prob), 7: formatWeight(Math.max(0, numbers.otherProb + (listed ? 0 : numbers.top.at(-1).prob - numbers.prob))),
      8: numbers.vocabularySize.toLocaleString("en"), 9: target(alternative.text) };
  },
};

/** A sum of the residual connection in numbers: the first of the vector whose rounded terms give the rounded result. */
function sumInNumbers({ input, selfAttention, crossAttention, feedForward, output }) {
  const round = (value) => Math.round(value * 100);
  const parts = (index) => [input, selfAttention, crossAttention, feedForward].map((values) => values[index]);
  const exact = input.findIndex((_, index) => parts(index).map(round).reduce((a, b) => a + b) === round(output[index]));
  const index = Math.max(exact, 0);
  return `${parts(index).map((value, at) => (at ? `${value < 0 ? "−" : "+"} ${formatNumber(Math.abs(value), 2)}` : formatNumber(value, 2))).join(" ")} = ${formatNumber(output[index], 2)}`;
}
