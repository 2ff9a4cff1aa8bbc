/** Web worker of a page with a model inside: reads the weights once, then answers one request after the other. */

import { Translator } from "./translator.js";
import { decodeBase64 } from "./weights.js";

/** @type {Translator} */
let translator;
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

async function answer({ id, operation, body }) {
  const onTokens = async (tokens) => {
    postMessage({ type: "tokens", id, tokens });
    await nextTask();
    if (cancelled.has(id)) throw new Cancelled();
  };
  try {
    await nextTask();
    if (cancelled.has(id)) throw new Cancelled();
    postMessage({ type: "done", id, result: await translator.answer(operation, body, onTokens) });
  } catch (error) {
    if (!(error instanceof Cancelled)) postMessage({ type: "error", id, message: error.message });
  }
  cancelled.delete(id);
}

addEventListener("message", ({ data }) => {
  if (data.type === "load") {
    translator = new Translator(data.facts, decodeBase64(data.weights));
    postMessage({ type: "ready" });
  } else if (data.type === "cancel") {
    cancelled.add(data.id);
  } else {
    queue = queue.then(() => answer(data));
  }
});
