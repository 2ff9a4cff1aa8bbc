/** The trace of what the state asks for: asked once, then remembered. */

import { post, stream } from "./api.js";
import { state } from "./state.js";

const MOST = 12;
const kept = new Map();

/** The body of a question about the state's sentence and model, or others. */
export const requestBody = ({ text = state.text, model = state.model, beam = state.beam, prefix = state.prefix } = {}) =>
  ({ text, model, beam, prefix });

const keyOf = (body) => JSON.stringify([body.text, body.model, body.beam, body.prefix]);

/** A trace, at once if it is known. */
export async function fetchTrace(about = {}, signal) {
  const body = requestBody(about);
  return kept.get(keyOf(body)) ?? keep(body, await post("/api/translate", body, signal));
}

/** A trace whose words are heard as they come. @param {(words: string[]) => void} hear */
export async function streamTrace(hear, signal) {
  const body = requestBody();
  if (kept.has(keyOf(body))) return kept.get(keyOf(body));
  let trace = null;
  await stream("/api/translate/stream", body, (kind, data) => {
    if (kind === "words") hear(data.words);
    if (kind === "done") trace = data;
  }, signal);
  return keep(body, trace);
}

/** A known one is asked for anew. */
export const forgetTrace = () => kept.delete(keyOf(requestBody()));

function keep(body, trace) {
  kept.set(keyOf(body), trace);
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
  return trace;
}
