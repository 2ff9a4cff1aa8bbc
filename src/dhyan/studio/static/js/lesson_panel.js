/** Lesson panel: explanation of a view, and a question with its answer. */

import { el, setChildren } from "./dom.js";
import { setPreference, getPreference } from "./preferences.js";
import { lang, addMessages, message } from "./messages.js";

addMessages({
  lesson_hide: ["Hide the lesson", "पाठ छिपाइए"],
  lesson_show: ["Show the lesson", "पाठ दिखाइए"],
});

const CLOSED = "dhyan-lesson-closed";
const panel = document.querySelector("#lesson");
let lessonContent = null;

/** @param {{title: [string, string], text: [string, string], question: [string, string], answer: [string, string]}} [content] */
export function lesson(content) {
  lessonContent = content;
  draw();
}

function draw() {
  panel.hidden = !lessonContent;
  document.body.dataset.lesson = lessonContent ? "open" : "none";
  if (!lessonContent) return setChildren(panel);
  const translate = (pair) => pair[lang() === "hi" ? 1 : 0];
  const closed = getPreference(CLOSED);
  document.body.dataset.lesson = closed ? "closed" : "open";
  const toggleButton = el("button", { type: "button", "aria-expanded": !closed, title: message(closed ? "lesson_show" : "lesson_hide"),
    "aria-label": message(closed ? "lesson_show" : "lesson_hide"), on: { click: () => {
      setPreference(CLOSED, !closed);
      draw();
      panel.querySelector("button").focus();
    } } }, closed ? "‹" : "›");
  if (closed) {
    return setChildren(panel, el("header", {}, el("h2", { id: "lesson-title", class: "visually-hidden" }, translate(lessonContent.title)), toggleButton));
  }
  return setChildren(panel,
    el("header", {}, el("h2", { id: "lesson-title" }, translate(lessonContent.title)), toggleButton),
    ...translate(lessonContent.text).split("\n").map((words) => el("p", {}, words)),
    el("h3", {}, message("predict")),
    el("p", {}, translate(lessonContent.question)),
    el("details", {}, el("summary", {}, message("reveal")), el("p", {}, translate(lessonContent.answer))));
}
