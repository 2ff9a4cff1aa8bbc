/** Status line (`role=status`) at the foot of the page. */

import { Problem } from "./api.js";
import { message, hasMessage } from "./messages.js";

const line = document.querySelector("#status");

/** Show a message, or the explanation of an error. @param {string | Error} notice */
export function showStatus(notice) {
  if (notice instanceof Error && notice.name === "AbortError") return;
  const isError = notice instanceof Error;
  const text = !isError ? notice : notice instanceof Problem && hasMessage(notice.message) ? message(notice.message) : notice.message;
  line.textContent = text;
  line.classList.toggle("problem", isError && notice.message !== "alone"); // not an error
}

/** Whether the status line is empty. */
export const isStatusEmpty = () => !line.textContent;
