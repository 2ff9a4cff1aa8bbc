/** What the page calls the work of a model: a translator translates, a classifier classifies. */

import { hasMessage, message } from "./messages.js";

/** The name of a model's task. @param {Partial<ModelCard> | undefined} card */
const taskOf = (card) => card?.task ?? "translate";

/** The verb of a model's task, for buttons. @param {Partial<ModelCard> | undefined} card */
export function taskVerb(card) {
  const key = `do_${taskOf(card)}`;
  return message(hasMessage(key) ? key : "do_other");
}

/** The heading of a model's task: its own, or its verb. @param {Partial<ModelCard> | undefined} card */
export function taskTitle(card) {
  const key = `title_${taskOf(card)}`;
  return hasMessage(key) ? message(key) : taskVerb(card);
}

/** What a page says while a model works. @param {Partial<ModelCard> | undefined} card */
export function workingText(card) {
  const key = `working_${taskOf(card)}`;
  return message(hasMessage(key) ? key : "working_task");
}
