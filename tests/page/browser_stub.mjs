/** The few parts of a browser that modules ask for when they are imported, to measure a text or to paint a thumbnail. */

import { readFile } from "node:fs/promises";

const CHARACTER_WIDTH = 8; // pixels

/** What was painted last, as ImageData. @type {{data: Uint8ClampedArray, width: number, height: number} | null} */
export let painted = null;

const context = {
  measureText: (text) => ({ width: CHARACTER_WIDTH * text.length }),
  createImageData: (width, height) => ({ width, height, data: new Uint8ClampedArray(4 * width * height) }),
  putImageData(image) { painted = image; },
};
const element = { dataset: { theme: "light" }, append() {}, setAttribute() {}, toggleAttribute() {}, hasAttribute: () => false, getContext: () => context };
const browser = {
  document: { documentElement: element, querySelector: () => null, createElement: () => element, dispatchEvent() {} },
  location: new URL("http://127.0.0.1/translate"),
  history: { pushState() {}, replaceState() {} },
  ResizeObserver: class { observe() {} },
  fetch: async (path) => ({ json: async () => JSON.parse(await readFile(new URL(`../../src/dhyan/studio${path}`, import.meta.url), "utf8")) }),
};
for (const [name, value] of Object.entries(browser)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
