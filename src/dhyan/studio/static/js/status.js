/** Status line (`role=status`) at the foot of the page. */

import { ApiError } from "./api.js";
import { el } from "./dom.js";
import { message, hasMessage } from "./messages.js";

const line = document.querySelector("#status");

/** The explanation of an error: that of its key, or its own. @param {Error} error */
export const errorText = (error) => (error instanceof ApiError && hasMessage(error.message) ? message(error.message) : error.message);

/** Show a message, or the explanation of an error. @param {string | Error} content */
export function showStatus(content) {
  if (content instanceof Error && content.name === "AbortError") return;
  const isError = content instanceof Error;
  line.textContent = isError ? errorText(content) : content;
  line.lang = isError && content instanceof ApiError && !hasMessage(content.message) ? "en" : document.documentElement.lang; // the server speaks English
  line.classList.toggle("error", isError && !["trace_only", "server_only"].includes(content.message)); // those are no errors
}

/** An error in the place of the picture that it prevented; the status line announces it. @param {Error} error */
export const failureNote = (error) => el("p", { class: "failure error card" }, errorText(error));

/** Whether the status line is empty. */
export const isStatusEmpty = () => !line.textContent;
