/** Elements made from values; text is only ever set as text. */

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/**
 * An element with attributes and children; `on` holds listeners, strings become text.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 */
export function el(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** The same in SVG. @param {string} tag @param {Record<string, unknown>} [attributes] */
export function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

/** The same in MathML. @param {string} tag @param {Record<string, unknown>} [attributes] */
export function math(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(MATH, tag), attributes, children);
}

/** What an element holds from now on. @param {Element} parent */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter(present));
  return parent;
}

/** A text in its own language, so that fonts and screen readers know. */
export function text(words, lang) {
  return el("span", lang ? { lang } : {}, words);
}

/** Words in which W_q has its index below. @param {string} words */
export const indexed = (words) => words.split(/(?<=W)_(\w)/).map((part, index) => (index % 2 ? el("sub", {}, part) : part));

function furnish(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("aria-")) {
      made.setAttribute(name, String(value));
    } else if (value === false) {
      continue;
    } else if (name === "on") {
      for (const [kind, hear] of Object.entries(value)) made.addEventListener(kind, hear);
    } else if (name === "style") {
      for (const [key, own] of Object.entries(value)) made.style.setProperty(key, own);
    } else {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children.flat().filter(present));
  return made;
}

const present = (child) => child !== null && child !== undefined && child !== false;
