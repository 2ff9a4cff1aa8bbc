/** Builds HTML, SVG and MathML elements; text is set as text nodes only, never parsed as markup. */

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/**
 * An element with attributes and children; `on` holds listeners, strings become text.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 */
export function el(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** The same in SVG. @param {string} tag @param {Record<string, unknown>} [attributes] */
export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** The same in MathML. @param {string} tag @param {Record<string, unknown>} [attributes] */
export function math(tag, attributes = {}, ...children) {
  return build(document.createElementNS(MATH, tag), attributes, children);
}

/** Replace the children of an element. @param {Element} parent */
export function setChildren(parent, ...children) {
  parent.replaceChildren(...children.flat().filter(present));
  return parent;
}

/** A span with a `lang` attribute, for fonts and screen readers. */
export function text(content, lang) {
  return el("span", lang ? { lang } : {}, content);
}

/** Text in which W_q is written with a subscript. @param {string} content */
export const withSubscripts = (content) => content.split(/(?<=W)_(\w)/).map((part, index) => (index % 2 ? el("sub", {}, part) : part));

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("aria-")) {
      element.setAttribute(name, String(value));
    } else if (value === false) {
      continue;
    } else if (name === "on") {
      for (const [kind, listener] of Object.entries(value)) element.addEventListener(kind, listener);
    } else if (name === "style") {
      for (const [key, property] of Object.entries(value)) element.style.setProperty(key, property);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter(present));
  return element;
}

const present = (child) => child !== null && child !== undefined && child !== false;
