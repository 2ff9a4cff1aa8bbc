/** Translate without a sentence, as after the box was emptied. */

import { el } from "../../dom.js";
import { message } from "../../messages.js";
import { state } from "../../state.js";
import { card } from "../../header.js";
import { choose as chooseExample, startExamples } from "../../example_sentences.js";
import { fillMarks, markElement } from "../../training_marks.js";
import { tourLink } from "../tour/link.js";

/** Examples, or what to do if there is no model. */
export function firstSteps() {
  if (!state.model) return el("div", { class: "start-card card" }, el("p", {}, message("no_model")));
  const start = el("div", { class: "start-card card" },
    el("h2", {}, message("translate_first")),
    el("p", {}, message("translate_first_text")),
    tourLink(),
    el("p", { class: "muted" }, message("translate_first_try")),
    el("ul", { class: "start-examples" }, ...startExamples(card()).map(({ text, language }) => el("li", {},
      el("button", { type: "button", on: { click: () => chooseExample(text) } }, el("span", { lang: language }, text), markElement(text))))));
  fillMarks(start);
  return start;
}
