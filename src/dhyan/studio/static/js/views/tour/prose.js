/** Sentences whose phrases point at parts of the picture: `[[phrase|part]]` in a message. */

import { el, text } from "../../dom.js";
import { message } from "../../messages.js";

const [OPEN, CLOSE] = ["\uE000", "\uE001"]; // around the number of a value

/**
 * A paragraph of a message. Its phrases are buttons with `data-part`; values have the language of their side.
 * @param {string} key @param {import("./steps.js").Value[]} values @param {{source: string, target: string}} languages
 */
export function paragraph(key, values, languages) {
  const marked = message(key, ...values.map((_, index) => `${OPEN}${index}${CLOSE}`));
  const pieces = marked.split(/\[\[(.*?)\|([\w-]+)\]\]/);
  return el("p", {}, ...pieces.flatMap((piece, index) => {
    if (index % 3 === 0) return filled(piece, values, languages);
    if (index % 3 === 2) return [];
    return [el("span", { role: "button", tabindex: 0, class: "tour-phrase", "data-part": pieces[index + 1] }, ...filled(piece, values, languages))];
  }));
}

/** A text with its values. */
function filled(piece, values, languages) {
  return piece.split(new RegExp(`${OPEN}(\\d)${CLOSE}`)).map((own, index) => {
    if (index % 2 === 0) return own;
    const value = values[Number(own)];
    return text(value.text, value.side && languages[value.side]);
  });
}
