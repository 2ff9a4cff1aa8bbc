/** The line at the foot of the page, which screen readers hear too. */

import { Problem } from "./api.js";
import { message, hasMessage } from "./messages.js";

const line = document.querySelector("#status");

/** Say a sentence, or what an error means and what to do. @param {string | Error} what */
export function showStatus(what) {
  if (what instanceof Error && what.name === "AbortError") return;
  const bad = what instanceof Error;
  const words = !bad ? what : what instanceof Problem && hasMessage(what.message) ? message(what.message) : what.message;
  line.textContent = words;
  line.classList.toggle("problem", bad && what.message !== "alone"); // nothing went wrong then
}

/** Whether nothing has been said yet. */
export const isStatusEmpty = () => !line.textContent;
