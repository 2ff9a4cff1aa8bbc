/** Cache of traces for the sentence and model of the state. */

import { post, stream } from "./api.js";
import { sourceOf } from "./pictures.js";
import { state } from "./state.js";

const MAX_CACHED = 12;
const cache = new Map();

/** Request body with the sentence and model of the state, or others. */
export const requestBody = ({ text = state.text, model = state.model, beam = state.beam, prefix = state.prefix } = {}) =>
  ({ text: sourceOf(text), model, beam, prefix });

const keyOf = (body) => JSON.stringify([body.text, body.model, body.beam, body.prefix]);

/** Fetch a trace, or return it from the cache. @param {Parameters<typeof requestBody>[0]} options @param {AbortSignal} [signal] @returns {Promise<Trace>} */
export async function fetchTrace(options = {}, signal) {
  const body = requestBody(options);
  return cache.get(keyOf(body)) ?? cacheTrace(body, await post("/api/translate", body, signal));
}

/** Fetch a trace by streaming; `onTokens` gets the tokens generated so far, `onLoading` the
 * stages of a model that is loading: "queue", "pytorch", "weights".
 * @param {(tokens: string[]) => void} onTokens @param {AbortSignal} signal @param {(stage: string) => void} [onLoading]
 * @param {{text?: string, model?: string, beam?: number, prefix?: string}} [options] instead of those of the state @returns {Promise<Trace>} */
export async function streamTrace(onTokens, signal, onLoading = () => {}, options = {}) {
  const body = requestBody(options);
  if (cache.has(keyOf(body))) return cache.get(keyOf(body));
  let trace = null;
  await stream("/api/translate/stream", body, (type, data) => {
    if (type === "loading") onLoading(data.stage);
    if (type === "tokens") onTokens(data.tokens);
    if (type === "done") trace = data;
  }, signal);
  return cacheTrace(body, trace);
}

/** Drop the current trace from the cache, so that it is fetched again. */
export const invalidateTrace = () => cache.delete(keyOf(requestBody()));

function cacheTrace(body, trace) {
  cache.set(keyOf(body), trace);
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value);
  return trace;
}
