/** Text normalisation before tokenizing, as `dhyan.text.normalize`: NFC, straight quotes, no invisible characters. */

/** Controls, soft hyphen, zero-width space, bidi marks, word joiner, byte order mark, tags; white space stays. */
const INVISIBLE = new RegExp("[\\u0000-\\u0008\\u000e-\\u001b\\u007f-\\u0084\\u0086-\\u009f\\u00ad\\u061c\\u200b"
  + "\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]", "gu");
/** What Python's `str.split` takes for white space. */
const SPACE = /[\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
/** A pipe that closes a sentence in Devanagari is a danda. */
const BAR = /(?<=[\u0900-\u0963\u0966-\u097f\u1cd0-\u1cfa\ua8e0-\ua8ff])( ?)([|।]{2}|\|)(?=["')\]]*(?: |$))/gu;

/** @param {string} text @returns {string} */
export function normalize(text) {
  const clean = text.replace(/\p{Surrogate}/gu, "\ufffd").replace(INVISIBLE, "")
    .replace(/[‘’‚‛‹›]/gu, "'").replace(/[“”„‟«»]/gu, '"').replaceAll("▁", "_")
    .normalize("NFC").replace(SPACE, " ").trim();
  return clean.replace(BAR, (_, space, bar) => space + (bar.length === 2 ? "॥" : "।"));
}
