/** What the page calls the work of a model: a translator translates, a classifier classifies. */

import { hasMessage, message } from "./messages.js";

/** The verb of a model's task, for buttons and headings. @param {Partial<ModelCard> | undefined} card */
export function taskVerb(card) {
  const task = card?.task ?? "translate";
  return message(hasMessage(`do_${task}`) ? `do_${task}` : "do_other");
}

/** Whether a model translates: the texts of the page speak of words and translations. @param {Partial<ModelCard> | undefined} card */
export const isTranslator = (card) => (card?.task ?? "translate") === "translate";

/** What a page says while a model works. @param {Partial<ModelCard> | undefined} card */
export const workingText = (card) => message(isTranslator(card) ? "working" : "working_task");
