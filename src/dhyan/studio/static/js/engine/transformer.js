/** The Transformer (Vaswani et al., 2017) with pre- or post-norm and a key-value cache, as `dhyan.models.transformer`. */

import { addWeighted, dot, embed, layerNorm, linear, softmax, sum } from "./layers.js";

/** @typedef {Float32Array} Vector */
/** @typedef {{keys: Vector[], values: Vector[], real?: number}} Memory the keys from `real` on are padding */
/** @typedef {import("./model.js").Encoded} Encoded */

/** Token embeddings times √width, plus positions. */
class Embedding {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, name, table, { width, positions }) {
    this.table = weights.get(table);
    this.width = width;
    this.learned = positions === "learned" ? weights.get(`${name}.positions.table`) : null;
    this.positions = positions;
  }

  /** The factor of an embedding before its position is added. */
  get scale() {
    return Math.sqrt(this.width);
  }

  /** @param {number} id @param {number} position @returns {Vector} */
  at(id, position) {
    const vector = embed(this.table, id).map((value) => value * this.scale);
    if (this.learned) return sum(vector, embed(this.learned, position));
    return this.positions === "sinusoidal" ? sum(vector, sinusoids(position, this.width)) : vector;
  }
}

/** Sine and cosine of every frequency, side by side. @param {number} position @returns {Vector} */
const sinusoids = (position, width) => Float32Array.from({ length: width }, (_, index) => {
  const angle = Math.fround(position * Math.fround(10_000 ** -((index - (index % 2)) / width)));
  return index % 2 ? Math.cos(angle) : Math.sin(angle);
});

class MultiHeadAttention {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, name, { heads, score }) {
    this.query = weights.linear(`${name}.query`);
    this.key = weights.linear(`${name}.key`);
    this.value = weights.linear(`${name}.value`);
    this.output = weights.linear(`${name}.output`);
    this.heads = heads;
    this.headWidth = this.query.rows / heads;
    this.scale = score === "scaled_dot" ? this.headWidth ** -0.5 : 1;
    this.removed = -1; // the head whose context is zero, for ablation; -1: none
  }

  /** Keys and values of states; those from `real` on are padding. @param {Vector[]} states @param {number} [real] @returns {Memory} */
  remember(states, real = states.length) {
    return { keys: linear(this.key, states), values: linear(this.value, states), real };
  }

  /** Each query attends to its own memory. @param {Vector[]} queries @param {Memory[]} memories
   * @returns {import("./model.js").Call[]} */
  attend(queries, memories) {
    const projected = linear(this.query, queries);
    /** @type {Vector[][]} */
    const weights = [];
    const contexts = projected.map((query, row) => {
      const { keys, values, real = keys.length } = memories[row];
      const context = new Float32Array(query.length);
      weights.push(Array.from({ length: this.heads }, (_, head) => {
        const [start, stop] = [head * this.headWidth, (head + 1) * this.headWidth];
        const own = softmax(keys.map((key, column) => (column < real ? dot(query, key, start, stop) * this.scale : -Infinity)));
        if (head !== this.removed) addWeighted(context, own, values, start, stop);
        return own;
      }));
      return context;
    });
    return linear(this.output, contexts).map((output, row) => ({ query: queries[row], weights: weights[row], output }));
  }
}

const ACTIVATIONS = { relu: (x) => Math.max(x, 0), swiglu: (x) => x / (1 + Math.exp(-x)) };

class FeedForward {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, name, { activation }) {
    this.activation = ACTIVATIONS[activation];
    this.up = weights.linear(`${name}.up`);
    this.gate = activation === "swiglu" ? weights.linear(`${name}.gate`) : null;
    this.down = weights.linear(`${name}.down`);
  }

  /** @param {Vector[]} inputs @returns {Vector[]} */
  run(inputs) {
    const up = linear(this.up, inputs);
    const gate = this.gate && linear(this.gate, inputs);
    return linear(this.down, up.map((x, row) => (gate ? x.map((value, index) => value * this.activation(gate[row][index])) : x.map(this.activation))));
  }
}

/** A sub-layer with its residual: x + f(norm(x)), or norm(x + f(x)) as in the paper. */
class SubLayer {
  constructor(norm, preNorm) {
    this.norm = norm;
    this.preNorm = preNorm;
  }

