/** Texts of the page in the current language, from the catalogues `text/en.json` and `text/hi.json`. */

import { embeddedResponse, standalone } from "./embedded_trace.js";
import { state } from "./state.js";

const LANGUAGES = ["en", "hi"];
const catalogues = Object.fromEntries(await Promise.all(LANGUAGES.map(async (language) => [language, flatten(await readCatalogue(language))])));

async function readCatalogue(language) {
  const path = `/static/text/${language}.json`;
  return standalone ? embeddedResponse(path) : (await fetch(path)).json();
}

/** A catalogue has a section for each part of the page; keys are unique among all. */
function flatten(catalogue) {
  return Object.assign({}, ...Object.values(catalogue));
}

/** The current language. */
export const lang = () => state.language ?? "en";

/** A message in the current language, with {0}, {1} … replaced. @param {string} key @param {...unknown} values */
export function message(key, ...values) {
  const text = catalogues[lang()][key];
  if (text === undefined) throw new Error(`no message for ${key}`);
  return text.replace(/\{(\d)\}/g, (_, number) => String(values[Number(number)]));
}

/** Whether a key has a message. @param {string} key */
export const hasMessage = (key) => key in catalogues.en;
