/** Cache of traces for the sentence and model of the state. */

import { post, stream } from "./api.js";
import { state } from "./state.js";

const MOST = 12;
const cache = new Map();

/** Request body with the sentence and model of the state, or others. */
export const requestBody = ({ text = state.text, model = state.model, beam = state.beam, prefix = state.prefix } = {}) =>
  ({ text, model, beam, prefix });

const keyOf = (body) => JSON.stringify([body.text, body.model, body.beam, body.prefix]);

/** Fetch a trace, or return it from the cache. */
export async function fetchTrace(options = {}, signal) {
  const body = requestBody(options);
  return cache.get(keyOf(body)) ?? remember(body, await post("/api/translate", body, signal));
}

/** Fetch a trace by streaming; `onWords` gets the words generated so far. @param {(words: string[]) => void} onWords */
export async function streamTrace(onWords, signal) {
  const body = requestBody();
  if (cache.has(keyOf(body))) return cache.get(keyOf(body));
  let trace = null;
  await stream("/api/translate/stream", body, (type, data) => {
    if (type === "words") onWords(data.words);
    if (type === "done") trace = data;
  }, signal);
  return remember(body, trace);
}

/** Drop the current trace from the cache, so that it is fetched again. */
export const forgetTrace = () => cache.delete(keyOf(requestBody()));

function remember(body, trace) {
  cache.set(keyOf(body), trace);
  if (cache.size > MOST) cache.delete(cache.keys().next().value);
  return trace;
}
