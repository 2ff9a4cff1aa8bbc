/** Requests to the server; a failed request is an ApiError whose message can be shown. */

import { answers, askModel, hasModel } from "./embedded_model.js";
import { standalone, embeddedResponse } from "./embedded_trace.js";

export class ApiError extends Error {}

const postOptions = (body, signal) => ({ method: "POST", headers: { "content-type": "application/json" },
  body: JSON.stringify(body), signal });

/** POST a JSON body. @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export const post = (path, body, signal) =>
  (standalone ? embedded(path, body, signal) : requestJson(path, postOptions(body, signal)));

/** GET a path. @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => (standalone ? embedded(path) : requestJson(path, { signal }));

/** Download a file; POST if there is a body. @returns {Promise<Blob>} */
export async function fetchFile(path, body) {
  const response = await request(path, body ? postOptions(body) : {});
  return response.blob();
}

/**
 * Server-sent events: `onEvent` gets every event; the promise resolves after the last one.
 * @param {string} path
 * @param {Record<string, string | number> | null} body null sends a GET request
 * @param {(type: string, data: any) => void} onEvent
 * @param {AbortSignal} [signal]
 */
export async function stream(path, body, onEvent, signal) {
  if (standalone) return onEvent("done", await embedded(path, body, signal, (tokens) => onEvent("tokens", { tokens })));
  const response = await request(path, body ? postOptions(body, signal) : { signal });
  const reader = /** @type {ReadableStream<BufferSource>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  let finished = false;
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      return { done: true, value: "" };
    });
    if (done) break;
    buffer += value;
    const events = buffer.split("\n\n");
    buffer = events.pop() ?? "";
    for (const event of events) {
      const type = field(event, "event: ");
      const data = JSON.parse(field(event, "data: ") ?? "null");
      if (type === "error") throw new ApiError(data.message);
      finished ||= type === "done";
      onEvent(type, data);
    }
  }
  if (!finished) throw new ApiError("stopped");
}

/** A field of an event; its value may hold U+2028, which a regular expression takes for a line end. */
const field = (event, name) =>
  event.split("\n").find((line) => line.startsWith(name))?.slice(name.length);

async function requestJson(path, options) {
  const response = await request(path, options);
  return response.json();
}

/** The response of a standalone page: embedded in it, or of the model inside it. */
async function embedded(path, body, signal, onTokens) {
  if (answers(path)) return askModel(path, body, onTokens, signal).catch(asApiError);
  const response = embeddedResponse(path, body);
  if (response === undefined) throw new ApiError(hasModel ? "server_only" : "trace_only");
  if (response?.error) throw new ApiError(response.error);
  return response;
}

function asApiError(error) {
  throw error.name === "AbortError" ? error : new ApiError(error.message);
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("unreachable");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  if (body.error?.code === "trace_only") throw new ApiError("trace_only");
  throw new ApiError(body.error?.message ?? `the server answered ${response.status}`);
}
