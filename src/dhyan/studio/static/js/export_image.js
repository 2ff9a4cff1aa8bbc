/** SVG and PNG of the current view: computed styles inlined, a subset of the font embedded. */

import { contextOf, svg } from "./dom.js";
import { fetchFile } from "./api.js";
import { standalone } from "./embedded_trace.js";
import { htmlToSvg } from "./html_to_svg.js";

const PADDING = 16;
const PIXEL_RATIO = 2; // PNG pixels per CSS pixel
const MAX_CANVAS_SIDE = 8192; // largest canvas side that all browsers support

/** Inherited CSS properties; below, properties that are not inherited with their initial values. */
const INHERITED = ["fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity",
  "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "paint-order",
  "font-family", "font-size", "font-weight", "font-style", "letter-spacing", "text-anchor",
  "dominant-baseline", "visibility"];
const NON_INHERITED = { opacity: "1", display: "inline", "stop-color": "rgb(0, 0, 0)", "stop-opacity": "1",
  "text-decoration-line": "none" };
/** Attributes that are needed on the page only. */
const PAGE_ATTRIBUTES = /^(class|tabindex|style|data-.*|aria-.*|role)$/;

/** @typedef {{title: string, text: string, link: string}} Metadata of an exported image */

/** Self-contained SVG. @param {Element} picture @param {Metadata} metadata */
export async function asSvg(picture, metadata) {
  const { markup: text } = await serialize(picture, metadata);
  return new Blob(['<?xml version="1.0" encoding="UTF-8"?>\n', text, "\n"], { type: "image/svg+xml" });
}

