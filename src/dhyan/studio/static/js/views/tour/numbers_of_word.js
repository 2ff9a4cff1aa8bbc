/** The numbers of the tour: all that leads from the sentence to one token of its translation, as the model computes it. */

import { post } from "../../api.js";
import { rows as matrix, sum, vector } from "../../numbers.js";
import { fetchTrace, requestBody } from "../../traces.js";
import { blocksOf, groups, heads as headsOf } from "../../trace.js";
import { unpackHead } from "../head/recompute.js";
import { unpackSteps } from "../step/recompute.js";

const MAX_CACHED = 4;
const MAX_ROWS = 11; // source tokens drawn; of longer sentences the others are one row
const FOR_SELF_ATTENTION = 4; // rows of a longer sentence that are chosen by self-attention
const PIECE = 0.6; // worth of a piece of a word beside a whole one
const LETTERS = /[\p{L}\p{M}]{3}/u;
const cache = new Map();

/** Whether the tour has steps for a model. @param {any} translation @returns {boolean} */
export const hasAttention = ({ activations, steps }) =>
  activations.decoder === "transformer" || Boolean(steps && steps.score !== "bottleneck");

/** The trace of the sentence of the state, its activations, and the steps of a recurrent decoder's attention; cached.
 * @param {AbortSignal} signal */
export async function fetchTranslation(signal) {
  const body = requestBody();
  const key = JSON.stringify(body);
  if (!cache.has(key)) {
    const [trace, response] = await Promise.all([fetchTrace({}, signal), post("/api/activations", body, signal)]);
    const recurrent = ["bahdanau", "luong"].includes(response.decoder);
    cache.set(key, { key, trace, activations: unpackActivations(response), steps: recurrent ? unpackSteps(await post("/api/step", body, signal)) : null, heads: new Map() });
  }
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value);
  return cache.get(key);
}

function unpackActivations(response) {
  const side = ({ embeddings, inputs, scale }) => ({ embeddings: matrix(embeddings), inputs: matrix(inputs), scale });
  const [logits, logNormalizer] = [vector(response.logits), vector(response.log_normalizer)];
  const topLogits = matrix(response.top_logits);
  return { decoder: response.decoder, bidirectional: response.bidirectional, inputFeeding: response.input_feeding, source: side(response.source), target: side(response.target),
    states: matrix(response.states), decoderStates: response.decoder_states && matrix(response.decoder_states),
    layers: response.layers.map(({ pre_norm: preNorm, ...parts }) => ({ preNorm, ...Object.fromEntries(Object.entries(parts).map(([name, packed]) => [name, matrix(packed)])) })),
    vocabularySize: response.vocabulary_size, logits, logNormalizer,
    top: response.top_ids.map((ids, step) => ids.map((id, rank) => ({ id, text: response.top_texts[step][rank], logit: topLogits[step][rank],
      prob: Math.exp(topLogits[step][rank] - logNormalizer[step]) }))) };
}

/** The token to follow if none was chosen, counted from 0: it looks at one word, which preferably stands elsewhere.
 * @param {any} translation */
export function informativeToken({ trace }) {
  const { source, target } = trace;
  const tables = blocksOf(trace, "cross").flatMap(headsOf);
  const worth = target.tokens.map((token, row) => {
    if (token.special || !LETTERS.test(target.words[token.word])) return -1;
    const isWhole = target.tokens.filter(({ word }) => word === token.word).length === 1;
    return (isWhole ? 1 : PIECE) * Math.max(...source.tokens.map((key, column) => {
      if (key.special || !LETTERS.test(key.text) || key.text.length < 4) return -1;
      const moved = Math.abs(row / target.tokens.length - column / source.tokens.length);
      return Math.max(...tables.map((table) => table[row][column])) * (1 + moved);
    }));
  });
  return Math.max(...worth) > 0 ? worth.indexOf(Math.max(...worth)) : 0;
}

