/** Page header: sentence, model, search, tools. */

import { el, setChildren } from "./dom.js";
import { otherTheme } from "./colors.js";
import { keepFocus } from "./focus.js";
import { state, set, subscribe, address, isComparing, MAX_TEXT, OTHER_MODEL } from "./state.js";
import { hasMessage, lang, message } from "./messages.js";
import { showStatus } from "./status.js";
import { openExport } from "./export.js";
import { openShortcuts } from "./keyboard.js";
import { hasModel } from "./embedded_model.js";
import { choose, exampleList, sentenceFor } from "./example_sentences.js";
import { openModelCard } from "./model_card.js";
import { addNotices } from "./notices.js";
import { pictureInput } from "./picture_input.js";
import { isPicture } from "./pictures.js";
import { popover } from "./popover.js";
import { taskVerb } from "./task_words.js";
import { fillMarks, markElement } from "./training_marks.js";

const description = el("p", { id: "model-description", class: "muted" }); // beside the status line
document.querySelector("body > footer").append(description);
const sentenceMark = markElement("");
/** @type {ModelCard[]} */
let cards = [];
let examples = null; // the list in the menu, and the model that it is for
let listedFor = "";
let picture = null; // the input of a model that reads pictures

/** @param {ModelCard[]} models */
export function header(models) {
  cards = models;
  applyDefaults();
  draw();
  subscribe((changed) => {
    applyDefaults();
    if (changed.has("language")) keepFocus(document.querySelector("#header"), draw);
    else if (["text", "model", "beam", "theme", "model2", "text2", "view"].some((key) => changed.has(key))) syncState();
  });
}

/** Model card by name; by default that of the selected model. @returns {ModelCard | undefined} */
export const card = (name = state.model) => cards.find((card) => card.name === name);
export const models = () => cards;

/** Replace the model list while the page is open. */
export function updateModels(models) {
  cards = models;
  draw();
}

/** State change that selects a model; a saved trace brings its only sentence, and an example of another task gives way. */
const modelPatch = (model) => {
  const saved = card(model)?.saved;
  return saved ? { model, text: saved, beam: 1, prefix: "" } : { model, text: sentenceFor(card(model), state.text) };
};

/** The model to compare with by default: the next of the same languages, else the next. */
function otherModel() {
  const index = cards.findIndex((card) => card.name === state.model);
  const next = [...cards.slice(index + 1), ...cards.slice(0, Math.max(index, 0))];
  const languages = (/** @type {ModelCard | undefined} */ model) => `${model?.source_language} ${model?.target_language}`;
  return (next.find((other) => languages(other) === languages(card())) ?? next[0])?.name ?? "";
}

/** Select the first model where none is selected, and the sentence of a saved trace. */
function applyDefaults() {
  const unknown = state.model && cards.length && !card();
  if (unknown) addNotices([message("unknown_model", state.model, cards[0].name)]);
  if ((unknown || !state.model) && cards.length) set({ model: cards[0].name }, { replace: true });
  if (state.model2 && !card(state.model2)) {
    if (state.model2 !== OTHER_MODEL) addNotices([message("unknown_model", state.model2, otherModel() || state.model)]);
    set({ model2: otherModel() }, { replace: true });
  }
  if (card()?.saved) set(modelPatch(state.model), { replace: true });
}

const allSaved = () => cards.length > 0 && cards.every((card) => card.saved);

function draw() {
  setChildren(document.querySelector("#header"), logo(), sentenceForm(), selectors(), tools(), allSaved() && sentences());
  syncState();
}

function logo() {
  return el("a", { class: "logo", href: address({ view: "translate" }), "aria-label": "dhyan studio" },
    el("b", { lang: "hi" }, "ध्यान"), el("span", {}, "dhyan"));
}

function sentenceForm() {
  const box = el("textarea", { id: "sentence", rows: 1, lang: "en", spellcheck: "true",
    readonly: allSaved(), "aria-describedby": "sentence-length",
    "aria-label": message("sentence"), placeholder: message("write"),
    on: { input: grow, keydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        send();
      }
    } } });
  picture = pictureInput((name) => choose(name));
  return el("form", { class: "sentence-form", role: "search", on: { submit: (event) => {
    event.preventDefault();
    send();
  } } }, el("div", { class: "sentence-box" }, el("div", { class: "sentence-field", on: { click: () => box.focus() } }, box), picture,
    el("span", { id: "sentence-mark" }, sentenceMark), el("span", { id: "sentence-length", class: "error", role: "alert" })),
  el("button", { class: "primary", type: "submit", id: "send" }, taskVerb(card())),
  el("a", { class: "skip-link", href: "#view", on: { click: focusPicture } }, message("skip_picture")));
}

/** Move the focus from the sentence to the tab stop of the picture, past everything between. */
function focusPicture(event) {
  event.preventDefault();
  const view = document.querySelector("#view");
  const tabStop = ["[role=gridcell]", "[role=grid] [data-word]", ".ribbon-word", ".pair-target button"]
    .map((kind) => view.querySelector(`${kind}[tabindex="0"]`)).find(Boolean);
  (tabStop ?? view).focus();
}

function send() {
  if (readsPictures()) return state.text ? document.dispatchEvent(new CustomEvent("retranslate")) : document.querySelector("#picture")?.focus();
  const words = document.querySelector("#sentence").value.normalize("NFC").trim();
  if (!cards.length) showStatus(message("no_model"));
  if (words.length > MAX_TEXT) return document.querySelector("#sentence").focus(); // the box says why
  if (words === state.text) document.dispatchEvent(new CustomEvent("retranslate"));
  else set({ text: words, target: 1, source: 1, prefix: "", pinned: 0, text2: "" });
}