/** PNG at twice the size on the page. @param {Element} picture @param {Metadata} metadata */
export async function asPng(picture, metadata) {
  const { markup: text, width, height } = await serialize(picture, metadata);
  const scale = Math.min(PIXEL_RATIO, MAX_CANVAS_SIDE / Math.max(width, height));
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    contextOf(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
    const png = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    return withTexts(png, { Title: metadata.title, Description: metadata.text, Source: metadata.link });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Serialized SVG on the page's background, with padding. */
async function serialize(picture, metadata) {
  const restoreScroll = await resetScroll(picture);
  const box = picture.getBoundingClientRect();
  const [width, height] = [widthOf(picture, box) + 2 * PADDING, box.height + 2 * PADDING].map(Math.ceil);
  const inner = picture instanceof SVGElement ? inlineStyles(picture) : htmlToSvg(picture, inlineStyles);
  for (const [key, value] of Object.entries({ x: PADDING, y: PADDING, width: box.width,
    height: box.height, overflow: "visible" })) inner.setAttribute(key, value);
  if (!inner.hasAttribute("viewBox")) inner.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  copyDefinitions(inner);
  const background = getComputedStyle(document.body).backgroundColor;
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
    svg("title", {}, metadata.title), svg("desc", {}, metadata.text),
    svg("metadata", {}, metadata.link),
    svg("rect", { width, height, fill: background }), ...canvases(picture, box), inner);
  restoreScroll();
  const fontFace = await fontRule(root.textContent);
  if (fontFace) root.prepend(svg("style", {}, fontFace));
  return { markup: new XMLSerializer().serializeToString(root), width, height };
}

/** The width of a picture, with the drawings in it that scroll on the page. */
const widthOf = (picture, box) => Math.max(box.width, ...[...picture.querySelectorAll("svg")].map((drawing) => drawing.getBoundingClientRect().right - box.left));

/** Scroll ancestors to their origin, so that sticky labels are at their own positions; returns a function that restores the scroll. */
async function resetScroll(picture) {
  const scrolled = [];
  for (let element = picture.parentElement; element && element !== document.body; element = element.parentElement) {
    if (element.scrollLeft || element.scrollTop) scrolled.push([element, element.scrollLeft, element.scrollTop]);
  }
  for (const [element] of scrolled) element.scrollTo({ left: 0, top: 0, behavior: "instant" });
  if (scrolled.length) await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return () => scrolled.forEach(([element, left, top]) => element.scrollTo({ left, top, behavior: "instant" }));
}

/** A clone with the computed styles written as attributes. */
function inlineStyles(picture) {
  const copy = picture.cloneNode(true);
  const pairs = [[picture, copy, null]];
  for (const [original, clone, parentStyle] of pairs) {
    const style = getComputedStyle(original);
    [...original.children].forEach((child, index) => pairs.push([child, clone.children[index], style]));
    for (const { name } of [...clone.attributes]) if (PAGE_ATTRIBUTES.test(name)) clone.removeAttribute(name);
    if (!(original instanceof SVGElement)) continue;
    for (const name of INHERITED) {
      const value = style.getPropertyValue(name);
      if (!parentStyle || clone.hasAttribute(name) || value !== parentStyle.getPropertyValue(name)) {
        clone.setAttribute(name, value);
      }
    }
    for (const [name, initial] of Object.entries(NON_INHERITED)) {
      const value = style.getPropertyValue(name);
      if (clone.hasAttribute(name) || (value !== initial && value !== "block")) clone.setAttribute(name, value);
    }
  }
  return copy;
}

/** Copy patterns and gradients that are defined elsewhere on the page. */
function copyDefinitions(copy) {
  const references = new XMLSerializer().serializeToString(copy).matchAll(/url\((?:&quot;|")?#([\w-]+)/g);
  for (const id of new Set([...references].map((reference) => reference[1]))) {
    const definition = !copy.querySelector(`#${CSS.escape(id)}`) && document.getElementById(id);
    if (definition) copy.prepend(svg("defs", {}, inlineStyles(definition)));
  }
}

/** The canvas cells of a large map as SVG images. */
function canvases(picture, box) {
  return [...picture.parentElement.querySelectorAll(":scope > canvas")].map((canvas) => {
    const rect = canvas.getBoundingClientRect();
    return svg("image", { x: PADDING + rect.left - box.left, y: PADDING + rect.top - box.top,
      width: rect.width, height: rect.height, href: canvas.toDataURL("image/png"),
      "image-rendering": "pixelated" });
  });
}

/** A @font-face rule with the subset font for the Devanagari in a text. */
async function fontRule(text) {
  const characters = [...new Set(text)].filter((letter) => letter > "\u08ff").sort().join("");
  if (!characters) return "";
  if (standalone) return embeddedFontRule();
  const font = await fetchFile(`/api/font/subset.ttf?text=${encodeURIComponent(characters)}`);
  return `@font-face { font-family: "Noto Sans Devanagari"; font-weight: 100 900; `
    + `src: url("${await asUrl(font)}") format("truetype"); }`;
}

/** The @font-face rule of a standalone page. */
const embeddedFontRule = () => [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
  .find((rule) => rule instanceof CSSFontFaceRule)?.cssText ?? "";

function asUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

const TABLE = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

const HEADER_BYTES = 33; // PNG signature and IHDR chunk

/** Add iTXt metadata chunks to a PNG. @param {Blob} png @param {Record<string, string>} texts */
function withTexts(png, texts) {
  const chunks = Object.entries(texts).filter(([, text]) => text).map(([name, text]) =>
    chunk("iTXt", [...new TextEncoder().encode(name), 0, 0, 0, 0, 0, ...new TextEncoder().encode(text)]));
  return new Blob([png.slice(0, HEADER_BYTES), ...chunks, png.slice(HEADER_BYTES)], { type: "image/png" });
}

/** A PNG chunk: length, type, bytes, CRC-32 of type and bytes. */
function chunk(type, bytes) {
  const body = Uint8Array.from([...new TextEncoder().encode(type), ...bytes]);
  const view = new DataView(new ArrayBuffer(body.length + 8));
  view.setUint32(0, bytes.length);
  new Uint8Array(view.buffer).set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  return view.buffer;
}

function crc32(bytes) {
  const remainder = bytes.reduce((value, byte) => TABLE[(value ^ byte) & 0xff] ^ (value >>> 8), 0xffffffff);
  return (remainder ^ 0xffffffff) >>> 0;
}
