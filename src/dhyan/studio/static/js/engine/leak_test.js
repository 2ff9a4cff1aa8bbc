/** Leak test: does a change of one decoder input token change the output before it? With and without the causal mask. */

import { largest } from "./layers.js";
import { packVector, packWeights } from "./pack.js";
import { UNK } from "./tokenizer.js";

const ALTERNATIVES = 8; // words suggested for a position

/**
 * The fields of the studio's route `/api/leak`; null if the position cannot be changed.
 * @param {import("./model.js").Model} model @param {import("./tokenizer.js").Tokenizer} tokenizer
 * @param {import("./model.js").Encoded} encoded @param {number[]} target the tokens of the translation, BOS first
 * @param {{position: number, word?: string, masked?: boolean}} request the position is counted from 1
 */
export function leakTest(model, tokenizer, encoded, target, { position, word = "", masked = true }) {
  const hasMask = "allAtOnce" in model.decoder;
  if (position > target.length - 2 || !(masked || hasMask)) return null;
  const input = target.slice(0, -1);
  const run = (ids, withMask) => (hasMask ? model.decoder.allAtOnce(ids, encoded, withMask) : { logits: stepByStep(model, encoded, ids), weights: [] });
  const logits = run(input, true).logits[position - 1];
  const old = target[position];
  const alternatives = largest(logits, logits.length).filter((id) => id !== old && isSingleToken(tokenizer, id)).slice(0, ALTERNATIVES);
  const plain = alternatives.map((id) => tokenizer.plain(id));
  const written = tokenizer.encode(word);
  const ids = written.length ? written : alternatives.slice(0, 1);
  if (ids.length !== 1 || ids[0] === UNK || ids[0] === old) {
    return { word, unchanged: ids.length === 1 && ids[0] === old, suggestions: plain.slice(0, 3) };
  }
  const before = run(input, masked);
  const after = run(input.with(position, ids[0]), masked);
  return {
    decoder_input: tokenizer.labels(input), position, old_token: tokenizer.labels([old])[0], new_token: tokenizer.labels(ids)[0],
    masked, has_mask: hasMask,
    max_change: packVector(Float32Array.from(before.logits, (row, at) => largestDifference(row, after.logits[at]))),
    next_tokens: tokenizer.labels(before.logits.map(best)), changed_next_tokens: tokenizer.labels(after.logits.map(best)),
    alternatives: plain, weights: before.weights.map((rows) => packWeights(rows, input.length)),
  };
}

/** The logits of a decoder that reads token by token. */
function stepByStep(model, encoded, ids) {
  let states = [model.start(encoded)];
  return ids.map((id) => {
    const result = model.step([id], states);
    states = result.states;
    return result.logits[0];
  });
}

const best = (logits) => logits.indexOf(Math.max(...logits));
const largestDifference = (a, b) => a.reduce((most, value, index) => Math.max(most, Math.abs(value - b[index])), 0);

function isSingleToken(tokenizer, id) {
  const word = tokenizer.plain(id);
  const ids = word ? tokenizer.encode(word) : [];
  return ids.length === 1 && ids[0] === id;
}
