/** The few parts of a browser that modules ask for when they are imported, or to measure a text. */

import { readFile } from "node:fs/promises";

const CHARACTER_WIDTH = 8; // pixels

const element = { dataset: {}, append() {}, toggleAttribute() {}, hasAttribute: () => false,
  getContext: () => ({ measureText: (text) => ({ width: CHARACTER_WIDTH * text.length }) }) };
globalThis.document = { documentElement: element, querySelector: () => null, createElement: () => element };
globalThis.location = new URL("http://127.0.0.1/translate");
globalThis.history = { pushState() {}, replaceState() {} };
globalThis.fetch = async (path) => ({ json: async () => JSON.parse(await readFile(new URL(`../../src/dhyan/studio${path}`, import.meta.url))) });
