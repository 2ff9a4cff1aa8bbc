import { test } from "node:test";
import assert from "node:assert/strict";
import * as layers from "../../src/dhyan/studio/static/js/engine/layers.js";
import { normalize } from "../../src/dhyan/studio/static/js/engine/normalize.js";
import { packRows, packVector, packWeights } from "../../src/dhyan/studio/static/js/engine/pack.js";
import { Recurrence, SentenceRecurrence } from "../../src/dhyan/studio/static/js/engine/recurrent_layers.js";
import { search } from "../../src/dhyan/studio/static/js/engine/search.js";
import { BOS, EOS, PAD, Tokenizer, UNK } from "../../src/dhyan/studio/static/js/engine/tokenizer.js";
import { TrainingSentences } from "../../src/dhyan/studio/static/js/engine/training_sentences.js";
import { Weights } from "../../src/dhyan/studio/static/js/engine/weights.js";
import * as numbers from "../../src/dhyan/studio/static/js/numbers.js";

const floats = (...values) => Float32Array.from(values);
const near = (actual, expected, tolerance = 1e-6) => {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, index) => assert.ok(Math.abs(value - expected[index]) <= tolerance, `${value}, not ${expected[index]}`));
};

let state = 7;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647 - 0.5;
const matrix = (rows, columns) => Array.from({ length: rows }, () => Array.from({ length: columns }, random));

test("a linear layer is W x + b for any number of inputs and any width", () => {
  for (const [count, columns] of [[1, 1], [3, 5], [4, 4], [9, 6]]) {
    const [weight, inputs, bias] = [matrix(3, columns), matrix(count, columns), matrix(1, 3)[0]];
    const layer = { weight: floats(...weight.flat()), bias: floats(...bias), rows: 3, columns };
    const outputs = layers.linear(layer, inputs.map((row) => floats(...row)));
    outputs.forEach((output, index) => near(Array.from(output), numbers.add(weight.map((row) => numbers.dot(row, inputs[index])), bias)));
    near(Array.from(layers.linear({ ...layer, bias: null }, [floats(...inputs[0])])[0]), weight.map((row) => numbers.dot(row, inputs[0])));
  }
});

test("softmax and its logarithm agree with the page's", () => {
  const logits = [3, -1, 100, 99.5, 7];
  near(Array.from(layers.softmax(logits)), numbers.softmax(logits));
  near(Array.from(layers.logSoftmax(floats(...logits)), Math.exp), numbers.softmax(logits));
});

test("a layer norm has mean 0 and variance 1, whatever the shift and the scale", () => {
  const norm = { weight: floats(1, 1, 1, 1), bias: floats(0, 0, 0, 0) };
  const output = Array.from(layers.layerNorm(norm, floats(1, -2, 5, 3)));
  assert.ok(Math.abs(numbers.sum(output)) < 1e-6);
  assert.ok(Math.abs(numbers.dot(output, output) / 4 - 1) < 1e-4);
  near(Array.from(layers.layerNorm(norm, floats(1, -2, 5, 3).map((x) => 10 * x + 4))), output, 1e-4);
});

test("a weighted sum changes its part of the output only", () => {
  const output = floats(9, 9, 9, 9);
  layers.addWeighted(output, floats(0.25, 0.75), [floats(0, 4, 8, 0), floats(0, 8, 0, 0)], 1, 3);
  assert.deepEqual([...output], [9, 7, 2, 9]);
});

const CELL = { lstm: 4, gru: 3, rnn: 1 };

/** Weights by name, of one recurrent layer in both directions. */
function recurrentWeights(cell, inputs, width) {
  const tensors = new Map();
  for (const suffix of ["l0", "l0_reverse"]) {
    for (const [kind, columns] of [["ih", inputs], ["hh", width]]) {
      tensors.set(`rnn.weight_${kind}_${suffix}`, { data: floats(...matrix(CELL[cell] * width, columns).flat()), shape: [CELL[cell] * width, columns] });
      tensors.set(`rnn.bias_${kind}_${suffix}`, { data: floats(...matrix(1, CELL[cell] * width)[0]), shape: [CELL[cell] * width] });
    }
  }
  return { get: (name) => tensors.get(name), has: (name) => tensors.has(name) };
}

