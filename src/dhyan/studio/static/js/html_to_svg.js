/** Draws HTML as SVG for export: boxes, borders, gradients, text and MathML, where the page laid them out. */

import { svg } from "./dom.js";
import { textMetrics, truncate } from "./text_width.js";

/**
 * A drawing of an element. @param {Element} root
 * @param {(picture: SVGSVGElement) => SVGSVGElement} copySvg copies an SVG inside it, with its styles
 */
export function htmlToSvg(root, copySvg) {
  const origin = root.getBoundingClientRect();
  const drawing = svg("svg", { viewBox: `0 0 ${origin.width} ${origin.height}` });
  visit(root);
  return drawing;

  function visit(element) {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || element.matches(".visually-hidden")) return;
    const box = relative(element.getBoundingClientRect());
    if (element instanceof SVGSVGElement) {
      const copy = copySvg(element);
      for (const [name, value] of Object.entries({ ...box, overflow: "visible" })) copy.setAttribute(name, value);
      drawing.append(copy);
      return;
    }
    if (element instanceof HTMLCanvasElement) return void drawing.append(svg("image", { ...box, href: element.toDataURL("image/png"), "image-rendering": "pixelated" }));
    drawing.append(...boxElements(style, box));
    if (element instanceof HTMLInputElement || element instanceof HTMLSelectElement) drawing.append(fieldText(element, style, box));
    if (element.localName === "mfrac") drawing.append(fractionBar(element, style));
    if (element instanceof HTMLSelectElement) return;
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE && child.textContent.trim()) drawing.append(...textElements(child, element, style));
      else if (child instanceof Element) visit(child);
    }
  }

  function relative({ left, top, width, height }) {
    return { x: left - origin.left, y: top - origin.top, width, height };
  }

  /** A text node, line by line. */
  function textElements(node, element, style) {
    const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    return textLines(node).map(([content, rect]) => {
      const { x, y, width, height } = relative(rect);
      const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } = textMetrics(content, font);
      const text = style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth ? truncate(content, element.clientWidth, font) : content;
      const italic = element.localName === "mi" && content.length === 1 && style.fontWeight < 600; // as MathML draws it
      const upwards = style.writingMode.startsWith("vertical"); // turned by half a circle, so that it reads from the bottom
      const place = upwards ? { transform: `translate(${round(x + (width - ascent - descent) / 2 + ascent)} ${round(y + height)}) rotate(-90)` }
        : { x: round(x), y: round(y + (height - ascent - descent) / 2 + ascent) };
      return svg("text", { ...place, fill: style.color, lang: element.closest("[lang]")?.lang,
        "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight,
        "font-style": italic ? "italic" : style.fontStyle, "letter-spacing": style.letterSpacing, "xml:space": "preserve" }, text);
    });
  }

  /** The value of a text field or a list, aligned as on the page. */
  function fieldText(element, style, { x, y, width, height }) {
    const atRight = ["right", "end"].includes(style.textAlign);
    const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } = textMetrics(element.value, `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`);
    return svg("text", { x: round(atRight ? x + width - parseFloat(style.paddingRight) : x + parseFloat(style.paddingLeft)), y: round(y + (height - ascent - descent) / 2 + ascent),
      "text-anchor": atRight ? "end" : "start", fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight }, element.value);
  }

  function fractionBar(element, style) {
    const [above, below] = [...element.children].map((child) => child.getBoundingClientRect());
    const { x, width } = relative(element.getBoundingClientRect());
    const y = (above.bottom + below.top) / 2 - origin.top;
    return svg("line", { x1: x, x2: x + width, y1: y, y2: y, stroke: style.color, "stroke-width": 1 });
  }
}

/** The lines of a text node as laid out. @param {Text} node @returns {[string, DOMRect][]} */
function textLines(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const rects = [...range.getClientRects()];
  if (rects.length < 2) return rects.map((rect) => [node.textContent.replace(/\s+/g, " "), rect]);
  /** @type {[string, DOMRect][]} */
  const lines = [];
  for (const { segment, index } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(node.textContent)) {
    range.setStart(node, index);
    range.setEnd(node, index + segment.length);
    const rect = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last && Math.abs(last[1].top - rect.top) < 2) last[0] += segment;
    else if (segment.trim()) lines.push([segment, rect]);
  }
  return lines;
}

/** Background, gradients and border of a box. */
function boxElements(style, box) {
  const radius = parseFloat(style.borderTopLeftRadius) || 0;
  const borderWidth = parseFloat(style.borderTopWidth);
  const bordered = borderWidth > 0 && style.borderTopStyle !== "none" && ["Right", "Bottom", "Left"].every((side) => parseFloat(style[`border${side}Width`]) > 0);
  const elements = gradientElements(style.backgroundImage, box);
  if (!isTransparent(style.backgroundColor) || bordered) {
    elements.unshift(svg("rect", { ...roundAll(box), rx: Math.min(radius, box.height / 2), fill: isTransparent(style.backgroundColor) ? "none" : style.backgroundColor,
      stroke: bordered ? style.borderTopColor : "none", "stroke-width": bordered ? borderWidth : 0 }));
  }
  return elements;
}

/** Hard-edged horizontal gradients, one above the other, as rectangles. */
function gradientElements(image, box) {
  const gradients = image.match(/linear-gradient\(90deg,(?:[^()]|\([^()]*\))*\)/g) ?? [];
  const height = box.height / gradients.length;
  return gradients.flatMap((gradient, line) => {
    const stops = [...gradient.matchAll(/(rgba?\([^)]*\)) ([\d.]+)%/g)];
    return stops.flatMap(([, color, start], index) => (index % 2 || !stops[index + 1] ? [] : [svg("rect", { ...roundAll({ x: box.x + (box.width * start) / 100,
      y: box.y + line * height, width: (box.width * (stops[index + 1][2] - start)) / 100, height }), fill: color })]));
  });
}

const isTransparent = (color) => color === "transparent" || /^rgba\(.*, 0\)$/.test(color);
const round = (value) => Math.round(value * 100) / 100;
const roundAll = (box) => Object.fromEntries(Object.entries(box).map(([name, value]) => [name, round(value)]));
