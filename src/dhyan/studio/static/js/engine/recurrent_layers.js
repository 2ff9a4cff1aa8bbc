/** LSTM, GRU and Elman layers, and the bridge from encoder to decoder, as `dhyan.models.recurrent_layers`. */

import { concatenate, linear, sigmoid } from "./layers.js";

/** @typedef {Float32Array} Vector */
/** @typedef {Pick<import("./weights.js").Weights, "get">} Tensors weights by name */
/** @typedef {Vector[][]} RecurrentState the parts (h; h and c of an LSTM) of every layer: [part][layer] */
/** @typedef {{input: import("./weights.js").Linear, hidden: import("./weights.js").Linear}} CellWeights */

const STATE_PARTS = { lstm: 2, gru: 1, rnn: 1 };

/** One step of a cell from its two products, W x + b and U h + d, and its state.
 * @type {Record<string, (input: Vector, recurrent: Vector, state: Vector[]) => Vector[]>} */
const CELLS = {
  gru(input, recurrent, [h]) {
    const width = h.length;
    return [h.map((before, index) => {
      const reset = sigmoid(input[index] + recurrent[index]);
      const update = sigmoid(input[width + index] + recurrent[width + index]);
      const candidate = Math.tanh(input[2 * width + index] + reset * recurrent[2 * width + index]);
      return (1 - update) * candidate + update * before;
    })];
  },
  lstm(input, recurrent, [h, c]) {
    const width = h.length;
    const gate = (number, index) => input[number * width + index] + recurrent[number * width + index];
    const cell = c.map((before, index) => sigmoid(gate(1, index)) * before + sigmoid(gate(0, index)) * Math.tanh(gate(2, index)));
    return [cell.map((value, index) => sigmoid(gate(3, index)) * Math.tanh(value)), cell];
  },
  rnn: (input, recurrent, [h]) => [h.map((_, index) => Math.tanh(input[index] + recurrent[index]))],
};

/** The weights of a layer. @param {Tensors} weights @returns {CellWeights} */
function cellWeights(weights, name, suffix) {
  const part = (kind) => {
    const { data, shape: [rows, columns] } = weights.get(`${name}.weight_${kind}_${suffix}`);
    return { weight: data, bias: weights.get(`${name}.bias_${kind}_${suffix}`).data, rows, columns };
  };
  return { input: part("ih"), hidden: part("hh") };
}

/** A stack of recurrent layers, a step at a time. */
export class Recurrence {
  /** @param {Tensors} weights @param {string} name @param {"lstm" | "gru" | "rnn"} cell */
  constructor(weights, name, cell, layers) {
    this.cell = cell;
    this.layers = Array.from({ length: layers }, (_, layer) => cellWeights(weights, name, `l${layer}`));
  }

  /** The top layer's output for the input of every hypothesis, and the states after it.
   * @param {Vector[]} inputs @param {RecurrentState[]} states @returns {[Vector[], RecurrentState[]]} */
  step(inputs, states) {
    let outputs = inputs;
    const after = states.map((state) => state.map(() => /** @type {Vector[]} */ ([])));
    this.layers.forEach((layer, number) => {
      const products = linear(layer.input, outputs);
      const recurrent = linear(layer.hidden, states.map((state) => state[0][number]));
      outputs = states.map((state, row) => {
        const parts = CELLS[this.cell](products[row], recurrent[row], state.map((part) => part[number]));
        parts.forEach((part, index) => after[row][index].push(part));
        return parts[0];
      });
    });
    return [outputs, after];
  }
}

/** Recurrent layers over a whole sentence, in one direction or both (Schuster and Paliwal, 1997). */
export class SentenceRecurrence {
  /** @param {Tensors} weights @param {string} name */
  constructor(weights, name, { cell, layers, width, bidirectional, reverse }) {
    this.cell = cell;
    this.width = width;
    this.reverse = reverse;
    const suffixes = bidirectional ? ["", "_reverse"] : [""];
    this.layers = Array.from({ length: layers }, (_, layer) =>
      suffixes.map((suffix) => cellWeights(weights, name, `l${layer}${suffix}`)));
  }

  /** One state per token in the order of the sentence, and the final state. @param {Vector[]} inputs
   * @returns {{states: Vector[], final: RecurrentState}} */
  run(inputs) {
    let states = inputs;
    /** @type {RecurrentState} */
    const final = Array.from({ length: STATE_PARTS[this.cell] }, () => []);
    for (const directions of this.layers) {
      const runs = directions.map((weights, direction) => this.#read(weights, states, this.reverse !== (direction === 1)));
      states = states.map((_, at) => concatenate(...runs.map((run) => run.outputs[at])));
      final.forEach((part, index) => part.push(concatenate(...runs.map((run) => run.state[index]))));
    }
    return { states, final };
  }

  #read(weights, inputs, backwards) {
    const products = linear(weights.input, inputs);
    const outputs = Array(inputs.length);
    let state = Array.from({ length: STATE_PARTS[this.cell] }, () => new Float32Array(this.width));
    for (let read = 0; read < inputs.length; read += 1) {
      const at = backwards ? inputs.length - 1 - read : read;
      state = CELLS[this.cell](products[at], linear(weights.hidden, [state[0]])[0], state);
      outputs[at] = state[0];
    }
    return { outputs, state };
  }
}

/** The first decoder state from the encoder's summary: tanh(W summary) if learned, else the summary itself. */
export class Bridge {
  /** @param {import("./weights.js").Weights} weights */
  constructor(weights, { bridge, cell, layers, width }) {
    this.map = bridge === "learned" ? weights.linear("decoder.bridge.map") : null;
    this.shape = [STATE_PARTS[cell], layers, width];
  }

  /** @param {Vector} summary @returns {RecurrentState} */
  start(summary) {
    const flat = this.map ? linear(this.map, [summary])[0].map(Math.tanh) : summary;
    const [parts, layers, width] = this.shape;
    return Array.from({ length: parts }, (_, part) => Array.from({ length: layers }, (__, layer) =>
      flat.slice((part * layers + layer) * width, (part * layers + layer + 1) * width)));
  }
}
