/** Lesson panel: explanation of a view, and a question with its answer. */

import { el, setChildren } from "./dom.js";
import { setPreference, getPreference } from "./preferences.js";
import { hasMessage, message } from "./messages.js";

const CLOSED = "dhyan-lesson-closed";
const panel = document.querySelector("#lesson");
let lessonView = "";

/** Show the lesson of a view. @param {string} view */
export function lesson(view) {
  lessonView = view;
  draw();
}

function draw() {
  const text = (part) => message(`lesson_${lessonView}_${part}`);
  panel.hidden = !hasMessage(`lesson_${lessonView}_title`);
  document.body.dataset.lesson = panel.hidden ? "none" : "open";
  if (panel.hidden) return setChildren(panel);
  const closed = getPreference(CLOSED);
  document.body.dataset.lesson = closed ? "closed" : "open";
  const toggleButton = el("button", { type: "button", "aria-expanded": !closed, title: message(closed ? "lesson_show" : "lesson_hide"),
    "aria-label": message(closed ? "lesson_show" : "lesson_hide"), on: { click: () => {
      setPreference(CLOSED, !closed);
      draw();
      panel.querySelector("button")?.focus();
    } } }, closed ? "‹" : "›");
  if (closed) {
    return setChildren(panel, el("header", {}, el("h2", { id: "lesson-title", class: "visually-hidden" }, text("title")), toggleButton));
  }
  return setChildren(panel,
    el("header", {}, el("h2", { id: "lesson-title" }, text("title")), toggleButton),
    ...lessonParts(lessonView));
}

/** The explanation, the question and its answer. @param {string} name of a view or a stage */
export function lessonParts(name) {
  const text = (part) => message(`lesson_${name}_${part}`);
  return [...text("text").split("\n").map((words) => el("p", {}, words)), el("h3", {}, message("predict")), el("p", {}, text("question")),
    el("details", {}, el("summary", {}, message("reveal")), el("p", {}, text("answer")))];
}
