/** Recurrent encoder and decoders (Sutskever et al., 2014; Bahdanau et al., 2015; Luong et al., 2015), as `dhyan.models.rnn`. */

import { addWeighted, concatenate, dot, embed, linear, softmax } from "./layers.js";
import { Bridge, Recurrence, SentenceRecurrence } from "./recurrent_layers.js";

/** @typedef {Float32Array} Vector */
/** @typedef {import("./model.js").Encoded} Encoded */
/** @typedef {import("./model.js").StepResult} StepResult */
/** @typedef {{keys: Vector[], values: Vector[], real: number}} Memory the keys from `real` on are padding */

export class RNNEncoder {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, settings) {
    this.table = weights.get("encoder.token_embedding.weight");
    this.reverse = settings.reverse_source;
    this.recurrence = new SentenceRecurrence(weights, "encoder.rnn", { ...settings, reverse: settings.reverse_source });
    this.attentions = [];
  }

  /** Those from `real` on are padding, which is not read. @param {number[]} ids @param {number} [real] @returns {Encoded} */
  encode(ids, real = ids.length) {
    const embeddings = ids.slice(0, real).map((id) => embed(this.table, id));
    const { states, final } = this.recurrence.run(embeddings);
    const padding = ids.slice(real).map(() => new Float32Array(states[0].length));
    return { states: [...states, ...padding], summary: concatenate(...final.flat()), lastRead: this.reverse ? 0 : real - 1, real, calls: {},
      input: { embeddings, inputs: embeddings, scale: 1 } };
  }

  /** The embeddings, and the states, which are in a space of their own. @param {number[]} ids
   * @returns {{shared: boolean, stages: Vector[][]}} */
  vectors(ids) {
    return { shared: false, stages: [ids.map((id) => embed(this.table, id)), this.encode(ids).states] };
  }
}

/** One query's attention to the states of the source: keys, scores, weights, context. */
class SourceAttention {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, { score }) {
    const name = "decoder.attention.score";
    this.score = score;
    this.key = weights.has(`${name}.key.weight`) ? weights.linear(`${name}.key`) : null;
    this.query = weights.has(`${name}.query.weight`) ? weights.linear(`${name}.query`) : null;
    this.energy = weights.has(`${name}.energy`) ? weights.get(`${name}.energy`).data : null;
  }

  /** @param {Encoded} encoded @returns {Memory} */
  remember({ states, lastRead, real }) {
    if (this.score === "bottleneck") return { keys: states.map((_, at) => Float32Array.of(at === lastRead ? 0 : -Infinity)), values: states, real };
    return { keys: this.key ? linear(this.key, states) : states, values: states, real };
  }

  /** @param {Vector[]} queries @param {Memory[]} memories @returns {import("./model.js").Call[]} */
  attend(queries, memories) {
    const projected = this.query ? linear(this.query, queries) : queries;
    return memories.map(({ keys, values, real }, row) => {
      const scores = Float32Array.from(keys, (key, column) => (column < real ? this.#scoreOf(projected[row], key) : -Infinity));
      const weights = softmax(scores);
      const output = new Float32Array(values[0].length);
      addWeighted(output, weights, values);
      return { query: queries[row], projected: projected[row], scores, weights: [weights], output };
    });
  }

  #scoreOf(query, key) {
    if (this.score === "bottleneck") return key[0];
    if (this.energy) {
      let sum = 0;
      for (let index = 0; index < key.length; index += 1) sum += this.energy[index] * Math.tanh(query[index] + key[index]);
      return sum;
    }
    return dot(query, key) * (this.score === "scaled_dot" ? key.length ** -0.5 : 1);
  }
}

/** @param {Vector[]} embeddings @param {Vector[]} outputs of the top layer @param {Vector[]} hidden
 * @returns {import("./model.js").Activation[]} */
const activationsOf = (embeddings, outputs, hidden) =>
  embeddings.map((embedding, row) => ({ embedding, input: embedding, state: outputs[row], layers: [], hidden: hidden[row] }));

const CROSS = [{ name: "decoder.attention", role: "cross", layer: 1 }];

/** What the recurrent decoders share: embedding, bridge, recurrence, output layer. */
class RecurrentDecoder {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, settings, outputTable, embeddingName) {
    this.table = weights.get(embeddingName);
    this.bridge = new Bridge(weights, settings);
    this.recurrence = new Recurrence(weights, "decoder.recurrence.rnn", settings.cell, settings.layers);
    this.output = weights.linear("decoder.output", outputTable);
    /** @type {{name: string, role: string, layer: number}[]} */
    this.attentions = [];
  }
}

