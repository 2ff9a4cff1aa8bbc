/** The prediction after every decoder layer (logit lens; nostalgebraist, 2020), as `dhyan.insight.logit_lens`. */

import { largest, logSoftmax } from "./layers.js";

const TOP_TOKENS = 5;

/**
 * The fields of the studio's route `/api/layers`; `layers` is null for a decoder without such vectors.
 * @param {import("./model.js").Model} model @param {import("./tokenizer.js").Tokenizer} tokenizer
 * @param {import("./model.js").Encoded} encoded @param {number[]} target the tokens of the translation, BOS first
 */
export function logitLens({ decoder }, tokenizer, encoded, target) {
  if (!("allAtOnce" in decoder)) return { inputs: [], outputs: [], layers: null };
  const [input, output] = [target.slice(0, -1), target.slice(1)];
  const layers = decoder.allAtOnce(input, encoded, true).hidden
    .map((hidden) => decoder.predict(hidden).map((logits, position) => cell(tokenizer, logSoftmax(logits), output[position])));
  return { inputs: tokenizer.labels(input), outputs: tokenizer.labels(output), layers };
}

/** The top tokens, and probability and rank of the token of the translation. */
function cell(tokenizer, logprobs, output) {
  const top = largest(logprobs, TOP_TOKENS);
  const labels = tokenizer.labels(top);
  return { top_tokens: top.map((id, rank) => [labels[rank], Math.exp(logprobs[id])]), top_is_output: top[0] === output,
    prob: Math.exp(logprobs[output]), rank: logprobs.reduce((count, logprob) => count + Number(logprob > logprobs[output]), 1) };
}
