/** Marks that say whether a model saw a sentence in training; a model that does not know has none. */

import { post } from "./api.js";
import { el } from "./dom.js";
import { message } from "./messages.js";
import { state } from "./state.js";

const answers = new Map(); // by model and sentence: true, false, or null if it is not known
const keyOf = (text) => JSON.stringify([state.model, text]);

/** A mark for a sentence, empty until `fillMarks`. */
export const markElement = (text) => el("span", { class: "mark", hidden: true, "data-text": text });

/** Fill the marks inside an element for the current model. */
export async function fillMarks(container) {
  const marks = [...container.querySelectorAll(".mark")];
  const model = state.model;
  for (const mark of marks) show(mark, answers.get(keyOf(mark.dataset.text)));
  const missing = [...new Set(marks.map((mark) => mark.dataset.text))].filter((text) => text && !answers.has(keyOf(text)));
  if (!missing.length || !model) return;
  const seen = await post("/api/seen", { model, texts: missing }).catch(() => null);
  if (state.model !== model) return;
  missing.forEach((text, index) => answers.set(keyOf(text), seen ? seen[index] : null));
  for (const mark of marks) show(mark, answers.get(keyOf(mark.dataset.text)));
}

function show(mark, seen) {
  mark.hidden = seen !== true && seen !== false;
  if (mark.hidden) return;
  const key = seen ? "mark_seen" : "mark_new";
  mark.textContent = message(key);
  mark.title = message(`${key}_title`);
  mark.classList.toggle("seen", seen);
}
