/** Whether a sentence or a word was seen in training, by 28-bit hashes, as `dhyan.data.training_sentences`. */

import { normalize } from "./normalize.js";

const MAGIC = "dhyan training sentences 2\n";
const MAGIC_WITHOUT_WORDS = "dhyan training sentences 1\n";
const [BITS, HASH_BYTES] = [28, 4];
const WORD_PREFIX = "\0"; // before a word, so that its hash is not that of a sentence
const MASK = 0xffffffffffffffffn; // of 64 bits

/** Initial values of BLAKE2b (RFC 7693): the fractional parts of the square roots of the first primes. */
const INITIAL = [0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n];
/** The order of the message words in each of ten rounds; rounds eleven and twelve repeat the first two. */
const ORDER = ["0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"];
/** The places that each mixing step of a round takes: four columns, then four diagonals. */
const STEPS = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"];
const indices = (digits) => [...digits].map((digit) => parseInt(digit, 16));

export class TrainingSentences {
  /** @param {Uint32Array} hashes sorted @param {boolean} hasWords whether they have the words too */
  constructor(hashes, hasWords) {
    this.hashes = new Set(hashes);
    this.hasWords = hasWords;
  }

  /** The sentences of a `training-sentences.bin`. @param {ArrayBuffer} buffer */
  static async read(buffer) {
    const magic = new TextDecoder().decode(buffer.slice(0, MAGIC.length));
    if (magic !== MAGIC && magic !== MAGIC_WITHOUT_WORDS) throw new Error("this is no file of training sentences");
    const inflated = new Blob([buffer.slice(MAGIC.length)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(inflated).arrayBuffer()); // of the differences: all low bytes, then the higher ones
    const count = planes.length / HASH_BYTES;
    let hash = 0;
    return new TrainingSentences(Uint32Array.from({ length: count }, (_, at) => {
      for (let plane = 0; plane < HASH_BYTES; plane += 1) hash += planes[plane * count + at] * 256 ** plane;
      return hash;
    }), magic === MAGIC);
  }

  /** @param {string} sentence */
  has(sentence) {
    const folded = fold(sentence);
    return folded !== "" && this.hashes.has(hashOf(folded));
  }

  /** The words of a text that were never seen in training; numbers do not count. @param {string} text */
  unseenWords(text) {
    if (!this.hasWords) return [];
    const isSeen = (/** @type {string} */ word) => splitWords(foldCase(word)).every((part) => this.hashes.has(hashOf(WORD_PREFIX + part)));
    return [...new Set(splitWords(normalize(text)))].filter((word) => /\p{L}/u.test(word) && !isSeen(word));
  }
}

/** A sentence without case, extra white space and final punctuation. */
const fold = (sentence) => foldCase(sentence).replace(/[\p{P} ]+$/u, "");

/** Case folding (Unicode), but for Cherokee. @param {string} text */
const foldCase = (text) => normalize(Array.from(normalize(text), foldCharacter).join(""));

/** Upper case joins what lower case keeps apart, such as ß and ss. @param {string} character */
const foldCharacter = (character) => (character === "ı" ? character : character.toLowerCase().toUpperCase().toLowerCase());

/** The runs of letters, digits and combining marks. @param {string} text */
const splitWords = (text) => text.split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);

const hashOf = (folded) => blake2b(new TextEncoder().encode(folded)) >>> (8 * HASH_BYTES - BITS);

/** The first four bytes of a BLAKE2b digest of that length, as a number. @param {Uint8Array} bytes */
function blake2b(bytes) {
  const state = [...INITIAL];
  state[0] ^= 0x01010000n ^ BigInt(HASH_BYTES);
  const blocks = Math.max(1, Math.ceil(bytes.length / 128));
  for (let block = 0; block < blocks; block += 1) {
    const message = new Uint8Array(128);
    message.set(bytes.subarray(block * 128, (block + 1) * 128));
    compress(state, new DataView(message.buffer), Math.min((block + 1) * 128, bytes.length), block === blocks - 1);
  }
  return Number(state[0] & 0xffffffffn);
}

/** Mix a block of 128 bytes into the state. @param {bigint[]} state @param {DataView} message @param {number} length of the bytes so far */
function compress(state, message, length, last) {
  const words = Array.from({ length: 16 }, (_, index) => message.getBigUint64(8 * index, true));
  const v = [...state, ...INITIAL];
  v[12] ^= BigInt(length);
  if (last) v[14] ^= MASK;
  const rotate = (/** @type {bigint} */ value, /** @type {bigint} */ bits) => ((value >> bits) | (value << (64n - bits))) & MASK;
  for (let round = 0; round < 12; round += 1) {
    const order = indices(ORDER[round % 10]);
    STEPS.forEach((places, step) => {
      const [a, b, c, d] = indices(places);
      const mix = (/** @type {bigint} */ word, /** @type {bigint} */ first, /** @type {bigint} */ second) => {
        v[a] = (v[a] + v[b] + word) & MASK;
        v[d] = rotate(v[d] ^ v[a], first);
        v[c] = (v[c] + v[d]) & MASK;
        v[b] = rotate(v[b] ^ v[c], second);
      };
      mix(words[order[2 * step]], 32n, 24n);
      mix(words[order[2 * step + 1]], 16n, 63n);
    });
  }
  state.forEach((value, index) => { state[index] = value ^ v[index] ^ v[index + 8]; });
}