  /** @param {Vector[]} x @param {(inputs: Vector[]) => Vector[]} f @returns {Vector[]} */
  run(x, f) {
    const outputs = f(this.preNorm ? x.map((row) => layerNorm(this.norm, row)) : x);
    const sums = x.map((row, index) => sum(row, outputs[index]));
    return this.preNorm ? sums : sums.map((row) => layerNorm(this.norm, row));
  }
}

/** The vectors after a norm, if there is one. @param {import("./weights.js").Norm | null} norm @param {Vector[]} x */
const normalized = (norm, x) => (norm ? x.map((row) => layerNorm(norm, row)) : x);

const layerNumbers = (count) => Array.from({ length: count }, (_, layer) => layer);

export class TransformerEncoder {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, settings) {
    this.embedding = new Embedding(weights, "encoder.embedding", "encoder.embedding.token_embedding.weight", settings);
    const preNorm = settings.norm === "pre";
    this.layers = layerNumbers(settings.layers).map((layer) => {
      const name = `encoder.layers.${layer}`;
      return { name: `${name}.self_attention`,
        attention: new MultiHeadAttention(weights, `${name}.self_attention`, settings),
        attentionLayer: new SubLayer(weights.norm(`${name}.self_attention_norm`), preNorm),
        feedForward: new FeedForward(weights, `${name}.feed_forward`, settings),
        feedForwardLayer: new SubLayer(weights.norm(`${name}.feed_forward_norm`), preNorm) };
    });
    this.finalNorm = preNorm ? weights.norm("encoder.final_norm") : null;
    this.attentions = this.layers.map(({ name }, layer) => ({ name, role: "encoder_self", layer: layer + 1 }));
  }

  /** @param {string} name */
  multiHead(name) {
    return this.layers.find((layer) => layer.name === name)?.attention;
  }

  /** Those from `real` on are padding. @param {number[]} ids @param {number} [real] @returns {Encoded} */
  encode(ids, real = ids.length) {
    const { x, calls, input } = this.#run(ids, real);
    const states = normalized(this.finalNorm, x);
    const summary = states[0].map((_, index) => states.slice(0, real).reduce((total, state) => total + state[index], 0) / real);
    return { states, summary, lastRead: real - 1, real, calls, input };
  }

  /** The residual stream: the scaled embeddings without positions, and what stands after each layer before the last norm.
   * @param {number[]} ids @returns {{shared: boolean, stages: Vector[][]}} */
  vectors(ids) {
    const embeddings = ids.map((id) => embed(this.embedding.table, id).map((value) => value * this.embedding.scale));
    return { shared: true, stages: [embeddings, ...this.#run(ids, ids.length).outputs] };
  }

  #run(ids, real) {
    /** @type {Record<string, import("./model.js").Call[]>} */
    const calls = {};
    const inputs = ids.map((id, position) => this.embedding.at(id, position));
    const input = { embeddings: ids.map((id) => embed(this.embedding.table, id)), inputs, scale: this.embedding.scale };
    /** @type {Vector[][]} */
    const outputs = [];
    let x = inputs;
    for (const { name, attention, attentionLayer, feedForward, feedForwardLayer } of this.layers) {
      x = attentionLayer.run(x, (inputs) => {
        const memory = attention.remember(inputs, real);
        calls[name] = attention.attend(inputs, inputs.map(() => memory));
        return calls[name].map(({ output }) => output);
      });
      x = feedForwardLayer.run(x, (inputs) => feedForward.run(inputs));
      outputs.push(x);
    }
    return { x, calls, outputs, input };
  }
}

/** @typedef {{past: Memory[], source: Memory[], length: number}} TransformerState the memories of every layer */

