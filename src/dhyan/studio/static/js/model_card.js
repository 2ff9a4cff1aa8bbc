/** The card of the model inside a page: data, licences, scores, limits; and what the file leaves out. */

import { get } from "./api.js";
import { el } from "./dom.js";
import { addMessages, message } from "./messages.js";

addMessages({
  model_card: ["About this model", "इस मॉडल के बारे में"],
  model_card_facts: ["Model", "मॉडल"],
  model_card_parameters: ["{0} parameters, stored as {1}", "{0} प्राचल, {1} में सहेजे हुए"],
  model_card_data: ["Training text", "प्रशिक्षण का पाठ"],
  model_card_pairs: ["{0} pairs; licence: {1}", "{0} वाक्य-युग्म; लाइसेंस: {1}"],
  model_card_scores: ["Scores on {0}, {1} pairs held out, beam {2}", "{0} पर अंक, अलग रखे {1} युग्म, beam {2}"],
  model_card_limits: ["Limits", "सीमाएँ"],
  model_card_file: ["This page", "यह पृष्ठ"],
  model_card_offline: ["The model is inside this file and runs in your browser. Nothing you write leaves this machine.",
    "मॉडल इसी फ़ाइल में है और आपके ब्राउज़र में चलता है। आप जो लिखते हैं वह इस मशीन से बाहर नहीं जाता।"],
  model_card_missing: ["Length and Training need `dhyan studio`: they run the model on a test set, or train one. So do the padding mask, and Gravity with the model's own vectors.",
    "लंबाई और प्रशिक्षण के लिए `dhyan studio` चाहिए: उनमें मॉडल परीक्षण-वाक्यों पर चलता है या प्रशिक्षित होता है। padding मास्क और मॉडल के अपने सदिशों वाले गुरुत्व के लिए भी।"],
});

const english = (tag, text) => el(tag, { lang: "en" }, text);

/** Open the card in a dialog. @param {string} name of the model */
export async function openModelCard(name) {
  const card = await get("/api/card");
  const dialog = el("dialog", { class: "model-card", "aria-labelledby": "model-card-title", on: { close: () => dialog.remove() } },
    el("h2", { id: "model-card-title", tabindex: -1, autofocus: true }, name),
    ...(card ? facts(card) : []),
    el("h3", {}, message("model_card_file")),
    el("p", {}, message("model_card_offline")), el("p", { class: "muted" }, message("model_card_missing")),
    el("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, message("close")));
  document.body.append(dialog);
  dialog.showModal();
}

const facts = (card) => [
  english("p", card.about),
  el("p", { class: "muted" }, english("span", card.architecture), " · ", message("model_card_parameters", card.parameters.toLocaleString("en"), card.precision)),
  el("h3", {}, message("model_card_limits")),
  el("ul", {}, ...card.limits.map((limit) => english("li", limit))),
  el("h3", {}, message("model_card_scores", card.test, card.test_pairs.toLocaleString("en"), card.beam)),
  el("ul", {}, ...Object.values(card.scores).map((score) => el("li", {}, `${score.name} ${score.value.toFixed(1)} `, el("small", { class: "muted", lang: "en" }, score.signature)))),
  el("h3", {}, message("model_card_data")),
  el("ul", {}, ...card.data.map((text) => el("li", {}, el("b", { lang: "en" }, text.name), ": ", message("model_card_pairs", text.pairs.toLocaleString("en"), text.licence),
    el("br"), el("small", { class: "muted", lang: "en" }, text.attribution)))),
];
