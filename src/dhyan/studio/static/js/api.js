/** Questions to the server; what goes wrong is an error with a sentence to show. */

import { standalone, embeddedResponse } from "./embedded_trace.js";

export class Problem extends Error {}

const sent = (body, signal) => ({ method: "POST", headers: { "content-type": "application/json" },
  body: JSON.stringify(body), signal });

/** Ask with a body. @param {string} path @param {unknown} body */
export const post = (path, body, signal) =>
  (standalone ? heldFor(path, body) : ask(path, sent(body, signal)));

/** Ask without one. @param {string} path */
export const get = (path, signal) => (standalone ? heldFor(path) : ask(path, { signal }));

/** A file; with a body if one is given. @returns {Promise<Blob>} */
export async function file(path, body) {
  const answered = await reach(path, body ? sent(body) : {});
  return answered.blob();
}

/**
 * Words as they are said: `hear` gets every event, and the promise ends with the last.
 * @param {string} path
 * @param {Record<string, string | number> | null} body without one, it is asked for without
 * @param {(kind: string, data: any) => void} hear
 */
export async function stream(path, body, hear, signal) {
  if (standalone) return hear("done", await heldFor(path, body));
  const answered = await reach(path, body ? sent(body, signal) : { signal });
  const reader = answered.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  let ended = false;
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      return { done: true };
    });
    if (done) break;
    waiting += value;
    const events = waiting.split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      const kind = field(event, "event: ");
      const data = JSON.parse(field(event, "data: ") ?? "null");
      if (kind === "error") throw new Problem(data.message);
      ended ||= kind === "done";
      hear(kind, data);
    }
  }
  if (!ended) throw new Problem("stopped");
}

/** A field of an event; its value may hold letters that are line ends to a pattern (U+2028). */
const field = (event, name) =>
  event.split("\n").find((line) => line.startsWith(name))?.slice(name.length);

async function ask(path, options) {
  const answered = await reach(path, options);
  return answered.json();
}

/** What a page that is a file has to say. */
async function heldFor(path, body) {
  const found = embeddedResponse(path, body);
  if (found === undefined) throw new Problem("alone");
  return found;
}

async function reach(path, options) {
  let answered;
  try {
    answered = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("unreachable");
  }
  if (answered.ok) return answered;
  const told = await answered.json().catch(() => ({}));
  if (told.error?.code === "trace_only") throw new Problem("alone");
  throw new Problem(told.error?.message ?? `the server answered ${answered.status}`);
}
