/** Greedy search and beam search, as `dhyan.decoding.search` and `dhyan.decoding.beam`. */

import { logSoftmax } from "./layers.js";
import { BOS, EOS, PAD } from "./tokenizer.js";

/** @typedef {Pick<import("./model.js").Model, "start" | "step">} Decoder all that a search needs of a model */
/** @typedef {{ids: number[], score: number, finished: boolean}} Hypothesis token ids without BOS and EOS */
/**
 * @typedef {object} Candidate an extension that a step of beam search considers
 * @property {number} parent the hypothesis that it extends
 * @property {number} token
 * @property {number} score the sum of its log-probabilities
 * @property {number} logprob of the token
 * @property {"kept" | "finished" | "dropped"} fate
 */
/**
 * @typedef {object} SearchOptions
 * @property {number} beam 1 is greedy search
 * @property {number} maxLength in tokens, EOS counted
 * @property {number} lengthPenalty scores are log-probability / length ** lengthPenalty
 * @property {number[]} prefix token ids that the translation begins with
 * @property {(ids: number[]) => Promise<void> | void} onStep gets the tokens of the best hypothesis; may throw to stop
 * @property {(candidates: Candidate[], result: import("./model.js").StepResult) => void} [onCandidates] gets the 2 × beam best
 *   extensions of a step of beam search, the best first; those kept are the next step's hypotheses, in this order
 */

/** The best hypothesis of a sentence. @param {Decoder} model @param {import("./model.js").Encoded} encoded
 * @param {SearchOptions} options @returns {Promise<Hypothesis>} */
export async function search(model, encoded, options) {
  if (options.beam === 1) return greedySearch(model, encoded, options);
  const [best] = await beamSearch(model, encoded, options);
  return best;
}

/** @param {Decoder} model @param {import("./model.js").Encoded} encoded @param {SearchOptions} options */
async function greedySearch(model, encoded, { maxLength, lengthPenalty, prefix, onStep }) {
  let states = [model.start(encoded)];
  const ids = [];
  let [total, last] = [0, BOS];
  while (ids.length < maxLength && last !== EOS) {
    const result = model.step([last], states);
    const scores = nextLogprobs(result.logits[0], ids.length, prefix);
    last = indexOfLargest(scores);
    total = Math.fround(total + scores[last]);
    ids.push(last);
    states = result.states;
    await onStep(ids.filter((id) => id !== EOS));
  }
  return hypothesis(ids, byLength(total, ids.length, lengthPenalty));
}

/** The hypotheses of a beam search, the best first, finished ones before unfinished ones; a beam of 1 is greedy search.
 * @param {Decoder} model @param {import("./model.js").Encoded} encoded
 * @param {SearchOptions} options @returns {Promise<Hypothesis[]>} */
export async function beamSearch(model, encoded, { beam, maxLength, lengthPenalty, prefix, onStep, onCandidates = () => {} }) {
  /** @type {{ids: number[], score: number, state: any}[]} the unfinished hypotheses, best first */
  let going = [{ ids: [], score: 0, state: model.start(encoded) }];
  /** @type {{ids: number[], score: number}[]} the best finished ones, best first */
  let finished = [];
  for (let length = 1; ; length += 1) {
    const result = model.step(going.map(({ ids }) => ids.at(-1) ?? BOS), going.map(({ state }) => state));
    const scores = result.logits.map((logits) => nextLogprobs(logits, length - 1, prefix));
    const candidates = withFates(largest(2 * beam, going.map(({ score }) => score), scores), beam);
    onCandidates(candidates.map((candidate) => ({ ...candidate, logprob: scores[candidate.parent][candidate.token] })), result);
    const extend = ({ parent, token, score }) => ({ ids: [...going[parent].ids, token], score, state: result.states[parent] });
    const ending = candidates.filter(({ fate }) => fate === "finished").map(extend)
      .map(({ ids, score }) => ({ ids, score: byLength(score, length, lengthPenalty) }));
    going = candidates.filter(({ fate }) => fate === "kept").map(extend);
    finished = [...finished, ...ending].sort((a, b) => b.score - a.score).slice(0, beam);
    const unfinished = going.map(({ ids, score }) => ({ ids, score: byLength(score, length, lengthPenalty) }));
    const best = Math.max(-Infinity, ...unfinished.map(({ score }) => score));
    const done = best <= (finished.length === beam ? finished.at(-1).score : -Infinity);
    await onStep((going[0] ?? finished[0]).ids.filter((id) => id !== EOS));
    if (done || length >= maxLength) return [...finished, ...unfinished].slice(0, beam).map(({ ids, score }) => hypothesis(ids, score));
  }
}

/** What becomes of the best extensions: the first W that continue are kept; an EOS must be among the W best of all. */
function withFates(candidates, beam) {
  let kept = 0;
  return candidates.map((candidate, rank) => {
    const stays = candidate.token === EOS ? rank < beam : kept < beam;
    if (stays && candidate.token !== EOS) kept += 1;
    return { ...candidate, fate: !stays ? "dropped" : candidate.token === EOS ? "finished" : "kept" };
  });
}

/** Log-probabilities of the next token; PAD and BOS are forbidden, a prefix is forced. */
function nextLogprobs(logits, position, prefix) {
  const scores = logSoftmax(logits);
  [scores[PAD], scores[BOS]] = [-Infinity, -Infinity];
  if (position >= prefix.length) return scores;
  const forced = scores[prefix[position]];
  scores.fill(-Infinity);
  scores[prefix[position]] = forced;
  return scores;
}

/** The best extensions of all hypotheses, best first; of equal ones the earlier. */
function largest(count, before, scores) {
  /** @type {{parent: number, token: number, score: number}[]} */
  const best = [];
  scores.forEach((row, parent) => {
    for (let token = 0; token < row.length; token += 1) {
      const score = Math.fround(before[parent] + row[token]);
      if (!(score > (best.length < count ? -Infinity : best[count - 1].score))) continue;
      let at = Math.min(best.length, count - 1);
      while (at > 0 && best[at - 1].score < score) at -= 1;
      best.splice(at, 0, { parent, token, score });
      if (best.length > count) best.pop();
    }
  });
  if (!best.length) throw new Error("the model gives no token a finite score");
  return best;
}

function indexOfLargest(scores) {
  let best = 0;
  for (let index = 1; index < scores.length; index += 1) if (scores[index] > scores[best]) best = index;
  return best;
}

export const byLength = (total, length, penalty) => Math.fround(total / Math.fround(Math.max(length, 1) ** penalty));

/** @returns {Hypothesis} */
function hypothesis(ids, score) {
  const finished = ids.at(-1) === EOS;
  return { ids: finished ? ids.slice(0, -1) : ids, score, finished };
}
