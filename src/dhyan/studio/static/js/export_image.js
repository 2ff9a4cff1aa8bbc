/** The drawing on the page as a file of its own: its styles written into it, its letters beside. */

import { svg } from "./dom.js";
import { file } from "./api.js";
import { standalone } from "./embedded_trace.js";

const PADDING = 16;
const SHARPNESS = 2; // dots of a PNG to the pixel
const LARGEST = 8192; // dots of a side that every browser can draw

/** What passes from an element to those in it, and how nothing special looks of what does not. */
const INHERITED = ["fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity",
  "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "paint-order",
  "font-family", "font-size", "font-weight", "font-style", "letter-spacing", "text-anchor",
  "dominant-baseline", "visibility"];
const OWN = { opacity: "1", display: "inline", "stop-color": "rgb(0, 0, 0)", "stop-opacity": "1",
  "text-decoration-line": "none" };
/** What only a page needs. */
const ONLY_HERE = /^(class|tabindex|style|data-.*|aria-.*|role)$/;

/**
 * An SVG that needs nothing else. @param {SVGSVGElement} picture
 * @param {{title: string, text: string, link: string}} about
 */
export async function asSvg(picture, about) {
  const { words } = await whole(picture, about);
  return new Blob(['<?xml version="1.0" encoding="UTF-8"?>\n', words, "\n"], { type: "image/svg+xml" });
}

/** A PNG of twice the size on the page. @param {SVGSVGElement} picture */
export async function asPng(picture, about) {
  const { words, width, height } = await whole(picture, about);
  const scale = Math.min(SHARPNESS, LARGEST / Math.max(width, height));
  const image = new Image();
  const url = URL.createObjectURL(new Blob([words], { type: "image/svg+xml" }));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const made = await new Promise((done) => canvas.toBlob(done, "image/png"));
    return withTexts(made, { Title: about.title, Description: about.text, Source: about.link });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** All of it as text, on the page's paper, with room around it. */
async function whole(picture, about) {
  const back = await unscrolled(picture);
  const box = picture.getBoundingClientRect();
  const [width, height] = [box.width + 2 * PADDING, box.height + 2 * PADDING].map(Math.ceil);
  const inner = still(picture);
  for (const [key, value] of Object.entries({ x: PADDING, y: PADDING, width: box.width,
    height: box.height, overflow: "visible" })) inner.setAttribute(key, value);
  if (!inner.hasAttribute("viewBox")) inner.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  borrow(inner);
  const paper = getComputedStyle(document.body).backgroundColor;
  const made = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
    svg("title", {}, about.title), svg("desc", {}, about.text),
    svg("metadata", {}, about.link),
    svg("rect", { width, height, fill: paper }), ...canvases(picture, box), inner);
  back();
  const face = await letters(made.textContent);
  if (face) made.prepend(svg("style", {}, face));
  return { words: new XMLSerializer().serializeToString(made), width, height };
}

/** Labels that stay in sight go to their places when nothing is scrolled; gives the way back. */
async function unscrolled(picture) {
  const moved = [];
  for (let one = picture.parentElement; one && one !== document.body; one = one.parentElement) {
    if (one.scrollLeft || one.scrollTop) moved.push([one, one.scrollLeft, one.scrollTop]);
  }
  for (const [one] of moved) one.scrollTo({ left: 0, top: 0, behavior: "instant" });
  if (moved.length) await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return () => moved.forEach(([one, left, top]) => one.scrollTo({ left, top, behavior: "instant" }));
}

/** A copy whose elements carry the looks that styles give them here. */
function still(picture) {
  const copy = picture.cloneNode(true);
  const pairs = [[picture, copy, null]];
  while (pairs.length) {
    const [seen, made, above] = pairs.pop();
    const look = getComputedStyle(seen);
    [...seen.children].forEach((child, index) => pairs.push([child, made.children[index], look]));
    for (const { name } of [...made.attributes]) if (ONLY_HERE.test(name)) made.removeAttribute(name);
    if (!(seen instanceof SVGElement)) continue;
    for (const name of INHERITED) {
      const value = look.getPropertyValue(name);
      if (!above || made.hasAttribute(name) || value !== above.getPropertyValue(name)) {
        made.setAttribute(name, value);
      }
    }
    for (const [name, usual] of Object.entries(OWN)) {
      const value = look.getPropertyValue(name);
      if (made.hasAttribute(name) || (value !== usual && value !== "block")) made.setAttribute(name, value);
    }
  }
  return copy;
}

/** Patterns and gradients that stand elsewhere on the page come along. */
function borrow(copy) {
  const named = new XMLSerializer().serializeToString(copy).matchAll(/url\((?:&quot;|")?#([\w-]+)/g);
  for (const id of new Set([...named].map((one) => one[1]))) {
    const found = !copy.querySelector(`#${CSS.escape(id)}`) && document.getElementById(id);
    if (found) copy.prepend(svg("defs", {}, still(found)));
  }
}

/** Cells of a large map are drawn on a canvas beside the labels: they become images. */
function canvases(picture, box) {
  return [...picture.parentElement.querySelectorAll(":scope > canvas")].map((canvas) => {
    const own = canvas.getBoundingClientRect();
    return svg("image", { x: PADDING + own.left - box.left, y: PADDING + own.top - box.top,
      width: own.width, height: own.height, href: canvas.toDataURL("image/png"),
      "image-rendering": "pixelated" });
  });
}

/** The font for the Hindi in a text, as a rule to put into the picture. */
async function letters(text) {
  const needed = [...new Set(text)].filter((letter) => letter > "\u08ff").sort().join("");
  if (!needed) return "";
  if (standalone) return ownFace();
  const font = await file(`/api/font/subset.ttf?text=${encodeURIComponent(needed)}`);
  return `@font-face { font-family: "Noto Sans Devanagari"; font-weight: 100 900; `
    + `src: url("${await asUrl(font)}") format("truetype"); }`;
}

/** In a page that is a file the letters stand in its own styles. */
const ownFace = () => [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
  .find((rule) => rule instanceof CSSFontFaceRule)?.cssText ?? "";

function asUrl(blob) {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(blob);
  });
}

const TABLE = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

const AFTER_HEAD = 33; // the signature and the head of a PNG are 33 bytes long

/** The same picture with texts under names. @param {Blob} png @param {Record<string, string>} texts */
function withTexts(png, texts) {
  const chunks = Object.entries(texts).filter(([, words]) => words).map(([name, words]) =>
    chunk("iTXt", [...new TextEncoder().encode(name), 0, 0, 0, 0, 0, ...new TextEncoder().encode(words)]));
  return new Blob([png.slice(0, AFTER_HEAD), ...chunks, png.slice(AFTER_HEAD)], { type: "image/png" });
}

/** A length, a kind, the bytes, and a check over the last two. */
function chunk(kind, bytes) {
  const body = Uint8Array.from([...new TextEncoder().encode(kind), ...bytes]);
  const made = new DataView(new ArrayBuffer(body.length + 8));
  made.setUint32(0, bytes.length);
  new Uint8Array(made.buffer).set(body, 4);
  made.setUint32(body.length + 4, check(body));
  return made.buffer;
}

function check(bytes) {
  const left = bytes.reduce((value, byte) => TABLE[(value ^ byte) & 0xff] ^ (value >>> 8), 0xffffffff);
  return (left ^ 0xffffffff) >>> 0;
}
