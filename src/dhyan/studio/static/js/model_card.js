/** The card of the model inside a page: data, licences, scores, limits; and what the file leaves out. */

import { get } from "./api.js";
import { el } from "./dom.js";
import { message } from "./messages.js";

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
