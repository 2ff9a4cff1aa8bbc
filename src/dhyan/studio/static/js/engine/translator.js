/** From text to the trace of its translation, and to what the studio's views ask of a model beside it. */

import { activationsOf } from "./activations.js";
import { beamTree, pathOf } from "./beam_tree.js";
import { largest, logSoftmax } from "./layers.js";
import { leakTest } from "./leak_test.js";
import { logitLens } from "./logit_lens.js";
import { Model } from "./model.js";
import { decoderSteps, headOperands } from "./operands.js";
import { packWeights } from "./pack.js";
import { paddingTest } from "./padding_test.js";
import { search } from "./search.js";
import { BOS, EOS, SPECIAL_TOKENS, Tokenizer } from "./tokenizer.js";
import { TrainingSentences } from "./training_sentences.js";
import { decodeBase64, Weights } from "./weights.js";
import { compareWords } from "./word_diff.js";
import { projectWords } from "./word_projection.js";

const SCHEMA = "dhyan-trace/2";
const TOP_TOKENS = 5;
const MAX_TOKENS = 128; // of a sentence, as in the studio
const MAX_CACHED = 4;

/**
 * @typedef {object} ModelFacts what a page has of a model beside its weights
 * @property {any} encoder settings of the recipe
 * @property {any} decoder
 * @property {{max_length: number, length_penalty: number}} decoding
 * @property {{source: number, target: number | null}} limits most tokens of a sentence and of a translation
 * @property {string} training_sentences hashes of the sentences it was trained on, in base64; empty if not known
 * @property {any} source the tokenizer's JSON
 * @property {any} target
 */
/** @typedef {{text: string, model: string, beam: number, prefix: string}} TranslateRequest */
/** @typedef {(labels: string[]) => Promise<void>} Report gets the tokens so far; throws when the request was given up */
/** @typedef {{source: number[], output: number[], hypothesis: import("./search.js").Hypothesis}} Translation token ids, EOS included */
/**
 * @typedef {object} ForcedPass over a finished translation
 * @property {import("./model.js").Encoded} encoded
 * @property {Float32Array[]} logprobs of every token at every step
 * @property {Record<string, import("./model.js").Call[]>} calls of every attention
 */

/** A request that cannot be answered; the page shows the message. */
class RequestError extends Error {}

export class Translator {
  /** @param {ModelFacts} facts @param {ArrayBuffer} buffer the model file */
  constructor(facts, buffer) {
    this.facts = facts;
    this.source = new Tokenizer(facts.source);
    this.target = new Tokenizer(facts.target);
    this.model = new Model(new Weights(buffer), facts);
    /** @type {Map<string, Translation>} the last translations */
    this.cache = new Map();
    /** @type {Promise<TrainingSentences> | null} null if they are not known */
    this.trainingSentences = facts.training_sentences ? TrainingSentences.read(decodeBase64(facts.training_sentences)) : null;
  }

  /** The answer to a request of the page. @param {string} operation @param {any} body @param {Report} report */
  async answer(operation, body, report) {
    if (operation === "seen") return this.#seen(body);
    if (operation === "gravity") return this.#gravity(body);
    if (operation === "beam") return this.#beam(body, report);
    const translation = await this.#translate(body, report);
    switch (operation) {
      case "translate": return this.#trace(body, translation);
      case "step": return this.#steps(translation);
      case "activations": return activationsOf(this.model, this.facts, this.target, translation);
      case "head": return this.#head(body, translation);
      case "importance": return this.#importance(body, translation, report);
      case "ablation": return this.#ablation(body, translation, report);
      case "leak": return this.#leak(body, translation);
      case "padding": return paddingTest(this.model, this.source, translation.source, [BOS, ...translation.output]);
      case "layers": return logitLens(this.model, this.target, this.model.encode(translation.source), [BOS, ...translation.output]);
      default: throw new RequestError(`the model cannot answer ${operation}`);
    }
  }

