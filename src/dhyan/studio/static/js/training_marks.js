/** Marks that say whether a model saw a sentence in training; a model that does not know has none. */

import { post } from "./api.js";
import { el } from "./dom.js";
import { message } from "./messages.js";
import { isPicture } from "./pictures.js";
import { state } from "./state.js";

const answers = new Map(); // by model and sentence: true, false, or null if it is not known
const keyOf = (text, model = state.model) => JSON.stringify([model, text]);

/** A mark for a sentence, empty until `fillMarks`. */
export const markElement = (text) => el("span", { class: "mark", hidden: true, "data-text": text });

/** Whether the current model saw each sentence in training; null if it is not known. @param {string[]} texts @returns {Promise<(boolean | null)[]>} */
export async function seenInTraining(texts) {
  const model = state.model;
  const missing = [...new Set(texts)].filter((text) => text && !isPicture(text) && !answers.has(keyOf(text, model)));
  if (missing.length && model) {
    const seen = await post("/api/seen", { model, texts: missing }).catch(() => undefined); // it is asked again
    if (seen !== undefined) missing.forEach((text, index) => answers.set(keyOf(text, model), seen ? seen[index] : null));
  }
  return texts.map((text) => answers.get(keyOf(text, model)) ?? null);
}

/** Fill the marks inside an element for the current model. @param {Element} container */
export async function fillMarks(container) {
  showMarks(container);
  const model = state.model;
  await seenInTraining([...container.querySelectorAll(".mark")].map((mark) => mark.dataset.text ?? ""));
  if (state.model === model) showMarks(container);
}

/** Show the marks whose answers are known. @param {Element} container */
export function showMarks(container) {
  for (const mark of container.querySelectorAll(".mark")) show(mark, answers.get(keyOf(mark.dataset.text)));
}

function show(mark, seen) {
  mark.hidden = seen !== true && seen !== false;
  if (mark.hidden) return;
  const key = seen ? "mark_seen" : "mark_new";
  mark.textContent = message(key);
  mark.title = message(`${key}_title`);
  mark.classList.toggle("seen", seen);
}
