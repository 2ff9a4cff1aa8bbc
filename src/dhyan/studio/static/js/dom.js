/** Builds HTML, SVG and MathML elements; text is set as text nodes only, never parsed as markup. */

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/**
 * An element with attributes and children; `on` holds listeners, strings become text.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/**
 * The same in SVG.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag @param {Attributes} [attributes] @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** The same in MathML. @param {string} tag @param {Attributes} [attributes] @param {...(Child | Child[])} children */
export function math(tag, attributes = {}, ...children) {
  return build(document.createElementNS(MATH, tag), attributes, children);
}

/**
 * Replace the children of an element.
 * @template {Element} Parent
 * @param {Parent} parent @param {...(Child | Child[])} children @returns {Parent}
 */
export function setChildren(parent, ...children) {
  parent.replaceChildren(...children.flat().filter(present));
  return parent;
}

/** A span with a `lang` attribute, for fonts and screen readers. @param {string} content @param {string | null} [lang] */
export function text(content, lang) {
  return el("span", lang ? { lang } : {}, content);
}

/** Text in which W_q is written with a subscript. @param {string} content */
export const withSubscripts = (content) => content.split(/(?<=W)_(\w)/).map((part, index) => (index % 2 ? el("sub", {}, part) : part));

/**
 * @template {Element} Built
 * @param {Built} element @param {Attributes} attributes @param {(Child | Child[])[]} children
 * @returns {Built}
 */
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
      for (const [key, property] of Object.entries(value)) element.style.setProperty(key, String(property));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter(present));
  return element;
}

/** The context of a canvas; every browser of the page has it. @param {HTMLCanvasElement} canvas */
export const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** @param {Child} child @returns {child is Node | string} */
const present = (child) => child !== null && child !== undefined && child !== false;

/** The nearest element around that of an event which a selector matches. @param {Event} event @param {string} selector */
export const closest = ({ target }, selector) => (target instanceof Element ? target.closest(selector) : null);
