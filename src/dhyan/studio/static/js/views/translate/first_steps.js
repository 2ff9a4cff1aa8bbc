/** Translate without a sentence, as after the box was emptied. */

import { el } from "../../dom.js";
import { message } from "../../messages.js";
import { state } from "../../state.js";
import { card } from "../../header.js";
import { choose as chooseExample, exampleLabel, startExamples } from "../../example_sentences.js";
import { fillMarks, markElement } from "../../training_marks.js";
import { tourLink } from "../tour/link.js";

/** Examples, or what to do if there is no model. */
export function firstSteps() {
  if (!state.model) return el("div", { class: "start-card card" }, el("p", {}, message("no_model")));
  const [examples, isPictureModel] = [startExamples(card()), card()?.source === "picture"];
  const start = el("div", { class: "start-card card" },
    el("h2", {}, message(!card()?.codecs ? "translate_first" : isPictureModel ? "picture_first" : "task_first")),
    ...(!card()?.codecs ? [el("p", {}, message("translate_first_text")), tourLink()] : []),
    examples.length > 0 && el("p", { class: "muted" }, message("translate_first_try")),
    el("ul", { class: "start-examples" }, ...examples.map((example) => el("li", {},
      el("button", { type: "button", on: { click: () => chooseExample(example.text) } }, exampleLabel(example), markElement(example.text))))));
  fillMarks(start);
  return start;
}
