/** Pictures as sources: the URL holds a short name, the tab the picture itself as a data URI. */

import { standalone } from "./embedded_trace.js";

/** Characters of a data URI; the server refuses more. */
export const MAX_PICTURE = 2 ** 18;
/** Formats that the server reads. */
export const PICTURE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/bmp", "image/gif"];
const NAME = "picture-"; // as in dhyan.insight.traced_media
const NAME_DIGITS = 12;
const KEPT = 6; // pictures of the tab
const ORDER = "dhyan-pictures"; // their names in the storage of the tab, the newest last
const SHRINK = 0.8;
const QUALITY = 0.85; // of a JPEG
const SMALLEST = 32; // pixels

/** @type {Map<string, string>} */
const pictures = new Map();

/** Whether a text is the name of a picture. @param {string} text */
export const isPicture = (text) => text.startsWith(NAME) && text.length === NAME.length + NAME_DIGITS;

/** The picture of a name, a data URI; undefined where it is not known here. @param {string} name */
export const pictureOf = (name) => (standalone || !isPicture(name) ? undefined : pictures.get(name) ?? stored(name));

/** The text as the server reads it: the picture of a name, or the text itself. @param {string} text */
export const sourceOf = (text) => pictureOf(text) ?? text;

/** Keep a picture, and return its name. @param {string} uri a data URI @param {{keep?: boolean}} [options] whether a reload finds it too */
export async function storePicture(uri, { keep = true } = {}) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(uri));
  const name = NAME + Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("").slice(0, NAME_DIGITS);
  pictures.set(name, uri);
  if (keep) store(name, uri);
  return name;
}

/**
 * A picture file as a data URI; one that is too large is made smaller.
 * @param {Blob} file @returns {Promise<{uri: string, smaller: boolean}>}
 */
export async function readPicture(file) {
  if (!PICTURE_TYPES.includes(file.type)) throw new Error("picture_type");
  const uri = await asDataUri(file);
  if (uri.length <= MAX_PICTURE) return { uri, smaller: false };
  const image = new Image();
  image.src = uri;
  await image.decode().catch(() => { throw new Error("picture_broken"); });
  const canvas = document.createElement("canvas");
  for (let scale = Math.min(1, 1600 / Math.max(image.naturalWidth, image.naturalHeight)); ; scale *= SHRINK) {
    canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
    canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.fillStyle = "#ffffff"; // what is transparent, as on the server
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const smaller = canvas.toDataURL("image/jpeg", QUALITY);
    if (smaller.length <= MAX_PICTURE || Math.max(canvas.width, canvas.height) <= SMALLEST) return { uri: smaller, smaller: true };
  }
}

/** @param {Blob} file @returns {Promise<string>} */
const asDataUri = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result));
  reader.onerror = () => reject(new Error("picture_broken"));
  reader.readAsDataURL(file);
});

/** @param {string} name */
function stored(name) {
  try {
    return sessionStorage.getItem(name) ?? undefined;
  } catch {
    return undefined; // a frame without an address has no storage
  }
}

/** @param {string} name @param {string} uri */
function store(name, uri) {
  try {
    const names = [...(sessionStorage.getItem(ORDER) ?? "").split(" ").filter((old) => old && old !== name), name];
    while (names.length > KEPT) sessionStorage.removeItem(names.shift() ?? "");
    sessionStorage.setItem(ORDER, names.join(" "));
    sessionStorage.setItem(name, uri);
  } catch {
    // the picture is there until the page is closed
  }
}