test("a sentence read at once gives the states of reading it step by step", () => {
  for (const cell of /** @type {("lstm" | "gru" | "rnn")[]} */ (["lstm", "gru", "rnn"])) {
    const weights = recurrentWeights(cell, 3, 4);
    const inputs = matrix(5, 3).map((row) => floats(...row));
    const { states, final } = new SentenceRecurrence(weights, "rnn", { cell, layers: 1, width: 4, bidirectional: false, reverse: false }).run(inputs);
    const recurrence = new Recurrence(weights, "rnn", cell, 1);
    /** @type {Float32Array[][][]} */
    let after = [Array.from({ length: cell === "lstm" ? 2 : 1 }, () => [new Float32Array(4)])];
    for (const [at, input] of inputs.entries()) {
      const [outputs, next] = recurrence.step([input], after);
      near(Array.from(outputs[0]), Array.from(states[at]));
      after = next;
    }
    near(Array.from(after[0][0][0]), Array.from(final[0][0]));
  }
});

test("read in both directions, the backward half is the forward half of the reversed sentence", () => {
  const weights = recurrentWeights("gru", 3, 2);
  for (const kind of ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]) Object.assign(weights.get(`rnn.${kind}_l0_reverse`), weights.get(`rnn.${kind}_l0`));
  const recurrence = new SentenceRecurrence(weights, "rnn", { cell: "gru", layers: 1, width: 2, bidirectional: true, reverse: false });
  const inputs = matrix(4, 3).map((row) => floats(...row));
  const [there, back] = [recurrence.run(inputs).states, recurrence.run(inputs.toReversed()).states];
  there.forEach((state, at) => near(Array.from(state.slice(2)), Array.from(back[inputs.length - 1 - at].slice(0, 2))));
});

/** A safetensors file of some tensors: [dtype, shape, bytes] by name. */
function modelFile(tensors) {
  const header = {};
  const bytes = [];
  for (const [name, [dtype, shape, data]] of Object.entries(tensors)) {
    const own = new Uint8Array(data.buffer);
    header[name] = { dtype, shape, data_offsets: [bytes.length, bytes.length + own.length] };
    bytes.push(...own);
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + json.length + bytes.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(json.length), true);
  file.set(json, 8);
  file.set(bytes, 8 + json.length);
  return file.buffer;
}

test("weights are read from 32, 16 and 8 bits, the last with a scale for each row", () => {
  const weights = new Weights(modelFile({
    single: ["F32", [2], floats(1.5, -2)],
    half: ["F16", [4], Uint16Array.of(0x3c00, 0xc000, 0x3555, 0x0001)],
    whole: ["I8", [2, 3], Int8Array.of(1, -2, 127, 4, 0, -128)],
    "whole:scale": ["F32", [2], floats(0.5, 0.25)],
  }));
  assert.deepEqual([...weights.get("single").data], [1.5, -2]);
  near(Array.from(weights.get("half").data), [1, -2, 1 / 3, 2 ** -24], 1e-4);
  assert.deepEqual([...weights.get("whole").data], [0.5, -1, 63.5, 1, 0, -32]);
  assert.equal(weights.linear("none", "whole").bias, null);
  assert.ok(!weights.has("absent"));
});

test("packed tensors are unpacked as they were", () => {
  const rows = [[1, 2.5], [-3, 0.125], [0, 7]];
  assert.deepEqual(numbers.rows(packRows(rows)), rows);
  assert.deepEqual(numbers.vector(packVector(floats(1, 2, 3))), [1, 2, 3]);
  const { shape, data } = numbers.unpack(packWeights([[floats(1), floats(5)], [floats(2, 3), floats(6, 7)]], 2));
  assert.deepEqual(shape, [2, 2, 2]);
  assert.deepEqual([...data], [1, 0, 2, 3, 5, 0, 6, 7]);
});

