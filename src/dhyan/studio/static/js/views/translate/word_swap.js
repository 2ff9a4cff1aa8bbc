/** Word swap: a sentence in which one word is another, to see what moves in its translation. */

import { el, setChildren } from "../../dom.js";
import { message } from "../../messages.js";

const MAX_SUGGESTED = 6;
const MAX_WORD = 60; // characters

/** Words that can stand for one another in most sentences. */
const GROUPS = [
  "sister brother mother father friend teacher doctor", "sisters brothers friends daughters sons", "boy girl man woman child", "children boys girls students people",
  "i you we they", "he she", "my your his her our their", "is was", "are were",
  "hospital school bank office garden station market park", "kitchen garden house room", "river sea mountain lake road",
  "rice bread fish food", "tea water milk coffee", "vegetables flowers books clothes fruit",
  "book newspaper letter story film", "pilot doctor teacher singer farmer", "keys glasses shoes books", "water tea money help",
  "interesting difficult beautiful old new", "hot cold fresh", "red white black yellow", "near far", "big small old young",
  "works lives sleeps reads", "working living sleeping reading", "playing sleeping singing running", "cooking eating buying washing", "drinking buying making",
  "called saw helped asked", "bought sold saw read", "want need like see", "wants needs likes tries",
  "two three four five ten", "one two three four five six seven eight nine", "ten twenty thirty forty fifty sixty seventy eighty ninety",
  "years months weeks days", "today tomorrow yesterday", "name age house", "where when why how",
  "january february march april may june july august september october november december",
  "money loan boat", "not always never", "in on near",
].map((group) => group.split(" "));

/** Words to try in place of another, those of its narrowest group first. @param {string} word @returns {string[]} */
export function suggestWords(word) {
  const lower = word.toLowerCase();
  const suggested = new Set(GROUPS.filter((group) => group.includes(lower)).flat());
  if (/^[a-z]$/.test(lower) && !suggested.size) for (const letter of "aeiknrst") suggested.add(letter); // of a toy task
  suggested.delete(lower);
  const capital = word !== lower;
  return [...suggested].slice(0, MAX_SUGGESTED).map((other) => (capital || other === "i" ? other[0].toUpperCase() + other.slice(1) : other));
}

/** The sentence with another word in place of the one at an index of its words; null if it is not found. */
export function replaceWord(text, words, index, replacement) {
  let end = 0;
  for (const [position, word] of words.entries()) {
    const start = text.indexOf(word, end);
    if (start < 0) return null;
    end = start + word.length;
    if (position === index) return text.slice(0, start) + word.replace(/[\p{L}\p{M}\p{N}'’-]+/u, () => replacement) + text.slice(end);
  }
  return null;
}

/** The word of a unit without its punctuation; empty for a punctuation mark. @param {string} text */
export const bareWord = (text) => /[\p{L}\p{M}\p{N}'’-]+/u.exec(text)?.[0] ?? "";

/**
 * The word in which two sentences differ, if they differ in one only.
 * @param {string} before @param {string} after @returns {{index: number, from: string, to: string} | null}
 */
export function swappedWord(before, after) {
  const [old, changed] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
  if (old.length !== changed.length) return null;
  const different = old.flatMap((word, index) => (word === changed[index] ? [] : [index]));
  return different.length === 1 ? { index: different[0], from: bareWord(old[different[0]]), to: bareWord(changed[different[0]]) } : null;
}

/**
 * A form to write or choose the other word. @param {string} word
 * @param {(replacement: string) => void} onSwap
 */
export function wordSwap(word, onSwap, { lang = "en", current = "" } = {}) {
  const submit = (replacement) => {
    const bare = replacement.normalize("NFC").trim();
    if (bare && bare !== word && bare !== current) onSwap(bare);
  };
  const input = el("input", { type: "text", class: "swap-word", lang, maxlength: MAX_WORD, autocomplete: "off", spellcheck: "false",
    "aria-label": message("swap_to", word), placeholder: message("swap_placeholder") });
  const form = el("form", { class: "word-swap", "aria-label": message("swap_title", word), on: { submit: (event) => {
    event.preventDefault();
    submit(input.value);
  } } });
  const suggestions = suggestWords(word).filter((other) => other !== current);
  return setChildren(form, el("span", { class: "swap-label" }, message("swap_title", word)),
    el("span", { class: "swap-field" }, input, el("button", { type: "submit" }, message("swap_go"))),
    suggestions.length > 0 && el("span", { class: "swap-suggestions" }, ...suggestions.map((other) =>
      el("button", { type: "button", lang, on: { click: () => submit(other) } }, other))));
}
