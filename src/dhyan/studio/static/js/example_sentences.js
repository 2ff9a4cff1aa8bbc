/** Example sentences: those of the lecture notes, and some with known difficulties. */

import { el } from "./dom.js";
import { addMessages, message } from "./messages.js";
import { set } from "./state.js";

addMessages({
  example_order: ["order", "क्रम"],
  example_length: ["length", "लंबाई"],
  example_money: ["money", "पैसा"],
  example_river: ["river", "नदी"],
  example_meaning: ["meaning", "अर्थ"],
  example_readings: ["two readings", "दो अर्थ"],
  example_pronoun: ["pronoun", "सर्वनाम"],
  example_idiom: ["idiom", "मुहावरा"],
  example_number: ["number", "संख्या"],
  example_unknown: ["unknown word", "अनजान शब्द"],
});

/** A sentence, and the phenomenon it shows. */
const EXAMPLES = [
  ["Turn off the lights.", "order"],
  ["The bank of the river is far.", "river"],
  ["Sita went to the bank and then took a loan.", "money"],
  ["Amit came to the bank and rowed the boat.", "river"],
  ["How are you?"],
  ["We are friends."],
  ["I like eating pizza.", "order"],
  ["Apple launched a new phone while I was eating an orange.", "meaning"],
  ["The man saw the astronomer with a telescope.", "readings"],
  ["The chicken is ready to eat.", "readings"],
  ["Nice to meet you.", "length"],
  ["Think about it."],
  ["Come in."],
  ["Anil stopped near the bank because he wanted to open an account.", "pronoun"],
  ["The boy ate a piece of cake.", "idiom"],
  ["Three boys bought two books.", "number"],
  ["A transformer lowers the voltage."],
  ["The zebra ate a mango.", "unknown"],
];

/** The row of example buttons. */
export function examples() {
  return el("ul", { class: "examples", tabindex: 0, role: "list", "aria-label": message("examples") },
    ...EXAMPLES.map(([words, about]) => el("li", {}, el("button", { type: "button",
      on: { click: () => set({ text: words, target: 1, source: 1, prefix: "" }) } },
    about && el("span", { class: "tag" }, message(`example_${about}`)), el("span", { lang: "en" }, words)))));
}
