/** Status line (`role=status`) at the foot of the page. */

import { ApiError } from "./api.js";
import { el } from "./dom.js";
import { message, hasMessage } from "./messages.js";

const line = document.querySelector("#status");

/** Show a message, or the explanation of an error. @param {string | Error} content */
export function showStatus(content) {
  if (content instanceof Error && content.name === "AbortError") return;
  const isError = content instanceof Error;
  line.textContent = isError ? explain(content) : content;
  line.classList.toggle("error", isError && !["trace_only", "server_only"].includes(content.message)); // those are no errors
}

/** The explanation of an error. @param {Error} error */
const explain = (error) => (error instanceof ApiError && hasMessage(error.message) ? message(error.message) : error.message);

/** An error in the place of the picture that it prevented; the status line announces it. @param {Error} error */
export const failureNote = (error) => el("p", { class: "failure error card" }, explain(error));

/** Whether the status line is empty. */
export const isStatusEmpty = () => !line.textContent;
