/** Standalone page with a model inside: a worker runs it, so that the page stays responsive. */

const element = document.querySelector("#model-facts");

/** Whether the page has its model inside. */
export const hasModel = element !== null;

/** Requests that the model answers as the server would, and the name of each. */
const OPERATIONS = { "/api/translate": "translate", "/api/translate/stream": "translate", "/api/step": "step", "/api/head": "head", "/api/activations": "activations",
  "/api/heads/importance": "importance", "/api/heads/ablation": "ablation", "/api/leak": "leak",
  "/api/padding": "padding", "/api/layers": "layers", "/api/beam": "beam", "/api/gravity": "gravity", "/api/seen": "seen" };

/** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void, onTokens: (tokens: string[]) => void}>} */
const waiting = new Map();
let worker = null;
let [requests, ready] = [0, false];
let failure = null; // why the worker cannot answer any more

/** Whether the model answers a path. @param {string} path */
export const answers = (path) => hasModel && path in OPERATIONS;

/** Whether the model has been read. */
export const isReady = () => ready;

/** Start reading the model; dispatches `model-ready` when it can translate. */
export function loadModel() {
  if (!element || worker) return;
  const { worker: url, ...facts } = JSON.parse(element.textContent);
  worker = new Worker(url, { type: "module" });
  worker.addEventListener("message", ({ data }) => receive(data));
  worker.addEventListener("error", () => fail(new Error("model_failed")));
  worker.postMessage({ type: "load", facts, weights: document.querySelector("#model-weights")?.textContent });
}

/** The model's answer; an aborted request is cancelled in the worker. @param {string} path @param {object} body
 * @param {(tokens: string[]) => void} onTokens @param {AbortSignal} [signal] @returns {Promise<any>} */
export function askModel(path, body, onTokens = () => {}, signal) {
  if (failure) return Promise.reject(failure);
  if (signal?.aborted) return Promise.reject(signal.reason);
  loadModel();
  requests += 1;
  const id = requests;
  return new Promise((resolve, reject) => {
    const cancel = () => {
      if (!waiting.delete(id)) return;
      worker.postMessage({ type: "cancel", id });
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    waiting.set(id, { resolve, reject, onTokens });
    worker.postMessage({ type: "request", id, operation: OPERATIONS[path], body });
  });
}

function receive({ type, id, ...data }) {
  if (type === "ready") {
    ready = true;
    document.dispatchEvent(new CustomEvent("model-ready"));
    return;
  }
  const request = waiting.get(id);
  if (!request) return;
  if (type === "tokens") return void request.onTokens(data.tokens);
  waiting.delete(id);
  if (type === "done") request.resolve(data.result);
  else request.reject(new Error(data.message));
}

/** The worker has failed: every request does. */
function fail(error) {
  failure = error;
  for (const { reject } of waiting.values()) reject(error);
  waiting.clear();
}