/** All numbers of one token, counted from 0. @param {any} translation @param {number} step @param {AbortSignal} signal */
export async function numbersOfWord(translation, step, signal) {
  const { trace, activations, steps } = translation;
  const attention = steps ? attentionOfStep(steps, step) : await attentionOfHead(translation, step, signal);
  const { tokens } = trace.source;
  const best = attention.weights.indexOf(Math.max(...attention.weights));
  const selfAttention = blocksOf(trace, "encoder_self").length ? strongestSelfAttention(trace, mostAttendedWord(tokens, attention.weights)) : null;
  const shown = shownRows(tokens.length, best, attention.weights, selfAttention);
  const others = tokens.map((_, row) => row).filter((row) => !shown.includes(row));
  const top = activations.top[step];
  return {
    kind: activations.decoder, bidirectional: activations.bidirectional, inputFeeding: activations.inputFeeding, trace, step, shown, others, best, selfAttention, ...attention,
    source: tokens, token: trace.target.tokens[step], previous: trace.decoder_input.tokens[step], next: trace.target.tokens[step + 1] ?? null,
    sourceWords: groups(trace.source, "word", false), targetWords: groups(trace.target, "word", false),
    embeddings: activations.source.embeddings, inputs: activations.source.inputs, scale: activations.source.scale,
    previousEmbedding: activations.target.embeddings[step],
    states: activations.states,
    stateBefore: activations.decoderStates?.[step], stateAfter: activations.decoderStates?.[step + 1],
    top, vocabularySize: activations.vocabularySize, prob: Math.exp(activations.logits[step] - activations.logNormalizer[step]), logit: activations.logits[step],
    logNormalizer: activations.logNormalizer[step], otherProb: Math.max(0, 1 - sum(top.map(({ prob }) => prob))),
    encoderLayers: blocksOf(trace, "encoder_self").length,
  };
}

/** The attention of a recurrent decoder's step. */
function attentionOfStep(steps, step) {
  return { score: steps.score, after: steps.after, query: steps.queries[step], keys: null, values: null, scores: steps.scores[step], products: null,
    weights: steps.weights[step], context: steps.contexts[step], attentional: steps.attentional?.[step] ?? null, residual: null };
}

/** The cross-attention head of a Transformer that looks most sharply at one word, and what its layer adds. */
async function attentionOfHead(translation, step, signal) {
  const { trace, activations, heads } = translation;
  const place = sharpestHead(trace, step);
  const key = `${place.layer} ${place.head}`;
  if (!heads.has(key)) heads.set(key, unpackHead(await post("/api/head", { ...requestBody(), role: "cross", layer: place.layer, head: place.head }, signal)));
  const head = heads.get(key);
  const layer = activations.layers[place.layer - 1];
  const part = (name) => layer[name][step];
  return { score: "heads", after: false, ...place, query: head.queries[step], queryInput: head.queryInputs[step], keys: head.keys, values: head.values,
    products: head.scores[step], divisor: head.scale, scores: head.scores[step].map((score) => score / head.scale), weights: head.weights[step],
    context: head.context[step], layerOutput: head.layerOutput[step], attentional: null,
    residual: { preNorm: layer.preNorm, input: part("input"), selfAttention: part("self_attention"), crossAttention: part("cross_attention"),
      feedForward: part("feed_forward"), output: part("output"), count: activations.layers.length } };
}

/** Layer and head, counted from 1, with the largest weight on a word. */
function sharpestHead(trace, row) {
  const candidates = blocksOf(trace, "cross").flatMap((block) => headsOf(block).map((table, index) => ({ layer: block.layer, head: index + 1, heads: block.shape[0],
    weight: Math.max(0, ...table[row].filter((_, column) => !trace.source.tokens[column].special)) })));
  const { layer, head, heads } = candidates.reduce((a, b) => (b.weight > a.weight ? b : a));
  return { layer, head, heads };
}

/** The word with the largest weight; the first token if there is none. */
function mostAttendedWord(tokens, weights) {
  const words = tokens.map((token, row) => (token.special || !/\p{L}/u.test(token.text) ? -1 : weights[row]));
  return words.indexOf(Math.max(...words));
}

/** The encoder head in which a token looks most at another word; weights of its row. */
function strongestSelfAttention(trace, query) {
  const elsewhere = (column) => column !== query && !trace.source.tokens[column].special && /\p{L}/u.test(trace.source.tokens[column].text);
  const candidates = blocksOf(trace, "encoder_self").flatMap((block) => headsOf(block).map((table, index) => ({ layer: block.layer, head: index + 1,
    heads: block.shape[0], query, weights: table[query], weight: Math.max(0, ...table[query].filter((_, column) => elsewhere(column))) })));
  const strongest = candidates.reduce((a, b) => (b.weight > a.weight ? b : a));
  return { ...strongest, best: strongest.weights.indexOf(Math.max(...strongest.weights)) };
}

/** The source tokens drawn, in their order: all, or the last, which ends the sentence, and those with the largest weights. */
function shownRows(count, best, weights, selfAttention) {
  const all = weights.map((_, row) => row);
  if (count <= MAX_ROWS + 1) return all;
  const byWeight = (values) => [...all].sort((a, b) => values[b] - values[a]);
  const chosen = new Set([best, count - 1, ...(selfAttention ? [selfAttention.query, selfAttention.best, ...byWeight(selfAttention.weights).slice(0, FOR_SELF_ATTENTION)] : [])]);
  for (const row of byWeight(weights)) if (chosen.size < MAX_ROWS) chosen.add(row);
  return [...chosen].sort((a, b) => a - b);
}

/** Σ of some rows of a column. */
export const sumOf = (values, rows) => sum(rows.map((row) => values[row]));

