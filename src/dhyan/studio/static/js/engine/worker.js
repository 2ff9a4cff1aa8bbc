/** Web worker of a page with a model inside: reads the weights once, then answers one request after the other. */

import { TrainingSentences } from "./training_sentences.js";
import { Translator } from "./translator.js";

/** @type {Translator} */
let translator;
/** @type {Promise<TrainingSentences> | null} null if they are not known */
let trainingSentences = null;
/** @type {Set<number>} requests that the page has given up */
const cancelled = new Set();
let queue = Promise.resolve();

class Cancelled extends Error {}

/** Let messages of the page come in. */
const nextTask = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    resolve(undefined);
  };
  port2.postMessage(null);
});

/** @param {string} base64 @returns {ArrayBuffer} */
function decode(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes.buffer;
}

async function answer({ id, operation, body }) {
  const onTokens = async (tokens) => {
    postMessage({ type: "tokens", id, tokens });
    await nextTask();
    if (cancelled.has(id)) throw new Cancelled();
  };
  try {
    await nextTask();
    if (cancelled.has(id)) throw new Cancelled();
    const result = operation === "seen" ? await seen(body) : await translator.answer(operation, body, onTokens);
    const more = operation === "translate" ? { unknown_words: await unknownWords(/** @type {Trace} */ (result)) } : null;
    postMessage({ type: "done", id, result: more ? { ...result, ...more } : result });
  } catch (error) {
    if (!(error instanceof Cancelled)) postMessage({ type: "error", id, message: error.message });
  }
  cancelled.delete(id);
}

/** Whether each sentence was seen in training; null if that is not known. @param {{texts: string[]}} body */
async function seen({ texts }) {
  const sentences = await trainingSentences;
  return sentences && texts.map((text) => sentences.has(text));
}

/** The words of a sentence that the vocabulary or the training text does not have. @param {Trace} trace */
async function unknownWords(trace) {
  const words = trace.source.words.filter((text, word) => trace.source.tokens.some((token) => token.word === word && translator.source.isUnknown(token.id)));
  const unseen = (await trainingSentences)?.unseenWords(trace.text) ?? [];
  return [...words, ...unseen.filter((word) => !words.some((known) => known.includes(word)))];
}

addEventListener("message", ({ data }) => {
  if (data.type === "load") {
    if (data.facts.training_sentences) trainingSentences = TrainingSentences.read(decode(data.facts.training_sentences));
    translator = new Translator(data.facts, decode(data.weights));
    postMessage({ type: "ready" });
  } else if (data.type === "cancel") {
    cancelled.add(data.id);
  } else {
    queue = queue.then(() => answer(data));
  }
});