function grow() {
  const box = document.querySelector("#sentence");
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
  const words = box.value.normalize("NFC").trim();
  const length = words.length;
  document.querySelector("#sentence-mark").toggleAttribute("hidden", words !== state.text); // it is about the translated sentence
  const tooLong = length > MAX_TEXT;
  box.setAttribute("aria-invalid", String(tooLong));
  document.querySelector("#sentence-length").textContent = tooLong ? message("too_long", length, MAX_TEXT, length - MAX_TEXT) : "";
}

function tools() {
  const button = (words, onClick, more = {}) =>
    el("button", { type: "button", ...more, on: { click: onClick } }, words);
  const copy = async () => {
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    showStatus(message("copied"));
  };
  return el("div", { class: "tools" },
    button(message("link"), copy, { id: "copy-link", title: message("copy_link") }),
    button(`${message("export")} ▾`, openExport, { id: "export", "aria-haspopup": "menu" }),
    button("◐", () => set({ theme: otherTheme() }, { replace: true }), { id: "theme" }),
    button(state.language === "hi" ? "English" : "हिंदी", () => set({ language: state.language === "hi" ? "en" : "hi" }),
      { id: "language", lang: state.language === "hi" ? "en" : "hi" }),
    button("?", openShortcuts, { id: "help", "aria-label": message("keys") }));
}

function selectors() {
  const select = (id, label, options, change) => el("label", {}, el("span", { class: "visually-hidden" }, label),
    el("select", { id, title: label, on: { change: (event) => change(event.target.value) } },
      ...options.map(([value, label]) => el("option", { value }, label))));
  const beams = [["1", message("greedy")], ...[2, 3, 4, 5, 6, 7, 8].map((k) => [String(k), message("beam", k)])];
  examples = exampleList(() => menu.panel.hidePopover());
  listedFor = "";
  const menu = popover("examples", message("examples"), [examples]);
  return el("div", { class: "selectors" },
    el("div", { class: "model-choice" }, hasModel && el("b", { class: "model-name" }, cards[0].name), select("model", message("model"), cards.map((card) => [card.name, card.name]), (model) => set(modelPatch(model))),
      el("span", { class: "model-line" }, el("span", { id: "model-scores" }), cards.length > 1 && !allSaved() && el("button", { type: "button", id: "second-model-button",
        on: { click: () => set(isComparing() ? { model2: "", text2: "" } : { view: "translate", model2: OTHER_MODEL }) } }))),
    select("beam", message("search"), beams, (beam) => set({ beam: Number(beam) })),
    ...(allSaved() ? [] : [menu.button, menu.panel]),
    hasModel && el("button", { type: "button", id: "model-card", on: { click: () => openModelCard(state.model) } }, message("model_card")));
}

/** Buttons with the sentences of several saved traces. */
function sentences() {
  return cards.length > 1 && el("ul", { class: "examples", tabindex: 0, role: "list",
    "aria-label": message("sentence") }, ...cards.map((card) => el("li", {}, el("button", { type: "button",
    lang: card.source_language, on: { click: () => set({ ...modelPatch(card.name), target: 1, source: 1 }) } }, card.saved))));
}

/** Description of a model: of its task, from its recipe (in English), or by its attention score. */
function describeModel(card) {
  if (hasMessage(`synthetic_${card?.synthetic}`)) return message(`synthetic_${card.synthetic}`);
  if (card?.about && lang() === "en") return card.about;
  return hasMessage(`score_${card?.score}`) ? message(`score_${card.score}`) : card?.about ?? "";
}

/** Scores of a model on its held-out test set. */
const describeScores = (card) => Object.entries(card?.test_scores ?? {}).map(([name, value]) => `${name} ${value.toFixed(1)}`).join(" · ");

/** The scores as shown beside the name; a model without them says so. */
export const scoresText = (card) => (!card || card.saved ? "" : describeScores(card) ? message("unseen_scores", describeScores(card)) : message("unscored"));

/** Whether the selected model reads pictures; a saved trace shows its name. */
const readsPictures = () => card()?.source === "picture" && !allSaved();

/** Show the state in the header's controls. */
function syncState() {
  const box = document.querySelector("#sentence");
  const text = isPicture(state.text) && !allSaved() ? "" : state.text;
  if (box.value !== text) box.value = text;
  document.querySelector(".sentence-field").hidden = readsPictures();
  picture.hidden = !readsPictures();
  picture.sync();
  document.querySelector("#send").textContent = taskVerb(card());
  grow();
  document.querySelector("#model").value = state.model;
  document.querySelector("#beam").value = String(state.beam);
  const second = document.querySelector("#second-model-button");
  if (second) second.textContent = message(isComparing() ? "compare_one" : "compare_add");
  description.textContent = description.title = card()?.saved ? message("saved", state.model) : describeModel(card());
  const scores = document.querySelector("#model-scores");
  scores.textContent = scoresText(card());
  const test = card()?.test;
  scores.title = test ? message("scores_title", test) : "";
  sentenceMark.dataset.text = state.text;
  fillMarks(document.querySelector("#sentence-mark"));
  if (listedFor !== `${state.model} ${lang()}`) {
    listedFor = `${state.model} ${lang()}`;
    examples?.refresh(card());
  }
  document.querySelector("#theme").setAttribute("aria-label", `${message("theme")}: ${message(state.theme)}`);
}
