/** Guided tour: one token of a translation followed through the model, a step at a time, with a question before each reveal. */

import { el, setChildren } from "../dom.js";
import { card, models } from "../header.js";
import { stateLink } from "../links.js";
import { message } from "../messages.js";
import { set, state } from "../state.js";
import { showStatus, errorText } from "../status.js";
import { invalidateTrace } from "../traces.js";
import { tourCanvas } from "./tour/canvas.js";
import { fetchTranslation, hasAttention, informativeToken, numbersOfWord } from "./tour/numbers_of_word.js";
import { stepPanel } from "./tour/step_panel.js";
import { stepNames, stepOf, titleOf } from "./tour/steps.js";
import { quality } from "./translate/quality.js";

const FIRST_TEXT = "The children are playing in the garden."; // an everyday sentence that no pretrained model was trained on
const MAX_ALTERNATIVES = 4;

/** Answers given, by sentence, model, token and step: the number of the choice, or −1 if the answer was shown. @type {Map<string, number>} */
const answers = new Map();
let toured = ""; // the translation of the last tour; another one begins a new tour

/** @returns {View} */
export function open() {
  const follow = el("select", { id: "tour-follow", on: { change: () => set({ target: Number(follow.value), tour_step: 1 }, { replace: true }) } });
  const whole = el("button", { type: "button", class: "tour-whole", "aria-pressed": false, on: { click: () => showWhole(whole.getAttribute("aria-pressed") !== "true") } }, message("tour_whole"));
  const tools = el("div", { class: "tour-tools", hidden: true }, el("label", { class: "field" }, el("span", {}, message("tour_follow")), follow), whole);
  const canvas = tourCanvas({ onPoint: pointed, onChoose: (name) => go(steps.indexOf(name) + 1) });
  const panel = stepPanel({ light: canvas.light, answer, skip: () => answer(-1) });
  const directions = /** @type {[string, number][]} */ ([["back", -1], ["next", 1]]);
  const [back, next] = directions.map(([name, by]) => el("button", { type: "button", class: name === "next" ? "tour-next primary" : "tour-back",
    on: { click: () => go(state.tour_step + by) } }, message(`tour_${name}`)));
  const dots = el("ol", { class: "tour-dots" });
  const navigation = el("nav", { class: "tour-navigation", "aria-label": message("tour_steps") }, back, dots, next);
  const stage = el("div", { class: "tour-stage", hidden: true }, el("div", { class: "tour-picture" }, canvas.node, navigation), panel.node);
  const note = el("div", { class: "tour-message" });
  const warning = el("div"); // that the translation is probably wrong
  const node = el("section", { class: "tour", "aria-labelledby": "view-title" },
    el("header", { class: "tour-header" }, el("h1", { id: "view-title" }, message("tour_title")), tools), note, warning, stage);
  let stop = new AbortController();
  let translation = null;
  let numbers = null; // of the followed token
  let steps = [];
  let shown = 0; // the step on screen

  const languages = () => ({ source: card()?.source_language ?? "en", target: card()?.target_language ?? "hi" });
  const keyOf = (number) => JSON.stringify([translation.key, numbers.step, steps[number - 1]]);
  const question = (number) => stepOf(steps[number - 1], numbers).question;
  const isRevealed = (number) => answers.has(keyOf(number)) || !question(number);

  /** Fetch the translation. A new tour follows the chosen token, or an informative one; `resumed` keeps the step of another translation. */
  async function load({ resumed = false } = {}) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    translation = numbers = null;
    shown = 0;
    showOnly(note);
    setChildren(warning);
    if (!state.model) return setChildren(note, el("p", {}, message("no_model")));
    if (!state.text && languages().source === "en") set({ text: FIRST_TEXT, prefix: "" }, { replace: true });
    if (signal.aborted) return null; // the new sentence has begun its own load
    if (!state.text) return setChildren(note, el("p", { class: "muted" }, message("tour_write")));
    setChildren(note, el("p", { class: "muted" }, message("working")));
    showStatus(message("working"));
    try {
      const response = await fetchTranslation(signal);
      if (signal.aborted) return null;
      if (!hasAttention(response)) return showNoAttention();
      const another = toured !== "" && toured !== response.key && !resumed;
      if (!state.tour_step || another) set({ tour_step: 1, target: state.target > 1 ? state.target : informativeToken(response) + 1 }, { replace: true });
      toured = response.key;
      translation = response;
      setChildren(warning, quality(response.trace, card() ?? {}, state.text));
      await showToken();
    } catch (error) {
      if (error.name === "AbortError") return null;
      showOnly(note);
      setChildren(note, el("p", {}, errorText(error)));
      showStatus(error);
    }
    return null;
  }

  /** Draw the machine of the followed token, and its step. */
  async function showToken() {
    const { signal } = stop;
    const { tokens } = translation.trace.target;
    const target = Math.min(state.target, tokens.length);
    const own = await numbersOfWord(translation, target - 1, signal);
    if (signal.aborted || !translation) return;
    numbers = own;
    steps = stepNames(numbers);
    if (target !== state.target || state.tour_step > steps.length) set({ target, tour_step: Math.min(state.tour_step, steps.length) }, { replace: true });
    setChildren(follow, ...tokens.map((token, index) => el("option", { value: index + 1, selected: index + 1 === target, lang: languages().target }, `${index + 1} · ${token.text}`)));
    follow.value = String(target);
    canvas.draw(numbers, languages(), steps);
    showOnly(stage);
    shown = 0;
    render();
  }

  function showOnly(box) {
    note.hidden = box !== note;
    stage.hidden = tools.hidden = box !== stage;
  }

  /** Show the step of the state. */
  function render() {
    if (!numbers) return;
    const number = Math.min(Math.max(state.tour_step, 1), steps.length);
    const step = stepOf(steps[number - 1], numbers);
    if (shown !== number) whole.setAttribute("aria-pressed", "false");
    canvas.showWhole(whole.getAttribute("aria-pressed") === "true");
    canvas.show({ number, main: step.main, near: step.near, isRevealed, animated: shown > 0, description: message("tour_picture", step.title, numbers.trace.text) });
    panel.show({ step, number, count: steps.length, languages: languages(), revealed: isRevealed(number), answer: answers.get(keyOf(number)) ?? null,
      ending: number === steps.length && isRevealed(number) ? ending() : null });
    setChildren(dots, ...steps.map((name, index) => dot(index + 1, number)));
    back.disabled = number === 1;
    next.disabled = number === steps.length;
    shown = number;
    showStatus(message("tour_step_link", number, steps.length, step.title));
  }

  function dot(number, current) {
    const title = titleOf(steps[number - 1], numbers);
    return el("li", {}, stateLink({ tour_step: number }, "", { replace: true, class: number < current ? "past" : "", "aria-label": message("tour_step_link", number, steps.length, title), title,
      "aria-current": number === current ? "step" : null }));
  }

  function go(number) {
    if (!numbers || number < 1 || number > steps.length) return;
    const focused = document.activeElement;
    set({ tour_step: number }, { replace: true });
    if (focused === next && next.disabled) back.focus();
    if (focused === back && back.disabled) next.focus();
  }

  /** Check an answer; −1 asks for it. @param {number} choice */
  function answer(choice) {
    if (!numbers || isRevealed(state.tour_step)) return;
    answers.set(keyOf(state.tour_step), choice);
    render();
    if (choice < 0) (next.disabled ? back : next).focus();
  }

  function showWhole(on) {
    whole.setAttribute("aria-pressed", String(on));
    canvas.showWhole(on);
  }

  /** How many predictions were right, those that were only shown left out, and where to go on. */
  function ending() {
    const predicted = steps.map((_, index) => question(index + 1)?.choices[answers.get(keyOf(index + 1)) ?? -1]).filter((choice) => choice !== undefined);
    const right = predicted.filter((choice) => choice.correct);
    const inside = numbers.kind === "transformer" ? { view: "head", role: "cross", layer: numbers.layer, head: String(numbers.head), source: numbers.best + 1 }
      : { view: "step", source: numbers.best + 1 };
    return el("div", { class: "tour-ending" }, predicted.length > 0 && el("p", {}, el("strong", {}, message("tour_score", right.length, predicted.length))),
      el("h3", {}, message("tour_ways_on")),
      el("ul", {}, numbers.next && el("li", {}, stateLink({ target: numbers.step + 2, tour_step: 1 }, message("tour_next_token", numbers.next.text))),
        el("li", {}, stateLink(inside, message("tour_every_number"))), ...withAttention().map((own) => el("li", {}, modelLink(own)))));
  }

  const modelLink = (own) => stateLink({ model: own.name }, message("tour_other_model", own.name));

  /** Other models of the same languages that have attention; those of other kinds first. */
  function withAttention() {
    const current = card();
    return models().filter((own) => own.name !== state.model && !["none", "bottleneck"].includes(own.score) && !own.saved && own.views.includes("tour") && own.source_language === current?.source_language)
      .sort((a, b) => distance(a, current) - distance(b, current)).slice(0, MAX_ALTERNATIVES);
  }

  /** The same languages before others, another kind of decoder before the same. */
  const distance = (own, current) => 2 * Number(own.target_language !== current?.target_language) + Number(own.decoder === current?.decoder);

  function showNoAttention() {
    showOnly(note);
    setChildren(note, el("div", { class: "card" }, el("p", {}, message("tour_no_attention", state.model)), alternatives()));
    showStatus("");
  }

  function alternatives() {
    const others = withAttention();
    return el("div", {}, el("p", {}, message(others.length ? "tour_no_attention_models" : "tour_no_models")), el("ul", {}, ...others.map((own) => el("li", {}, modelLink(own)))));
  }

  /** The pointer is over a part of the picture: light it and the phrase about it. @param {string[] | null} names */
  function pointed(names) {
    const name = names && (names.find((own) => panel.has(own)) ?? names[0]);
    canvas.light(name, { follow: false });
    panel.light(name);
  }

  /** → and ← change the step where they do not move anything else. */
  function keydown(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, dialog, [popover], [role=radiogroup]")) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    go(state.tour_step + by);
  }

  const reload = () => {
    invalidateTrace();
    load();
  };
  load();
  document.addEventListener("keydown", keydown);
  document.addEventListener("retranslate", reload);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) load({ resumed: changed.has("tour_step") });
      else if (!translation) return;
      else if (changed.has("target")) showToken().catch(showStatus);
      else if (changed.has("tour_step")) render();
    },
    exportData: () => ({ trace: translation?.trace ?? null, picture: numbers && canvas.picture, table: numbers && { values: [numbers.scores, numbers.weights],
      rows: ["e", "α"], columns: numbers.source.map((token) => token.text) } }),
    close() {
      stop.abort();
      canvas.close();
      document.removeEventListener("keydown", keydown);
      document.removeEventListener("retranslate", reload);
    },
  };
}
