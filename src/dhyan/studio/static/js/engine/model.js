/** The encoder-decoder of a recipe: `start` encodes a sentence, `step` decodes one token of every hypothesis. */

import { BahdanauDecoder, LuongDecoder, PlainDecoder, RNNEncoder } from "./rnn.js";
import { TransformerDecoder, TransformerEncoder } from "./transformer.js";

/** @typedef {Float32Array} Vector */
/**
 * @typedef {object} Encoded an encoded sentence
 * @property {Vector[]} states one per token
 * @property {Vector} summary one vector for the whole
 * @property {number} lastRead the position of the token that was read last
 * @property {number} real how many states are of tokens; the rest is padding
 * @property {Record<string, Call[]>} calls of the encoder's attentions, of every query
 * @property {Inputs} input what enters the first layer
 */
/** @typedef {{embeddings: Vector[], inputs: Vector[], scale: number}} Inputs one vector per token; a Transformer's inputs are its
 * embeddings times the scale, plus positions */
/**
 * @typedef {object} Call of an attention: what went in and came out for one query
 * @property {Vector} query before its projection
 * @property {Vector[]} weights of every head
 * @property {Vector} output the context, or that of all heads by their projection
 */
/** @typedef {Call & {projected: Vector, scores: Vector, attentional?: Vector}} SingleCall of an attention with one head: the query by its projection,
 * the scores, and s̃ of a Luong decoder */
/**
 * @typedef {object} StepResult of a step, a row per hypothesis
 * @property {Vector[]} logits of the next token
 * @property {any[]} states after the step
 * @property {Record<string, Call>[]} calls of the decoder's attentions
 * @property {Activation[]} activations
 */
/**
 * @typedef {object} Activation of one step
 * @property {Vector} embedding of the token read
 * @property {Vector} input what enters the first layer
 * @property {Vector} [state] the output of the top recurrent layer
 * @property {Record<string, Vector>[]} layers of a Transformer: input, what each sub-layer adds, output
 * @property {Vector} hidden what enters the output layer
 */

const ENCODERS = { rnn: RNNEncoder, transformer: TransformerEncoder };
const DECODERS = { rnn: PlainDecoder, bahdanau: BahdanauDecoder, luong: LuongDecoder, transformer: TransformerDecoder };

export class Model {
  /** @param {import("./weights.js").Weights} weights @param {{encoder: any, decoder: any}} settings those of the recipe */
  constructor(weights, { encoder, decoder }) {
    const own = `decoder.${decoder.kind === "transformer" ? "embedding." : ""}token_embedding.weight`;
    const shared = `encoder.${encoder.kind === "transformer" ? "embedding." : ""}token_embedding.weight`;
    const embedding = weights.has(own) ? own : shared;
    const output = weights.has("decoder.output.weight") ? "decoder.output.weight" : embedding;
    this.encoder = new ENCODERS[encoder.kind](weights, encoder);
    this.decoder = new DECODERS[decoder.kind](weights, decoder, output, embedding);
    /** @type {{name: string, role: string, layer: number}[]} */
    this.attentions = [...this.encoder.attentions, ...this.decoder.attentions];
  }

  /** Those from `real` on are padding. @param {number[]} ids @param {number} [real] @returns {Encoded} */
  encode(ids, real = ids.length) {
    return this.encoder.encode(ids, real);
  }

  /** The decoder's state before the first token. @param {Encoded} encoded */
  start(encoded) {
    return this.decoder.start(encoded);
  }

  /** @param {number[]} ids the last token of every hypothesis @param {any[]} states @returns {StepResult} */
  step(ids, states) {
    return this.decoder.step(ids, states);
  }

  /** The multi-head attention of a name; undefined if it is none. @param {string} name */
  multiHead(name) {
    return this.encoder.multiHead?.(name) ?? this.decoder.multiHead?.(name);
  }
}
