/** What the page shows, as one value; the address bar always has all of it. */

import { standalone, framed } from "./embedded_trace.js";

export let VIEWS = ["translate", "step", "qkv", "heads", "mask", "gravity", "scale", "length",
  "train", "compare"];

/** Every key of the address: its usual value, and what it may be. */
const KEYS = {
  text: { usual: "", longest: 500 },
  text2: { usual: "", longest: 500 },
  model: { usual: "", longest: 200 },
  model2: { usual: "", longest: 200 },
  beam: { usual: 1, least: 1, most: 8 },
  role: { usual: "", of: ["", "encoder_self", "decoder_self", "cross"] },
  layer: { usual: 0, least: 0, most: 99 }, // 0: the view's own choice
  head: { usual: "", pattern: /^(|avg|max|[1-9]\d?)$/ },
  target: { usual: 1, least: 1, most: 600 },
  source: { usual: 1, least: 1, most: 600 },
  unit: { usual: "word", of: ["word", "token"] },
  scale: { usual: "linear", of: ["linear", "sqrt"] },
  specials: { usual: "1", of: ["0", "1"] },
  numbers: { usual: "1", of: ["0", "1"] },
  transliterate: { usual: "0", of: ["0", "1"] }, // Hindi in Latin letters too
  pinned: { usual: 0, least: 0, most: 600 }, // a target step that is held; 0: none
  prefix: { usual: "", longest: 500 },
  display: { usual: "map", of: ["map", "ribbons", "table"] },
  toy: { usual: "", longest: 6000 },
  order: { usual: "", of: ["", "entropy", "diagonal", "previous", "first", "missed"] }, // order of heads
  ablated: { usual: "0", of: ["0", "1"] }, // the head is switched off
  masked: { usual: "1", of: ["0", "1"] }, // the mask is on
  position: { usual: 0, least: 0, most: 600 }, // the place of a word that is changed; 0: the view's own choice
  word: { usual: "", longest: 60 }, // the word told instead
  run: { usual: "", longest: 200 },
  checkpoint: { usual: -1, least: -1, most: 1e9 }, // a checkpoint by its step; -1: the newest
  each: { usual: 40, least: 2, most: 200 },
  bucket: { usual: 0, least: 0, most: 9 }, // 0: none
  dimension: { usual: 64, least: 2, most: 1024 },
  keys: { usual: 16, least: 2, most: 64 },
  seed: { usual: 1, least: 1, most: 9999 },
  gravity_mode: { usual: "toy", of: ["toy", "model"] }, // gravity: of whom
  gravity_sentence: { usual: "money", of: ["money", "river", "both"] },
  gravity_weights: { usual: "soft", of: ["soft", "drawn"] },
  gravity_temperature: { usual: 37, least: 5, most: 500 }, // temperature in hundredths
  gravity_layers: { usual: 1, least: 1, most: 8 },
  gravity_points: { usual: "", longest: 200 }, // points that were moved
  language: { usual: "en", of: ["en", "hi"] },
  theme: { usual: "auto", of: ["auto", "light", "dark"] },
};

const hearers = new Set();
export const state = { view: "translate" };

/** Hear of every change: what changed, and the state after it. */
export function subscribe(hear) {
  hearers.add(hear);
  return () => hearers.delete(hear);
}

/** Only these views can be gone to from now on; says whether the one asked for is among them. */
export function restrictViews(views) {
  VIEWS = VIEWS.filter((view) => views.includes(view));
  const here = VIEWS.includes(state.view);
  if (!here) state.view = VIEWS[0];
  return here;
}

/** Whether a view can be gone to; that it cannot is told. */
function offered(view) {
  const here = VIEWS.includes(view);
  if (!here) document.dispatchEvent(new CustomEvent("missing"));
  return here;
}

/** Change some of it; `quiet` changes replace the address instead of adding one to go back to. */
export function set(patch, { quiet = false } = {}) {
  const changed = Object.keys(patch).filter((key) => state[key] !== patch[key]);
  if (!changed.length) return;
  if (patch.view && !offered(patch.view)) return;
  Object.assign(state, patch);
  if (!framed) history[quiet ? "replaceState" : "pushState"](null, "", address());
  tell(new Set(changed));
}

/** The address of a state: a path for the view, and what is not usual; in a file all after a #. */
export function address(of = state) {
  const query = new URLSearchParams();
  for (const [key, rule] of Object.entries(KEYS)) {
    const value = of[key];
    if (value !== undefined && String(value) !== String(rule.usual)) query.set(key, String(value));
  }
  const words = query.toString();
  return `${standalone ? "#" : ""}/${of.view}${words ? `?${words}` : ""}`;
}

/** Read the address; returns what had to be mended, as pairs of a key and what was taken. */
export function read(place = location) {
  const [path, asked] = standalone ? place.hash.slice(1).split("?") : [place.pathname, place.search];
  const query = new URLSearchParams(asked);
  const mended = [];
  const view = path.split("/")[1];
  if (!view || offered(view)) state.view = view || "translate";
  for (const [key, rule] of Object.entries(KEYS)) {
    const [value, fits] = fitted(query.get(key), rule);
    state[key] = value;
    if (!fits) mended.push([key, value]);
  }
  return mended;
}

export function listen(notice) {
  addEventListener("popstate", () => {
    if (standalone && !location.hash.startsWith("#/")) return; // a place in the page, not a state
    const before = { ...state };
    notice(read());
    tell(new Set(Object.keys(state).filter((key) => before[key] !== state[key])));
  });
}

function tell(changed) {
  for (const hear of hearers) hear(changed, state);
}

function fitted(given, rule) {
  if (given === null) return [rule.usual, true];
  if (rule.of) return rule.of.includes(given) ? [given, true] : [rule.usual, false];
  if (rule.pattern) return rule.pattern.test(given) ? [given, true] : [rule.usual, false];
  if (rule.longest) {
    const text = given.normalize("NFC");
    return text.length <= rule.longest ? [text, true] : [text.slice(0, rule.longest), false];
  }
  const number = Number(given);
  if (!Number.isInteger(number)) return [rule.usual, false];
  const inside = Math.min(Math.max(number, rule.least), rule.most);
  return [inside, inside === number];
}
