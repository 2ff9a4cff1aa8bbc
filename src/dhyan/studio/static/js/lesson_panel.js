/** What to look at in a view: a few sentences, and a question to answer before looking. */

import { el, fill } from "./dom.js";
import { setPreference, getPreference } from "./preferences.js";
import { lang, addMessages, message } from "./messages.js";

addMessages({
  lesson_hide: ["Hide the lesson", "पाठ छिपाएँ"],
  lesson_show: ["Show the lesson", "पाठ दिखाएँ"],
});

const CLOSED = "dhyan-lesson-closed";
const place = document.querySelector("#lesson");
let about = null;

/** @param {{title: [string, string], text: [string, string], ask: [string, string], answer: [string, string]}} [found] */
export function lesson(found) {
  about = found;
  draw();
}

function draw() {
  place.hidden = !about;
  document.body.dataset.lesson = about ? "open" : "none";
  if (!about) return fill(place);
  const told = (pair) => pair[lang() === "hi" ? 1 : 0];
  const closed = getPreference(CLOSED);
  document.body.dataset.lesson = closed ? "closed" : "open";
  const turn = el("button", { type: "button", "aria-expanded": !closed, title: message(closed ? "lesson_show" : "lesson_hide"),
    "aria-label": message(closed ? "lesson_show" : "lesson_hide"), on: { click: () => {
      setPreference(CLOSED, !closed);
      draw();
      place.querySelector("button").focus();
    } } }, closed ? "‹" : "›");
  if (closed) {
    return fill(place, el("header", {}, el("h2", { id: "lesson-title", class: "unseen" }, told(about.title)), turn));
  }
  return fill(place,
    el("header", {}, el("h2", { id: "lesson-title" }, told(about.title)), turn),
    ...told(about.text).split("\n").map((words) => el("p", {}, words)),
    el("h3", {}, message("predict")),
    el("p", {}, told(about.ask)),
    el("details", {}, el("summary", {}, message("reveal")), el("p", {}, told(about.answer))));
}
