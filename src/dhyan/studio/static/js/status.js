/** Status line (`role=status`) at the foot of the page. */

import { ApiError } from "./api.js";
import { message, hasMessage } from "./messages.js";

const line = document.querySelector("#status");

/** Show a message, or the explanation of an error. @param {string | Error} content */
export function showStatus(content) {
  if (content instanceof Error && content.name === "AbortError") return;
  line.textContent = textOf(content);
  line.classList.toggle("error", content instanceof Error && !["trace_only", "server_only"].includes(content.message)); // those are no errors
}

/** A message, or the explanation of an error. @param {string | Error} content */
export function textOf(content) {
  if (!(content instanceof Error)) return content;
  return content instanceof ApiError && hasMessage(content.message) ? message(content.message) : content.message;
}

/** Whether the status line is empty. */
export const isStatusEmpty = () => !line.textContent;