  /** The best translation of a sentence. @param {TranslateRequest} request @param {Report} report @returns {Promise<Translation>} */
  async #translate({ text, beam, prefix }, report, cached = true) {
    const key = JSON.stringify([text, beam, prefix]);
    const known = cached && this.cache.get(key);
    if (known) return known;
    const source = this.#encode(text);
    const forced = this.target.encode(prefix);
    const hypothesis = await search(this.model, this.model.encode(source), { beam, prefix: forced, maxLength: this.#maxLength(source.length - 1, forced.length),
      lengthPenalty: this.facts.decoding.length_penalty, onStep: (tokens) => report(this.target.labels(tokens)) });
    const output = hypothesis.finished ? [...hypothesis.ids, EOS] : hypothesis.ids;
    const translation = { source, output, hypothesis };
    if (cached) this.cache.set(key, translation);
    if (this.cache.size > MAX_CACHED) this.cache.delete([...this.cache.keys()][0]);
    return translation;
  }

  /** The token ids of a sentence, EOS last. @param {string} text */
  #encode(text) {
    const ids = this.source.encode(text);
    if (!ids.length) throw new RequestError("the sentence is empty: write something to translate");
    const longest = Math.min(MAX_TOKENS, this.facts.limits.source);
    if (ids.length > longest) throw new RequestError(`${ids.length} tokens; the page takes at most ${longest}: write a shorter one`);
    return [...ids, EOS];
  }

  /** Beam search with every hypothesis it considered, and greedy search beside it. @param {TranslateRequest} body @param {Report} report */
  async #beam({ text, beam, prefix }, report) {
    const source = this.#encode(text);
    const encoded = this.model.encode(source);
    const options = { beam, prefix: this.target.encode(prefix), maxLength: Math.min(MAX_TOKENS, this.facts.limits.target ?? Infinity),
      lengthPenalty: this.facts.decoding.length_penalty, onStep: () => report([]) };
    const greedy = await search(this.model, encoded, { ...options, beam: 1 });
    const greedyIds = [...greedy.ids, ...(greedy.finished ? [EOS] : [])];
    const { sequences, ...tree } = await beamTree(this, encoded, options, this.source.words(source));
    return { ...tree, greedy: this.target.labels(greedyIds), greedy_text: this.target.decode(greedy.ids),
      greedy_score: greedy.score, greedy_path: pathOf(tree.nodes, sequences, greedyIds) };
  }

  /** Whether each sentence was seen in training; null if that is not known. @param {{texts: string[]}} body */
  async #seen({ texts }) {
    const sentences = await this.trainingSentences;
    return sentences && texts.map((text) => sentences.has(text));
  }

  /** The words of a sentence that the vocabulary or the training text does not have. @param {string} text @param {number[]} ids */
  async #unknownWords(text, ids) {
    const words = this.source.words(ids).filter(({ first, last }) => ids.slice(first, last).some((id) => this.source.isUnknown(id)))
      .map((word) => word.text);
    const unseen = (await this.trainingSentences)?.unseenWords(text) ?? [];
    return [...words, ...unseen.filter((word) => !words.some((known) => known.includes(word)))];
  }

  #gravity({ text }) {
    const ids = this.#encode(text);
    const projection = projectWords(this.model, ids, this.source.words(ids).slice(0, -1));
    if (typeof projection === "string") throw new RequestError(projection);
    return projection;
  }

  #maxLength(tokens, forced) {
    return Math.min(this.facts.decoding.max_length || 3 * tokens + 50 + forced, this.facts.limits.target ?? Infinity);
  }

  /** A second pass over all tokens of a translation. @param {Translation} translation @returns {ForcedPass} */
  #force({ source, output }) {
    const encoded = this.model.encode(source);
    const calls = Object.fromEntries(this.model.attentions.map(({ name }) => [name, encoded.calls[name] ?? []]));
    let states = [this.model.start(encoded)];
    const logprobs = [BOS, ...output.slice(0, -1)].map((id) => {
      const result = this.model.step([id], states);
      states = result.states;
      for (const [name, call] of Object.entries(result.calls[0])) calls[name].push(call);
      return logSoftmax(result.logits[0]);
    });
    return { encoded, logprobs, calls };
  }

  /** The log-probability of every token of a translation. @param {Translation} translation @returns {number[]} */
  #tokenLogprobs(translation) {
    return this.#force(translation).logprobs.map((row, at) => row[translation.output[at]]);
  }

  /** The trace, as `dhyan.insight.trace`. @param {TranslateRequest} request @param {Translation} translation */
  async #trace({ text, model }, translation) {
    const { source, output, hypothesis } = translation;
    const input = [BOS, ...output.slice(0, -1)];
    const { calls, logprobs } = this.#force(translation);
    const lengths = { encoder_self: source.length, decoder_self: input.length, cross: source.length };
    return {
      schema: SCHEMA, model, text, translation: this.target.decode(hypothesis.ids), finished: hypothesis.finished,
      source: side(this.source, source), decoder_input: side(this.target, input), target: side(this.target, output),
      steps: logprobs.map((row, at) => this.#step(row, output[at])),
      attention: this.model.attentions.map((attention) => ({ ...attention, ...packWeights(calls[attention.name].map(({ weights }) => weights), lengths[attention.role]) })),
      score: hypothesis.score, unknown_words: await this.#unknownWords(text, source.slice(0, -1)),
      task: "translate", figure: "heatmap", picture: null, sound: null,
    };
  }

  #step(logprobs, id) {
    const order = largest(logprobs, TOP_TOKENS);
    const labels = this.target.labels(order);
    return { logprob: logprobs[id], top_tokens: order.map((token, rank) => [labels[rank], Math.exp(logprobs[token])]) };
  }

  #steps(translation) {
    const [cross] = this.model.attentions.filter(({ role }) => role === "cross");
    if (!cross) throw new RequestError("this model has no attention");
    const { encoded, calls } = this.#force(translation);
    return decoderSteps(this.model.decoder, encoded, /** @type {import("./model.js").SingleCall[]} */ (calls[cross.name]));
  }

  #leak(body, { source, output }) {
    const test = leakTest(this.model, this.target, this.model.encode(source), [BOS, ...output], body);
    if (test === null) throw new RequestError("this position of the translation cannot be changed: choose another");
    return test;
  }

  #head({ role, layer, head }, translation) {
    const place = this.#place(role, layer);
    const attention = this.model.multiHead(place.name);
    if (!attention) throw new RequestError("this attention has a single head: see One step");
    const { encoded, calls } = this.#force(translation);
    const inputs = role === "cross" ? encoded.states : calls[place.name].map(({ query }) => query);
    return headOperands(attention, place, inputs, calls[place.name], head);
  }

  /** By layer and head: the change of the translation's log-probability without the head. */
  async #importance({ role }, translation, report) {
    const total = sum(this.#tokenLogprobs(translation));
    const changes = [];
    for (const { name } of this.model.attentions.filter((attention) => attention.role === role)) {
      const row = [];
      for (let head = 0; head < this.model.multiHead(name).heads; head += 1) {
        await report([]);
        row.push(this.#without(name, head, () => sum(this.#tokenLogprobs(translation))) - total);
      }
      changes.push(row);
    }
    return { logprob_changes: changes };
  }

  /** The translation without a head, compared with that with all heads. */
  async #ablation({ role, layer, head, text, model, beam, prefix }, translation, report) {
    const { name } = this.#place(role, layer);
    const logprobs = this.#tokenLogprobs(translation);
    const ablatedLogprobs = this.#without(name, head - 1, () => this.#tokenLogprobs(translation));
    const attention = this.model.multiHead(name);
    try {
      attention.removed = head - 1;
      const ablated = await this.#translate({ text, model, beam, prefix }, report, false);
      const [before, after] = [translation, ablated].map(({ hypothesis }) => this.target.decode(hypothesis.ids));
      return { translation: after, words: compareWords(before.split(" "), after.split(" ")), logprobs,
        ablated_logprobs: ablatedLogprobs, score: sum(this.#tokenLogprobs(ablated)) };
    } finally {
      attention.removed = -1;
    }
  }

  /** Compute something with the context of a head, counted from 0, at zero. */
  #without(name, head, compute) {
    const attention = this.model.multiHead(name);
    attention.removed = head;
    try {
      return compute();
    } finally {
      attention.removed = -1;
    }
  }

  #place(role, layer) {
    const place = this.model.attentions.find((attention) => attention.role === role && attention.layer === layer);
    if (!place) throw new RequestError(`this model has no attention of that role in layer ${layer}`);
    return place;
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Tokens and words of one side. @param {Tokenizer} tokenizer @param {number[]} ids */
function side(tokenizer, ids) {
  const words = tokenizer.words(ids);
  const labels = tokenizer.labels(ids);
  const tokens = words.flatMap(({ first, last }, word) => ids.slice(first, last).map((id, index) =>
    ({ text: labels[first + index], id, word, special: id < SPECIAL_TOKENS })));
  return { tokens, words: words.map((word) => word.text) };
}
