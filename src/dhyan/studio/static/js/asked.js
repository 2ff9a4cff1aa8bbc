/** The trace of what the state asks for: asked once, then remembered. */

import { post, stream } from "./api.js";
import { state } from "./state.js";

const MOST = 12;
const kept = new Map();

/** The body of a question about the state's sentence and model, or others. */
export const question = ({ q = state.q, m = state.m, b = state.b, f = state.f } = {}) =>
  ({ text: q, model: m, beam: b, prefix: f });

const keyOf = (body) => JSON.stringify([body.text, body.model, body.beam, body.prefix]);

/** A trace, at once if it is known. */
export async function traceOf(about = {}, signal) {
  const body = question(about);
  return kept.get(keyOf(body)) ?? keep(body, await post("/api/translate", body, signal));
}

/** A trace whose words are heard as they come. @param {(words: string[]) => void} hear */
export async function streamed(hear, signal) {
  const body = question();
  if (kept.has(keyOf(body))) return kept.get(keyOf(body));
  let trace = null;
  await stream("/api/translate/stream", body, (kind, data) => {
    if (kind === "words") hear(data.words);
    if (kind === "done") trace = data;
  }, signal);
  return keep(body, trace);
}

/** A known one is asked for anew. */
export const forget = () => kept.delete(keyOf(question()));

function keep(body, trace) {
  kept.set(keyOf(body), trace);
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
  return trace;
}