test("normalised text stays as it is, and invisible characters are gone", () => {
  for (const text of ["  two   words ", "“quoted” ‘text’", "a\u200bb\u00adc", "वह गया|", "क\u093c", "e\u0301"]) {
    assert.equal(normalize(normalize(text)), normalize(text));
  }
  assert.equal(normalize("“a”\u200b  ‘b’"), "\"a\" 'b'");
  assert.equal(normalize("वह गया |"), "वह गया ।");
  assert.equal(normalize("a | b"), "a | b");
});

/** A tokenizer with all bytes, some characters and merges. */
function tokenizer() {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const merges = /** @type {[string, string][]} */ ([["▁", "t"], ["▁t", "h"], ["▁th", "e"], ["a", "t"], ["c", "at"], ["▁", "cat"]]);
  const pieces = ["<pad>", "<s>", "</s>", "<unk>", ...bytes, ..."▁thecasn.,'?", ...merges.map((merge) => merge.join(""))];
  return new Tokenizer({ model: { vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])), merges } });
}

test("tokens of a text decode to the text, known characters or not", () => {
  const own = tokenizer();
  for (const text of ["the cat", "the cats, then.", "किताब 🙂 the", "naïve?", "a", "cat's the"]) {
    const ids = own.encode(text);
    assert.equal(own.decode(ids), normalize(text));
    assert.equal(own.decode([BOS, ...ids, EOS, PAD]), normalize(text));
    assert.ok(!ids.includes(UNK));
  }
  assert.deepEqual(own.encode("  "), []);
});

test("merges are applied by their rank, so a known word is one token", () => {
  const own = tokenizer();
  assert.deepEqual(own.labels(own.encode("the cat")), ["the", "cat"]);
  assert.deepEqual(own.labels(own.encode("hat")), ["▁", "h", "at"]);
});

test("words are the tokens in a row, each token in exactly one", () => {
  const own = tokenizer();
  const ids = [...own.encode("the cats, किताब."), EOS];
  const words = own.words(ids);
  assert.deepEqual(words.map(({ text }) => text), ["the", "cats", ",", "किताब", ".", "</s>"]);
  assert.deepEqual(words.flatMap(({ first, last }) => ids.slice(first, last)), ids);
});

test("a token is plain if it is a word or a symbol by itself", () => {
  const own = tokenizer();
  assert.deepEqual(own.encode("the.").map((id) => own.plain(id)), ["the", "."]);
  for (const id of [PAD, EOS, ...own.encode("ü"), own.encode("hat").at(-1)]) assert.equal(own.plain(id), "");
});

const VOCABULARY = 6; // with PAD, BOS, EOS, UNK and two words

/** A model whose logits are a function of the tokens so far. */
const UNREAD = /** @type {import("../../src/dhyan/studio/static/js/engine/model.js").Encoded} */ ({}); // a sentence that these models do not read
const modelOf = (logitsAfter) => ({ start: () => [], step: (ids, states) => {
  const after = states.map((state, row) => [...state, ids[row]]);
  return { logits: after.map((tokens) => floats(...logitsAfter(tokens.slice(1)))), states: after, calls: [], activations: [] };
} });

const options = { maxLength: 4, lengthPenalty: 1, prefix: [], onStep: () => {} };

/** All outputs up to a length with their scores, by enumeration. */
function enumerate(logitsAfter, { maxLength, lengthPenalty }) {
  const results = [];
  const extend = (ids, total) => {
    const logprobs = layers.logSoftmax(floats(...logitsAfter(ids)));
    for (let id = EOS; id < VOCABULARY; id += 1) {
      const [next, score] = [[...ids, id], total + logprobs[id]];
      if (id === EOS || next.length === maxLength) results.push({ ids: next, score: score / next.length ** lengthPenalty });
      else extend(next, score);
    }
  };
  extend([], 0);
  return results.sort((a, b) => b.score - a.score);
}

const table = new Map();
const randomLogits = (ids) => table.get(ids.join()) ?? table.set(ids.join(), Array.from({ length: VOCABULARY }, () => 4 * random())).get(ids.join());

