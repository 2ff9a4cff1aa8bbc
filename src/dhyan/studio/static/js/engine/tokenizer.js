/** BPE tokenizer with byte fallback, as `dhyan.text.tokenizer`: text to token ids, and back to text and words. */

import { normalize } from "./normalize.js";

export const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
const NAMES = ["<pad>", "<s>", "</s>", "<unk>"];
export const SPECIAL_TOKENS = NAMES.length; // ids below it
const MARK = "▁"; // a piece that begins a word has it
const REPLACEMENT = "\ufffd";
const JOINERS = { "\u200c": "⟨ZWNJ⟩", "\u200d": "⟨ZWJ⟩" };
const LETTER = "\\p{L}\\p{M}\\p{N}_\\u200c\\u200d";
const WORD = `[${LETTER}]+(?:'[${LETTER}]+)*`;
const SYMBOL = `(?:[\\u{1f1e6}-\\u{1f1ff}]{2}|[^${LETTER}${MARK}\\n])(?:[\\p{M}\\u{1f3fb}-\\u{1f3ff}\\u200c]|\\u200d[^${LETTER}${MARK}\\n]?)*`;
/** Words and symbols, each with the mark of the space before it. */
const WORD_SPLIT = new RegExp(`${MARK}?(?:${WORD}|${SYMBOL})|[${MARK}\\n]`, "gu");

/** @typedef {{text: string, first: number, last: number}} Word a word and its ids: from first up to, not including, last */

export class Tokenizer {
  /** @param {{model: {vocab: Record<string, number>, merges: [string, string][]}}} json a tokenizer file of dhyan */
  constructor(json) {
    const { vocab, merges } = json.model;
    this.ids = new Map(Object.entries(vocab));
    const idOf = (/** @type {string} */ piece) => /** @type {number} */ (this.ids.get(piece)); // merges and bytes are in the vocabulary
    /** @type {string[]} */
    this.pieces = [];
    for (const [piece, id] of this.ids) this.pieces[id] = piece;
    this.merges = new Map(merges.map(([left, right], rank) =>
      [pairKey(idOf(left), idOf(right)), { rank, id: idOf(left + right) }]));
    /** @type {Map<number, number>} the byte of a token that stands for one */
    this.bytes = new Map();
    for (let byte = 0; byte < 256; byte += 1) this.bytes.set(idOf(byteName(byte)), byte);
  }

  /** The token ids of a text; no special tokens are added. @param {string} text @returns {number[]} */
  encode(text) {
    const clean = normalize(text);
    if (!clean) return [];
    const marked = MARK + clean.replaceAll(" ", MARK);
    return (marked.match(WORD_SPLIT) ?? []).flatMap((word) => this.#encodeWord(word));
  }

  /** The normalised text of token ids. @param {number[]} ids */
  decode(ids) {
    const runs = this.#runs(ids.filter((id) => id !== PAD && id !== BOS && id !== EOS));
    return normalize(runs.map(({ inBytes, run }) => (inBytes ? this.#decodeBytes(run) : run.map((id) => this.pieces[id]).join("")))
      .join("").replaceAll(MARK, " "));
  }

  /** A readable label for each id. @param {number[]} ids */
  labels(ids) {
    return ids.map((id) => {
      if (id < NAMES.length) return NAMES[id];
      if (this.bytes.has(id)) return `⟨${this.#byteOf(id).toString(16).toUpperCase().padStart(2, "0")}⟩`;
      const label = withoutMark(this.pieces[id]);
      return (/^\p{M}/u.test(label) ? "◌" : "") + (JOINERS[label] ?? label);
    });
  }

  /** Whether an id is the unknown token, or a byte of a character that is not in the vocabulary. @param {number} id */
  isUnknown(id) {
    return id === UNK || this.bytes.has(id);
  }

  /** The word or symbol that an id is; empty for special tokens, bytes and parts of words. @param {number} id */
  plain(id) {
    const piece = this.pieces[id];
    if (id < NAMES.length || this.bytes.has(id)) return "";
    return piece.startsWith(MARK) ? piece.slice(MARK.length) : /^[\p{L}\p{M}\p{N}]/u.test(piece) ? "" : piece;
  }

  /** Ids grouped into words and punctuation; every special token is a word of its own. @param {number[]} ids @returns {Word[]} */
  words(ids) {
    const spelled = this.#spelled(ids);
    /** @type {number[]} the number of the word that each character belongs to */
    const owner = [];
    [...spelled.join("").matchAll(WORD_SPLIT)].forEach((match, number) => {
      owner.push(...Array(match[0].length).fill(number));
    });
    /** @type {Word[]} */
    const words = [];
    let [start, before] = [0, -1];
    ids.forEach((id, at) => {
      if (owner[start] !== before) words.push({ text: "", first: at, last: at });
      const word = words.at(-1);
      word.text += id < NAMES.length ? NAMES[id] : spelled[at];
      word.last = at + 1;
      before = owner[start];
      start += spelled[at].length;
    });
    return words.map((word) => ({ ...word, text: withoutMark(word.text) }));
  }

  /** Merge the characters of a word, the most frequent pair of the training text first. @param {string} word */
  #encodeWord(word) {
    const ids = [...word].flatMap((character) => {
      const id = this.ids.get(character);
      return id === undefined ? [...new TextEncoder().encode(character)].map((byte) => /** @type {number} */ (this.ids.get(byteName(byte)))) : [id];
    });
    for (;;) {
      let best = null;
      let at = -1;
      for (let index = 0; index + 1 < ids.length; index += 1) {
        const merge = this.merges.get(pairKey(ids[index], ids[index + 1]));
        if (merge && (!best || merge.rank < best.rank)) [best, at] = [merge, index];
      }
      if (!best) return ids;
      ids.splice(at, 2, best.id);
    }
  }

  /** The text of each id; a character in bytes comes with its last byte, a special token is a line break. */
  #spelled(ids) {
    return this.#runs(ids).flatMap(({ inBytes, run }) => {
      if (!inBytes) return run.map((id) => (id === UNK ? REPLACEMENT : id < NAMES.length ? "\n" : this.pieces[id]));
      const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
      const texts = run.map((id) => utf8.decode(Uint8Array.of(this.#byteOf(id)), { stream: true }));
      texts[texts.length - 1] += utf8.decode();
      return texts;
    });
  }

  /** The byte of a token that stands for one. @param {number} id */
  #byteOf(id) {
    return /** @type {number} */ (this.bytes.get(id));
  }

  /** Runs of tokens that stand for bytes, and runs of others. */
  #runs(ids) {
    /** @type {{inBytes: boolean, run: number[]}[]} */
    const runs = [];
    for (const id of ids) {
      const inBytes = this.bytes.has(id);
      if (runs.at(-1)?.inBytes === inBytes) runs.at(-1).run.push(id);
      else runs.push({ inBytes, run: [id] });
    }
    return runs;
  }

  /** The text of bytes; bytes that are no UTF-8 become a replacement character each. */
  #decodeBytes(run) {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(run, (id) => this.#byteOf(id)));
    } catch {
      return REPLACEMENT.repeat(run.length);
    }
  }
}

const pairKey = (left, right) => left * 0x100000 + right;
const byteName = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
const withoutMark = (piece) => (piece.startsWith(MARK) ? piece.slice(MARK.length) : piece) || MARK;