/** s_i = f(s_{i−1}, y_{i−1}); nothing else of the source is read. */
export class PlainDecoder extends RecurrentDecoder {
  /** @param {Encoded} encoded */
  start(encoded) {
    return { hidden: this.bridge.start(encoded.summary) };
  }

  /** @param {number[]} ids @returns {StepResult} */
  step(ids, states) {
    const embeddings = ids.map((id) => embed(this.table, id));
    const [outputs, hidden] = this.recurrence.step(embeddings, states.map((state) => state.hidden));
    return { logits: linear(this.output, outputs), states: hidden.map((own) => ({ hidden: own })), calls: ids.map(() => ({})),
      activations: activationsOf(embeddings, outputs, outputs) };
  }
}

/** c_i = attention(s_{i−1}); s_i = f(s_{i−1}, y_{i−1}, c_i); a maxout readout of s_i, y_{i−1}, c_i. */
export class BahdanauDecoder extends RecurrentDecoder {
  constructor(weights, settings, outputTable, embeddingName) {
    super(weights, settings, outputTable, embeddingName);
    this.attention = new SourceAttention(weights, settings.attention);
    this.readout = weights.linear("decoder.readout");
    this.attentions = CROSS;
  }

  /** @param {Encoded} encoded */
  start(encoded) {
    return { hidden: this.bridge.start(encoded.summary), memory: this.attention.remember(encoded) };
  }

  /** @param {number[]} ids @returns {StepResult} */
  step(ids, states) {
    const found = this.attention.attend(states.map((state) => state.hidden[0].at(-1)), states.map((state) => state.memory));
    const embeddings = ids.map((id) => embed(this.table, id));
    const inputs = embeddings.map((embedding, row) => concatenate(embedding, found[row].output));
    const [outputs, hidden] = this.recurrence.step(inputs, states.map((state) => state.hidden));
    const readout = linear(this.readout, outputs.map((output, row) => concatenate(output, inputs[row]))).map(maxout);
    return { logits: linear(this.output, readout), states: hidden.map((own, row) => ({ hidden: own, memory: states[row].memory })),
      calls: found.map((call) => ({ [CROSS[0].name]: call })), activations: activationsOf(embeddings, outputs, readout) };
  }
}

/** s_i = f(s_{i−1}, y_{i−1}); c_i = attention(s_i); s̃_i = tanh(W [c_i; s_i]), fed to the next step with input feeding. */
export class LuongDecoder extends RecurrentDecoder {
  constructor(weights, settings, outputTable, embeddingName) {
    super(weights, settings, outputTable, embeddingName);
    this.attention = new SourceAttention(weights, settings.attention);
    this.combine = weights.linear("decoder.combine");
    this.inputFeeding = settings.input_feeding;
    this.attentions = CROSS;
  }

  /** @param {Encoded} encoded */
  start(encoded) {
    return { hidden: this.bridge.start(encoded.summary), attentional: new Float32Array(this.combine.rows), memory: this.attention.remember(encoded) };
  }

  /** @param {number[]} ids @returns {StepResult} */
  step(ids, states) {
    const embeddings = ids.map((id) => embed(this.table, id));
    const inputs = embeddings.map((embedding, row) => (this.inputFeeding ? concatenate(embedding, states[row].attentional) : embedding));
    const [outputs, hidden] = this.recurrence.step(inputs, states.map((state) => state.hidden));
    const found = this.attention.attend(outputs, states.map((state) => state.memory));
    const attentional = linear(this.combine, found.map(({ output }, row) => concatenate(output, outputs[row]))).map((own) => own.map(Math.tanh));
    return { logits: linear(this.output, attentional),
      states: hidden.map((own, row) => ({ hidden: own, attentional: attentional[row], memory: states[row].memory })),
      calls: found.map((call, row) => ({ [CROSS[0].name]: { ...call, attentional: attentional[row] } })),
      activations: activationsOf(embeddings, outputs, attentional) };
  }
}

/** The larger of every two neighbours (Goodfellow et al., 2013). @param {Vector} pairs @returns {Vector} */
const maxout = (pairs) => Float32Array.from({ length: pairs.length / 2 }, (_, index) => Math.max(pairs[2 * index], pairs[2 * index + 1]));
