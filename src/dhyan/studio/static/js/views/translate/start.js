/** The page before there is a sentence: what it is, and what to do. */

import { el } from "../../dom.js";
import { set } from "../../state.js";
import { say } from "../../words.js";

const TRIES = [
  ["Turn off the lights.", "translate_try_order"],
  ["The man saw the astronomer with a telescope.", "translate_try_with"],
  ["Apple launched a new phone while I was eating an orange.", "translate_try_long"],
];

export const start = () => el("div", { class: "start card" },
  el("h2", {}, say("translate_first")),
  el("p", {}, say("translate_first_text")),
  el("p", { class: "quiet" }, say("translate_first_try")),
  el("ul", { class: "tries" }, ...TRIES.map(([words, why]) => el("li", {},
    el("button", { type: "button", on: { click: () => set({ q: words, i: 1, j: 1, f: "" }) } },
      el("span", { lang: "en" }, words), el("span", { class: "quiet" }, say(why)))))));
