/** Standalone page: the server's responses about one saved sentence are embedded in it. */

import { decodeBase64, Weights } from "./engine/weights.js";

const element = document.querySelector("#embedded-responses");
const responses = element ? JSON.parse(element.textContent) : {};
/** Values of a request that choose among the responses of a path; the width of a beam only where it makes the tree. */
const CHOICES = ["role", "layer", "head", "position", "masked", "word"];
/** @type {Weights | null} */
let tensors = null;

/** Whether the page runs without a server. */
export const standalone = element !== null;

/** Whether the page is an iframe without its own address. */
export const framed = location.protocol === "about:";
document.documentElement.toggleAttribute("data-framed", framed);

/** The embedded response of a path; undefined where only a server could answer. @param {string} path */
export function embeddedResponse(path, body = {}) {
  const name = path.replace(/\/stream$/, "");
  const sentence = responses["/api/translate"]?.text;
  if (sentence && body.text !== undefined && body.text.normalize("NFC") !== sentence.normalize("NFC")) return undefined;
  const choices = [name === "/api/beam" ? body.beam : "", ...CHOICES.map((choice) => body[choice] ?? "")];
  return withTensors(responses[[name, ...choices.filter((value) => value !== "")].join(" ")]);
}

/** Whether there is a response of a path. @param {string} path */
export const hasEmbeddedResponse = (path) => path in responses;

/** A response with its tensors, which are apart from it. */
function withTensors(value) {
  if (Array.isArray(value)) return value.map(withTensors);
  if (value === null || typeof value !== "object") return value;
  if ("tensor" in value) return { shape: value.shape, data: numbersOf(value) };
  return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, withTensors(own)]));
}

/** The numbers of a tensor, by rows. */
function numbersOf({ shape: [rows, columns], tensor, transposed }) {
  tensors ??= new Weights(decodeBase64(document.querySelector("#embedded-tensors")?.textContent ?? ""));
  const { data } = tensors.get(tensor);
  if (!transposed) return data;
  return Float32Array.from(data, (_, index) => data[(index % columns) * rows + Math.floor(index / columns)]);
}
