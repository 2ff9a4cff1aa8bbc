/** The text of a step: prose that points at the picture, a question with its choices, the answer, and what is to be seen. */

import { el, setChildren } from "../../dom.js";
import { message } from "../../messages.js";
import { paragraph } from "./prose.js";

/** @param {{light: (name: string | null) => void, answer: (choice: number) => void, skip: () => void}} actions */
export function stepPanel({ light, answer, skip }) {
  const [head, before, question, verdict, after] = ["head", "before", "question", "verdict", "after"].map((name) => el("div", { class: `tour-${name}` }));
  verdict.setAttribute("aria-live", "polite");
  const node = el("div", { class: "tour-panel" }, head, before, question, verdict, after);
  let key = ""; // of the step on screen

  const phraseOf = (event) => event.target.closest?.(".tour-phrase");
  const pointAt = (event) => {
    const phrase = phraseOf(event);
    show(phrase?.dataset.part ?? null);
  };
  node.addEventListener("pointerover", pointAt);
  node.addEventListener("pointerleave", () => show(null));
  node.addEventListener("focusin", pointAt);
  node.addEventListener("focusout", () => show(null));

  /** Light a part of the picture and the phrases about it. */
  function show(name) {
    light(name);
    lightPhrases(name);
  }

  function lightPhrases(name) {
    for (const phrase of node.querySelectorAll(".tour-phrase")) phrase.classList.toggle("lit", phrase.dataset.part === name);
  }

  /** The choices, or what became of them. */
  function renderChoices({ step, languages, revealed, answer: given }) {
    const buttons = step.question.choices.map((choice, index) => {
      const mark = revealed && (choice.correct ? "✓ " : index === given ? "✗ " : "");
      return el("button", { type: "button", class: `tour-choice${revealed && choice.correct ? " right" : ""}${revealed && index === given && !choice.correct ? " wrong" : ""}`,
        "data-choice": index, lang: choice.side && languages[choice.side], "aria-disabled": revealed, "aria-pressed": index === given,
        on: { click: () => !revealed && answer(index) } }, mark && el("span", { "aria-hidden": "true" }, mark), choice.text);
    });
    const focused = question.contains(document.activeElement) && document.activeElement?.dataset.choice;
    setChildren(question, el("h3", { id: "tour-question" }, message("tour_predict")), Object.assign(paragraph(step.texts.question, step.values, languages), { id: "tour-question-text" }),
      el("div", { class: "tour-choices", role: "group", "aria-labelledby": "tour-question-text" }, ...buttons,
        !revealed && el("button", { type: "button", class: "tour-skip", on: { click: skip } }, message("tour_show_me"))));
    if (focused) question.querySelector(`[data-choice="${focused}"]`)?.focus();
  }

  function renderVerdict({ step, languages, revealed, answer: given }) {
    if (!revealed || !step.question) return setChildren(verdict);
    const right = step.question.choices.find(({ correct }) => correct);
    const isRight = step.question.choices[given]?.correct === true;
    const first = isRight ? message("tour_right") : message(given === null || given < 0 ? "tour_skipped" : "tour_wrong", right.text);
    const why = paragraph(step.texts.why, step.values, languages);
    why.prepend(el("strong", { class: isRight ? "right" : given >= 0 ? "wrong" : "" }, first), " ");
    return setChildren(verdict, why);
  }

  return {
    node,
    /** Whether a phrase of the step is about a part. @param {string} name */
    has: (name) => node.querySelector(`.tour-phrase[data-part="${name}"]`) !== null,
    light: lightPhrases,
    /** @param {{step: any, number: number, count: number, languages: {source: string, target: string}, revealed: boolean, answer: number | null, ending: Node | null}} shown */
    show(shown) {
      const { step, number, count, languages, revealed, ending } = shown;
      const isNew = key !== step.name;
      key = step.name;
      setChildren(head, el("p", { class: "tour-count muted" }, message("tour_step_of", number, count)), el("h2", {}, step.title));
      setChildren(before, paragraph(step.texts.before, step.values, languages), number === 1 && el("p", { class: "muted" }, message("tour_hint")));
      if (step.question) renderChoices(shown);
      else setChildren(question);
      renderVerdict(shown);
      setChildren(after, revealed && paragraph(step.texts.after, step.values, languages), ending);
      if (isNew && number > 1) head.scrollIntoView({ block: "nearest" });
    },
  };
}
