/** A beam search with everything it considered, as `dhyan.insight.beam_tree`. */

import { beamSearch, byLength } from "./search.js";
import { EOS, SPECIAL_TOKENS } from "./tokenizer.js";

const DIGITS = 1e5; // attention weights are rounded

/**
 * The fields of `dhyan.insight.beam_tree.BeamTree` but those of greedy search, and the token ids of every node: `sequences`.
 * @param {import("./translator.js").Translator} translator @param {import("./model.js").Encoded} encoded
 * @param {import("./search.js").SearchOptions} options @param {{first: number, last: number, text: string}[]} words of the source
 */
export async function beamTree({ model, target }, encoded, options, words) {
  const cross = model.attentions.filter(({ role }) => role === "cross").map(({ name }) => name);
  /** @type {number[][]} */
  const sequences = [[]]; // the token ids of every node
  const nodes = [{ step: 0, parent: -1, token: "<s>", special: true, text: "", logprob: 0, score: 0, score_by_length: 0, rank: 1, fate: "kept", attention: [] }];
  let slots = [0]; // the nodes of the unfinished hypotheses

  function onCandidates(candidates, result) {
    const step = nodes[slots[0]].step + 1;
    const next = [];
    candidates.forEach(({ parent, token, score, logprob, fate }, index) => {
      const before = nodes[slots[parent]];
      const ids = [...sequences[slots[parent]], token];
      sequences.push(ids);
      if (!before.attention.length && cross.length) before.attention = byWord(result.calls[parent], cross, words);
      if (fate === "kept") next.push(nodes.length);
      nodes.push({ step, parent: slots[parent], token: target.labels([token])[0], special: token < SPECIAL_TOKENS, text: target.decode(ids.filter((id) => id !== EOS)),
        logprob, score, score_by_length: byLength(score, step, options.lengthPenalty), rank: index + 1, fate, attention: [] });
    });
    slots = next;
  }

  const hypotheses = await beamSearch(model, encoded, { ...options, onCandidates });
  const place = new Map(nodes.map(({ fate }, index) => [sequences[index].join(" "), fate === "dropped" ? -1 : index]));
  const results = hypotheses.map(({ ids, finished }) => place.get([...ids, ...(finished ? [EOS] : [])].join(" ")));
  return { beam: options.beam, length_penalty: options.lengthPenalty, source: words.map(({ text }) => text), nodes, results, sequences };
}

/** The nodes of these tokens, as far as the tree has them. @param {{parent: number}[]} nodes
 * @param {number[][]} sequences @param {number[]} ids */
export function pathOf(nodes, sequences, ids) {
  const path = [];
  for (const token of ids) {
    const parent = path.at(-1) ?? 0;
    const next = nodes.findIndex((node, index) => node.parent === parent && sequences[index].at(-1) === token);
    if (next < 0) break;
    path.push(next);
  }
  return path;
}

/** Weights over the source words: the mean of all heads, then of all attentions. */
function byWord(calls, names, words) {
  const means = names.map((name) => mean(calls[name].weights));
  const weights = mean(means);
  return words.map(({ first, last }) => Math.round(weights.slice(first, last).reduce((sum, weight) => sum + weight, 0) * DIGITS) / DIGITS);
}

const mean = (rows) => Array.from(rows[0], (_, column) => rows.reduce((sum, row) => sum + row[column], 0) / rows.length);
