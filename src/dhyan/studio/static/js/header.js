/** The sentence, the model and the search: what every view is about. */

import { el, fill } from "./dom.js";
import { state, set, subscribe, address } from "./state.js";
import { lang, message } from "./messages.js";
import { showStatus } from "./status.js";
import { openExport } from "./export.js";
import { openKeys } from "./keyboard.js";
import { examples } from "./example_sentences.js";

/** What a kind of attention is, for pages in Hindi: recipes tell it in English. */
const IN_HINDI = {
  bottleneck: "अवधान नहीं: पूरे वाक्य के लिए एक ही सदिश।",
  additive: "योगात्मक अवधान (बहदानाउ): हर शब्द से पहले वाक्य को नए सिरे से देखता है।",
  dot: "गुणनात्मक अवधान (लुओंग): पहले चरण लेता है, फिर अदिश गुणनफल से देखता है।",
  general: "गुणनात्मक अवधान (लुओंग): पहले चरण लेता है, फिर आव्यूह के साथ गुणनफल से देखता है।",
  heads: "Transformer: कई हेडों से स्व-अवधान, मास्क वाला अवधान और क्रॉस-अवधान।",
};

let cards = [];

/** @param {{name: string, about: string}[]} models */
export function header(models) {
  cards = models;
  settle();
  draw();
  subscribe((changed) => {
    settle();
    if (changed.has("language")) draw();
    else if (["text", "model", "beam", "theme"].some((key) => changed.has(key))) fitted();
  });
}

/** The card of the model that is asked. */
export const card = (name = state.model) => cards.find((card) => card.name === name);
export const models = () => cards;

/** Models that came or went while the page was open. */
export function updateModels(now) {
  cards = now;
  draw();
}

/** A model to ask; a saved trace brings the only sentence it can be asked. */
const asked = (model) => (card(model)?.saved ? { model, text: card(model).saved, beam: 1, prefix: "" } : { model });

/** Without a model the first is asked, and a saved trace for its own sentence. */
function settle() {
  if (!state.model && cards.length) set({ model: cards[0].name }, { quiet: true });
  if (card()?.saved) set(asked(state.model), { quiet: true });
}

const allSaved = () => cards.length > 0 && cards.every((card) => card.saved);

function draw() {
  fill(document.querySelector("#header"), mark(), ask(), tools(), chosen(),
    allSaved() ? sentences() : examples());
  fitted();
}

function mark() {
  return el("a", { class: "mark", href: address({ view: "translate" }), "aria-label": "dhyan studio" },
    el("b", { lang: "hi" }, "ध्यान"), el("span", {}, "dhyan"));
}

function ask() {
  const box = el("textarea", { id: "sentence", rows: 1, maxlength: 500, lang: "en", spellcheck: "true",
    readonly: allSaved(),
    "aria-label": message("sentence"), placeholder: message("write"),
    on: { input: grow, keydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        send();
      }
    } } });
  return el("form", { class: "ask", role: "search", on: { submit: (event) => {
    event.preventDefault();
    send();
  } } }, box, el("button", { class: "main", type: "submit" }, message("translate")));
}

function send() {
  const words = document.querySelector("#sentence").value.normalize("NFC").trim();
  if (!cards.length) showStatus(message("waits"));
  if (words === state.text) document.dispatchEvent(new CustomEvent("again"));
  else set({ text: words, target: 1, source: 1, prefix: "" });
}

function grow() {
  const box = document.querySelector("#sentence");
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
}

function tools() {
  const button = (words, act, more = {}) =>
    el("button", { type: "button", ...more, on: { click: act } }, words);
  const copy = async () => {
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    showStatus(message("copied"));
  };
  const next = { auto: "light", light: "dark", dark: "auto" };
  return el("div", { class: "tools" },
    button(message("link"), copy, { id: "copy-link" }),
    button(`${message("export")} ▾`, openExport, { id: "export", "aria-haspopup": "menu" }),
    button("◐", () => set({ theme: next[state.theme] }, { quiet: true }), { id: "theme" }),
    button(state.language === "hi" ? "English" : "हिन्दी", () => set({ language: state.language === "hi" ? "en" : "hi" }),
      { id: "ui", lang: state.language === "hi" ? "en" : "hi" }),
    button("?", openKeys, { id: "help", "aria-label": message("keys") }));
}

function chosen() {
  const select = (id, label, options, change) => el("label", {}, label,
    el("select", { id, on: { change: (event) => change(event.target.value) } },
      ...options.map(([value, words]) => el("option", { value }, words))));
  const beams = [["1", message("greedy")], ...[2, 3, 4, 5, 6, 7, 8].map((k) => [String(k), message("beam", k)])];
  return el("div", { class: "chosen" },
    select("model", message("model"), cards.map((card) => [card.name, card.name]), (model) => set(asked(model))),
    select("beam", message("search"), beams, (beam) => set({ beam: Number(beam) })),
    el("span", { class: "quiet", id: "about" }));
}

/** Of several saved traces, the sentence of each. */
function sentences() {
  return cards.length > 1 && el("ul", { class: "examples", tabindex: 0, role: "list",
    "aria-label": message("sentence") }, ...cards.map((card) => el("li", {}, el("button", { type: "button",
    lang: card.source_language, on: { click: () => set({ ...asked(card.name), target: 1, source: 1 }) } }, card.saved))));
}

/** What a model is: in its recipe's own line, or by its kind of attention. */
const about = (one) => (lang() === "hi" && IN_HINDI[one?.score]) || (one?.about ?? "");

/** Everything in the header as the state has it. */
function fitted() {
  const box = document.querySelector("#sentence");
  if (box.value !== state.text) box.value = state.text;
  grow();
  document.querySelector("#model").value = state.model;
  document.querySelector("#beam").value = String(state.beam);
  document.querySelector("#about").textContent =
    card()?.saved ? message("saved", state.model) : about(card());
  document.querySelector("#theme").setAttribute("aria-label", `${message("theme")}: ${message(state.theme)}`);
}
