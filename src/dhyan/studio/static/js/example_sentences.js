/** Example sentences, each marked as new to the model or seen in its training. */

import { el } from "./dom.js";
import { message } from "./messages.js";
import { set } from "./state.js";
import { markElement } from "./training_marks.js";

/** @type {{text: string, phenomenon: string, start: boolean}[]} */
let examples = [];

export function setExamples(list) {
  examples = list;
}

/** The examples to begin with. */
export const startExamples = () => examples.filter((example) => example.start);

/** State change that translates an example. */
export const choose = (text) => set({ text, target: 1, source: 1, prefix: "" });

/** The list of examples; the header fills their marks. @param {() => void} onChoose */
export function exampleList(onChoose) {
  return el("ul", { class: "examples", role: "list", "aria-label": message("examples") },
    ...examples.map(({ text, phenomenon }) => el("li", {}, el("button", { type: "button", on: { click: () => {
      onChoose();
      choose(text);
    } } },
      phenomenon && el("span", { class: "tag" }, message(`example_${phenomenon}`)), el("span", { lang: "en" }, text), markElement(text)))));
}
