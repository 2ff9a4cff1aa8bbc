/** Padding test: a sentence's first half, padded to the length of the whole, and alone. */

import { EOS, PAD } from "./tokenizer.js";

/**
 * The fields of the studio's route `/api/padding`: the largest weight on padding, and the largest change of a logit.
 * @param {import("./model.js").Model} model @param {import("./tokenizer.js").Tokenizer} tokenizer
 * @param {number[]} source EOS last @param {number[]} target the tokens of the translation, BOS first
 */
export function paddingTest(model, tokenizer, source, target) {
  const half = [...source.slice(0, Math.floor((source.length - 1) / 2)), EOS];
  const padded = [...half, ...Array(source.length - half.length).fill(PAD)];
  const [beside, alone] = [model.encode(padded, half.length), model.encode(half)].map((encoded) => forced(model, encoded, target.slice(0, -1)));
  const weights = beside.weights.map((own) => Math.max(0, ...own.slice(half.length)));
  return {
    tokens: tokenizer.labels(source), padded_tokens: tokenizer.labels(half),
    padding_weight: weights.length ? Math.max(...weights) : null,
    max_change: Math.max(...beside.logits.map((row, at) => row.reduce((most, value, index) => Math.max(most, Math.abs(value - alone.logits[at][index])), 0))),
  };
}

/** Logits of every position, and the weights of every query and head over the source. */
function forced(model, encoded, input) {
  const names = model.attentions.filter(({ role }) => role === "cross").map(({ name }) => name);
  const weights = Object.values(encoded.calls).flat().flatMap((call) => call.weights);
  let states = [model.start(encoded)];
  const logits = input.map((id) => {
    const result = model.step([id], states);
    states = result.states;
    weights.push(...names.flatMap((name) => result.calls[0][name].weights));
    return result.logits[0];
  });
  return { logits, weights };
}
