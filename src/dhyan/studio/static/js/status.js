/** Status line (`role=status`) at the foot of the page. */

import { ApiError } from "./api.js";
import { message, hasMessage } from "./messages.js";

const line = document.querySelector("#status");

/** Show a message, or the explanation of an error. @param {string | Error} content */
export function showStatus(content) {
  if (content instanceof Error && content.name === "AbortError") return;
  const isError = content instanceof Error;
  const text = !isError ? content : content instanceof ApiError && hasMessage(content.message) ? message(content.message) : content.message;
  line.textContent = text;
  line.classList.toggle("error", isError && !["trace_only", "server_only"].includes(content.message)); // those are no errors
}

/** Whether the status line is empty. */
export const isStatusEmpty = () => !line.textContent;