export class TransformerDecoder {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, settings, outputTable, embeddingName) {
    this.embedding = new Embedding(weights, "decoder.embedding", embeddingName, settings);
    const preNorm = settings.norm === "pre";
    this.layers = layerNumbers(settings.layers).map((layer) => {
      const name = `decoder.layers.${layer}`;
      return { names: [`${name}.self_attention`, `${name}.cross_attention`],
        selfAttention: new MultiHeadAttention(weights, `${name}.self_attention`, settings),
        crossAttention: new MultiHeadAttention(weights, `${name}.cross_attention`, settings),
        feedForward: new FeedForward(weights, `${name}.feed_forward`, settings),
        subLayers: ["self_attention_norm", "cross_attention_norm", "feed_forward_norm"].map((norm) => new SubLayer(weights.norm(`${name}.${norm}`), preNorm)) };
    });
    this.finalNorm = preNorm ? weights.norm("decoder.final_norm") : null;
    this.output = weights.linear("decoder.output", outputTable);
    this.attentions = this.layers.flatMap(({ names }, layer) => [{ name: names[0], role: "decoder_self", layer: layer + 1 },
      { name: names[1], role: "cross", layer: layer + 1 }]);
  }

  /** @param {string} name */
  multiHead(name) {
    const layer = this.layers.find(({ names }) => names.includes(name));
    return layer && (name === layer.names[0] ? layer.selfAttention : layer.crossAttention);
  }

  /** @param {Encoded} encoded @returns {TransformerState} */
  start({ states, real }) {
    return { past: this.layers.map(() => ({ keys: [], values: [] })), source: this.layers.map((layer) => layer.crossAttention.remember(states, real)), length: 0 };
  }

  /** Logits of all positions at once, with the causal mask or without it.
   * @param {number[]} ids @param {Encoded} encoded @param {boolean} masked
   * @returns {{logits: Vector[], weights: Vector[][][], hidden: Vector[][]}} weights of self-attention by layer, query, head; the
   *   residual stream before the first layer and after each */
  allAtOnce(ids, encoded, masked) {
    const { source } = this.start(encoded);
    /** @type {Vector[][][]} */
    const weights = [];
    let x = ids.map((id, position) => this.embedding.at(id, position));
    const hidden = [x];
    this.layers.forEach((layer, number) => {
      x = layer.subLayers[0].run(x, (inputs) => {
        const { keys, values } = layer.selfAttention.remember(inputs);
        const visible = (row) => (masked ? row + 1 : inputs.length);
        const calls = layer.selfAttention.attend(inputs, inputs.map((_, row) => ({ keys: keys.slice(0, visible(row)), values: values.slice(0, visible(row)) })));
        weights.push(calls.map((call) => call.weights));
        return calls.map(({ output }) => output);
      });
      x = layer.subLayers[1].run(x, (inputs) => layer.crossAttention.attend(inputs, inputs.map(() => source[number])).map(({ output }) => output));
      x = layer.subLayers[2].run(x, (inputs) => layer.feedForward.run(inputs));
      hidden.push(x);
    });
    return { logits: this.predict(x), weights, hidden };
  }

  /** Logits of vectors of the residual stream, by the last norm and the output layer. @param {Vector[]} x @returns {Vector[]} */
  predict(x) {
    return linear(this.output, this.#normalized(x));
  }

  /** What enters the output layer. @param {Vector[]} x */
  #normalized(x) {
    return normalized(this.finalNorm, x);
  }

  /** @param {number[]} ids @param {TransformerState[]} states @returns {import("./model.js").StepResult} */
  step(ids, states) {
    const after = states.map((state) => ({ past: /** @type {Memory[]} */ ([]), source: state.source, length: state.length + 1 }));
    /** @type {Record<string, import("./model.js").Call>[]} */
    const calls = ids.map(() => ({}));
    const inputs = ids.map((id, row) => this.embedding.at(id, states[row].length));
    const activations = ids.map((id, row) => ({ embedding: embed(this.embedding.table, id), input: inputs[row],
      layers: this.layers.map(() => /** @type {Record<string, Vector>} */ ({})), hidden: inputs[row] }));
    const note = (number, name, vectors) => {
      activations.forEach(({ layers }, row) => { layers[number][name] = vectors[row]; });
      return vectors;
    };
    let x = inputs;
    this.layers.forEach((layer, number) => {
      note(number, "input", x);
      const record = (name, attended) => {
        attended.forEach((call, row) => { calls[row][name] = call; });
        return attended.map(({ output }) => output);
      };
      x = layer.subLayers[0].run(x, (inputs) => {
        const { keys, values } = layer.selfAttention.remember(inputs);
        after.forEach((state, row) => {
          const past = states[row].past[number];
          state.past.push({ keys: [...past.keys, keys[row]], values: [...past.values, values[row]] });
        });
        return note(number, "self_attention", record(layer.names[0], layer.selfAttention.attend(inputs, after.map((state) => state.past[number]))));
      });
      x = layer.subLayers[1].run(x, (inputs) => note(number, "cross_attention", record(layer.names[1], layer.crossAttention.attend(inputs, states.map((state) => state.source[number])))));
      x = note(number, "output", layer.subLayers[2].run(x, (inputs) => note(number, "feed_forward", layer.feedForward.run(inputs))));
    });
    const hidden = this.#normalized(x);
    activations.forEach((activation, row) => { activation.hidden = hidden[row]; });
    return { logits: linear(this.output, hidden), states: after, calls, activations };
  }
}