test("a beam that holds everything finds the best of all outputs", async () => {
  for (const lengthPenalty of [0, 0.6, 1]) {
    const [best] = enumerate(randomLogits, { ...options, lengthPenalty });
    const found = await search(modelOf(randomLogits), UNREAD, { ...options, lengthPenalty, beam: 300 });
    assert.deepEqual(found.ids, best.ids.filter((id) => id !== EOS));
    assert.ok(Math.abs(found.score - best.score) < 1e-5);
  }
});

test("greedy search takes the most probable token at every step, and a wider beam is no worse", async () => {
  const greedy = await search(modelOf(randomLogits), UNREAD, { ...options, beam: 1 });
  greedy.ids.forEach((id, at) => {
    const logits = randomLogits(greedy.ids.slice(0, at));
    assert.equal(logits[id], Math.max(...logits.slice(EOS)));
  });
  const wide = await search(modelOf(randomLogits), UNREAD, { ...options, beam: 300 });
  assert.ok(wide.score >= greedy.score - 1e-6);
});

test("the output begins with the prefix, has no PAD or BOS, and is no longer than allowed", async () => {
  const tempting = () => [9, 9, -9, 0, 1, 2];
  for (const beam of [1, 3]) {
    const { ids, finished } = await search(modelOf(tempting), UNREAD, { ...options, beam, prefix: [4, 3] });
    assert.deepEqual(ids.slice(0, 2), [4, 3]);
    assert.ok(ids.every((id) => id > EOS));
    assert.equal(ids.length, options.maxLength);
    assert.equal(finished, false);
  }
});

test("every step reports the tokens so far, and a report that throws stops the search", async () => {
  for (const beam of [1, 2]) {
    const reports = [];
    await search(modelOf(() => [0, 0, -9, 0, 5, 0]), UNREAD, { ...options, beam, onStep: (ids) => { reports.push(ids.length); } });
    assert.deepEqual(reports, [1, 2, 3, 4]);
    const stopping = search(modelOf(randomLogits), UNREAD, { ...options, beam, onStep: () => { throw new Error("given up"); } });
    await assert.rejects(() => stopping, /given up/);
  }
});

/** First 28 bits of BLAKE2b digests of four bytes, by Python's hashlib. */
const HASHES = { "where is the station": 118311636, abc: 75901190, ["x".repeat(128)]: 238435435, [`${"नमस्ते ".repeat(30)}a`]: 16133840 };

/** The same of words: of a zero character and the word. */
const WORDS = { good: 94995721, "नमस्ते": 190764595 };

test("a word that no training sentence has is unseen, whatever its case; numbers are not", () => {
  const words = new TrainingSentences(Uint32Array.from(Object.values(WORDS)), true);
  assert.deepEqual(words.unseenWords("GOOD, bad 42 नमस्ते!"), ["bad"]);
  assert.deepEqual(new TrainingSentences(new Uint32Array(), false).unseenWords("bad"), []);
  assert.ok(!words.has("good"));
});

test("a sentence of the training text is recognised, whatever its case and final punctuation", () => {
  const sentences = new TrainingSentences(Uint32Array.from(Object.values(HASHES)), false);
  for (const text of Object.keys(HASHES)) {
    assert.ok(sentences.has(text));
    assert.ok(sentences.has(`  ${text.toUpperCase()} ?!`));
    assert.ok(!sentences.has(`${text} b`));
  }
  assert.ok(!sentences.has("") && !sentences.has("?!"));
});

test("a file of training sentences is read back, and another file is refused", async () => {
  const hashes = [5, 300, 70_000, 2 ** 28 - 1];
  const gaps = hashes.map((hash, index) => hash - (hashes[index - 1] ?? 0));
  const planes = Uint8Array.from([0, 8, 16, 24].flatMap((shift) => gaps.map((gap) => (gap >>> shift) & 255)));
  const compressed = new Blob([planes]).stream().pipeThrough(new CompressionStream("deflate"));
  const file = await new Blob(["dhyan training sentences 1\n", await new Response(compressed).arrayBuffer()]).arrayBuffer();
  assert.deepEqual([...(await TrainingSentences.read(file)).hashes], hashes);
  await assert.rejects(() => TrainingSentences.read(new TextEncoder().encode("something else entirely, long enough").buffer), /no file of training sentences/);
});
