/** Example sentences: those that fit the model and are new to it, then hard ones and those it saw in training. */

import { el, setChildren } from "./dom.js";
import { message } from "./messages.js";
import { isPicture, pictureOf, storePicture } from "./pictures.js";
import { set } from "./state.js";
import { markElement, seenInTraining, showMarks } from "./training_marks.js";

/** @typedef {{text: string, language: string, synthetic: string, phenomenon: string, hard: boolean, model: string}} Example */

/** @type {Example[]} */
let examples = [];
const START = 3; // sentences of the page without a sentence

/** Keep the examples; those that are pictures get names. @param {Example[]} list */
export async function setExamples(list) {
  examples = await Promise.all(list.map(async (example) => (example.text.startsWith("data:") ? { ...example, text: await storePicture(example.text, { keep: false }) } : example)));
}

/** An example as the page shows it. @param {Example} example */
export const exampleLabel = ({ text, language }) => (isPicture(text) ? el("img", { class: "example-picture", src: pictureOf(text), alt: message("picture_example") }) : el("span", { lang: language }, text));

/** The examples of a model's task or language. @param {object | undefined} card @returns {Example[]} */
const fitting = (card) => (!card ? [] : examples.filter((example) => (example.model ? example.model === card.name
  : example.synthetic ? example.synthetic === card.synthetic : !card.codecs && !examples.some(({ synthetic }) => synthetic && synthetic === card.synthetic) && example.language === card.source_language)));

/** The examples of a page without a sentence. */
export const startExamples = (card) => fitting(card).filter((example) => !example.hard).slice(0, START);

/** The sentence for a model: the one that is there, or an example where there is none or it is that of another task. */
export function sentenceFor(card, text) {
  const own = fitting(card);
  const isOtherKind = Boolean(card) && isPicture(text) !== (card.source === "picture");
  const isForeign = isOtherKind || (examples.some((example) => example.text === text) && !own.some((example) => example.text === text));
  return text && !isForeign ? text : own.find((example) => !example.hard)?.text ?? (isOtherKind ? "" : text);
}

/** State change that translates an example. */
export const choose = (text) => set({ text, target: 1, source: 1, prefix: "", pinned: 0, text2: "" });

/** The list of examples; `refresh` fits it to a model. @param {() => void} onChoose */
export function exampleList(onChoose) {
  const node = el("div", { class: "example-groups" });
  const item = (example) => el("li", {}, el("button", { type: "button", on: { click: () => {
    onChoose();
    choose(example.text);
  } } },
  example.phenomenon && el("span", { class: "tag" }, message(`example_${example.phenomenon}`)), exampleLabel(example), markElement(example.text)));
  const items = (label, list) => el("ul", { class: "examples", role: "list", "aria-label": label }, ...list.map(item));
  const closed = (name, list) => list.length > 0 && el("details", { class: `examples-${name}` },
    el("summary", {}, message(`examples_${name}`, list.length)), items(message(`examples_${name}`, list.length), list));

  async function refresh(card) {
    const own = fitting(card);
    const seen = own.length ? await seenInTraining(own.map((example) => example.text)) : [];
    const unseen = own.filter((_, index) => seen[index] !== true);
    setChildren(node, items(message("examples"), unseen.filter((example) => !example.hard)),
      closed("hard", unseen.filter((example) => example.hard)), closed("seen", own.filter((_, index) => seen[index] === true)),
      !own.length && el("p", { class: "muted" }, message("examples_none")));
    showMarks(node);
  }
  return Object.assign(node, { refresh });
}
