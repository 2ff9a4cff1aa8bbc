/** The padding mask: two sentences of one batch, and what is filled in behind the shorter. */

import { el, text } from "../dom.js";
import { said, tiny } from "../numbers.js";
import { say } from "../words.js";

const ROUNDING = 1e-3; // scores of words lie tens apart; sums taken in another order differ by less

/** @param {{first: string[], second: string[], weight: number, moved: number}} found @param {string} lang of the sentences */
export function padding(found, lang) {
  const empty = found.tokens.length - found.padded_tokens.length;
  const line = (words) => el("div", { class: "mask-sentence" },
    ...words.map((one) => el("span", { class: "mask-token" }, text(one, lang))),
    ...Array.from({ length: found.tokens.length - words.length }, () =>
      el("span", { class: "mask-token pad" }, el("span", {}, "<pad>"))));
  return el("div", { class: "mask-padding" },
    el("h2", {}, say("mask_padding")),
    el("p", {}, say("mask_padding_text")),
    el("div", { class: "picture", role: "region", tabindex: "0", "aria-label": say("mask_padding") },
      el("div", { class: "mask-batch", role: "img", style: { "--count": found.tokens.length },
        "aria-label": say("mask_padding_label", found.padded_tokens.length, empty) }, line(found.tokens), line(found.padded_tokens))),
    el("p", {}, say("mask_padding_weight", found.padding_weight === 0 ? "0.0" : said(found.padding_weight, 4)), " ", same(found.max_change)));
}

function same(by) {
  if (by === 0) return say("mask_padding_same");
  return say(by < ROUNDING ? "mask_padding_rounding" : "mask_padding_moved", tiny(by));
}
