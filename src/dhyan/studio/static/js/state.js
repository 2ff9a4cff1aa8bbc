/** State of the page; the URL always contains all of it. */

import { standalone, framed } from "./embedded_trace.js";

/** The rooms of the page and the views of each. The path of a view is that of its room and, after the first, its own name. */
export const ROOMS = {
  translate: ["translate"],
  tour: ["tour"],
  inside: ["step", "head"],
  heads: ["heads"],
  beam: ["beam"],
  learning: ["training", "length"],
  playground: ["self_attention", "gravity", "scaling"],
};
/** Stages of a view that are named as views, in paths and by keys, and the view of each. */
const STAGES = { mask: "head", layers: "head" };
let views = Object.values(ROOMS).flat(); // those of this page

/** The room of a view. @param {string} view */
export const roomOf = (view) => Object.keys(ROOMS).find((room) => ROOMS[room].includes(view)) ?? "translate";

/** The views of a room that this page has. @param {string} room */
export const viewsOf = (room) => ROOMS[room].filter((view) => views.includes(view));

/** Characters of a sentence; the server refuses more. */
export const MAX_TEXT = 500;

/** The second model, where the page is to choose it. */
export const OTHER_MODEL = "other";

/**
 * @typedef {object} KeyRule of a key of the URL: its default, and its allowed values
 * @property {string | number} default
 * @property {string[]} [values]
 * @property {RegExp} [pattern]
 * @property {number} [maxLength] of a text
 * @property {number} [min] of a whole number
 * @property {number} [max]
 */

/** Every key of the URL. */
const KEYS = {
  text: { default: "", maxLength: MAX_TEXT },
  text2: { default: "", maxLength: MAX_TEXT },
  model: { default: "", maxLength: 200 },
  model2: { default: "", maxLength: 200 },
  beam: { default: 1, min: 1, max: 8 },
  role: { default: "", values: ["", "encoder_self", "decoder_self", "cross"] },
  layer: { default: 0, min: 0, max: 99 }, // 0: chosen by the view
  head: { default: "", pattern: /^(|avg|max|[1-9]\d?)$/ },
  target: { default: 1, min: 1, max: 600 },
  source: { default: 1, min: 1, max: 600 },
  unit: { default: "word", values: ["word", "token"] },
  scale: { default: "auto", values: ["auto", "linear", "sqrt"] }, // auto: by the length of the sentence
  specials: { default: "", values: ["", "0", "1"] }, // "": chosen by the view
  numbers: { default: "1", values: ["0", "1"] },
  transliterate: { default: "0", values: ["0", "1"] }, // Hindi in Latin letters too
  pinned: { default: 0, min: 0, max: 600 }, // pinned target step; 0: none
  prefix: { default: "", maxLength: 500 },
  display: { default: "", values: ["", "figure", "map", "ribbons", "table"] }, // "": the figure of the task, or the map
  toy: { default: "", maxLength: 6000 },
  order: { default: "", values: ["", "entropy", "diagonal", "previous", "first", "importance"] }, // order of heads
  ablated: { default: "0", values: ["0", "1"] }, // the head is switched off
  masked: { default: "1", values: ["0", "1"] }, // the mask is on
  position: { default: 0, min: 0, max: 600 }, // position of the changed word; 0: chosen by the view
  word: { default: "", maxLength: 60 }, // the replacement word
  stage: { default: "", values: ["", ...Object.keys(STAGES)] }, // the stage of the view that is open
  beam_width: { default: 0, min: 0, max: 8 }, // hypotheses kept in the beam view; 0: chosen by the view
  node: { default: -1, min: -1, max: 5000 }, // a hypothesis of the tree; -1: the best result
  dropped: { default: "1", values: ["0", "1"] }, // dropped hypotheses are shown
  tour_step: { default: 0, min: 0, max: 12 }, // step of the guided tour; 0: it begins
  run: { default: "", maxLength: 200 },
  checkpoint: { default: -1, min: -1, max: 1e9 }, // a checkpoint by its step; -1: the newest
  per_bucket: { default: 40, min: 2, max: 200 },
  bucket: { default: 0, min: 0, max: 9 }, // 0: none
  dimension: { default: 64, min: 2, max: 1024 },
  keys: { default: 16, min: 2, max: 64 },
  seed: { default: 1, min: 1, max: 9999 },
  gravity_mode: { default: "toy", values: ["toy", "model"] }, // source of the vectors
  gravity_sentence: { default: "money", values: ["money", "river", "both"] },
  gravity_weights: { default: "softmax", values: ["softmax", "fixed"] },
  gravity_temperature: { default: 37, min: 5, max: 500 }, // temperature in hundredths
  gravity_layers: { default: 1, min: 1, max: 8 },
  gravity_points: { default: "", maxLength: 200 }, // points that were moved
  language: { default: "en", values: ["en", "hi"] },
  theme: { default: "auto", values: ["auto", "light", "dark"] },
};

/** Paths of an earlier page, and what they stand for. @type {Record<string, Partial<State> & {view: string}>} */
const OLD_PATHS = { "/translate/compare": { view: "translate", model2: OTHER_MODEL } };

/** @type {Record<string, KeyRule>} */
const RULES = KEYS;

/** @typedef {{view: string} & {[Key in keyof typeof KEYS]: typeof KEYS[Key]["default"]}} State */
/** @typedef {(changed: Set<string>, state: State) => void} Listener */

/** @type {Set<Listener>} */
const listeners = new Set();
export const state = /** @type {State} */ ({ view: "translate" });

const VIEWS_WITH_SPECIALS = ["heads", "training"]; // heads attend to them, and a toy's end is part of its task
const LONG = 24; // words or tokens from which small weights are shown by the square root

/** Whether the page has a view or a stage. @param {string} view */
export const hasView = (view) => views.includes(STAGES[view] ?? view);

/** Whether the model of the page can be asked: not where only a saved trace is shown. */
export const hasServer = () => !document.documentElement.hasAttribute("data-saved");

/** Whether a second model or a second sentence stands beside the first. */
export const isComparing = () => Boolean(state.model2 || state.text2);

/** Whether special tokens are shown. */
export const showsSpecials = () => (state.specials ? state.specials === "1" : VIEWS_WITH_SPECIALS.includes(state.view));

/** Whether the URL names a cell; else a view opens its first row at the strongest cell. */
export const isCellChosen = () => state.target > 1 || state.source > 1;

/** The colour scale of a map: chosen, or by its longer side. @param {number} length in words or tokens */
export const colorScaleOf = (length) => (state.scale === "auto" ? (length >= LONG ? "sqrt" : "linear") : state.scale);

/** Call a listener with the changed keys and the state after every change. @param {Listener} listener */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Restrict the page to some views; returns whether the current one is among them. @param {string[]} allowed */
export function restrictViews(allowed) {
  views = views.filter((view) => allowed.includes(view));
  const available = views.includes(state.view);
  if (!available) state.view = viewsOf(roomOf(state.view))[0] ?? views[0];
  return available;
}

/** Whether a view is available; dispatches `view-unavailable` if not. @param {string} view */
function isAvailable(view) {
  const available = views.includes(view);
  if (!available) document.dispatchEvent(new CustomEvent("view-unavailable"));
  return available;
}

/** A change of view that names a stage opens that stage; any other closes the open one. Translate begins with all heads.
 * @template {Partial<State>} Patch @param {Patch} patch @returns {Patch} */
function withStage(patch) {
  if (patch.view && patch.view in STAGES) return { ...patch, view: STAGES[patch.view], stage: patch.view };
  if (!patch.view || patch.view === state.view) return patch;
  return { stage: "", ...(patch.view === "translate" ? { layer: 0, head: "" } : {}), ...patch };
}

/** Update the state; `replace` updates replace the history entry instead of adding one. @param {Partial<State>} changes */
export function set(changes, { replace = false } = {}) {
  const patch = withStage(changes);
  const changed = Object.keys(patch).filter((key) => state[key] !== patch[key]);
  if (!changed.length) return;
  if (patch.view && !isAvailable(patch.view)) return;
  Object.assign(state, patch);
  if (!framed) history[replace ? "replaceState" : "pushState"](null, "", address());
  notifyListeners(new Set(changed));
}

/** URL of a state: path for the view, query for non-default keys; a standalone page uses the fragment. @param {Partial<State> & {view: string}} wanted */
export function address(wanted = state) {
  const target = wanted === state ? state : withStage(wanted);
  const query = new URLSearchParams();
  for (const [key, rule] of Object.entries(RULES)) {
    const value = target[key];
    if (value !== undefined && String(value) !== String(rule.default)) query.set(key, String(value));
  }
  const text = query.toString();
  return `${standalone ? "#" : ""}${pathOf(target.view)}${text ? `?${text}` : ""}`;
}

/** @param {string} view */
function pathOf(view) {
  const room = roomOf(view);
  return view === ROOMS[room][0] ? `/${room}` : `/${room}/${view}`;
}

/** Read the state from the URL; returns [key, value] of every corrected value.
 * @param {{pathname: string, search: string, hash?: string}} url */
export function readAddress(url = location) {
  const [path, search] = standalone ? (url.hash ?? "").slice(1).split("?") : [url.pathname, url.search];
  const query = new URLSearchParams(search);
  /** @type {[string, string | number][]} */
  const corrected = [];
  const [, room = "", name] = path.split("/");
  const old = OLD_PATHS[path];
  const named = old?.view ?? name ?? ROOMS[room || "translate"]?.[0];
  const view = STAGES[named] ?? named;
  if (isAvailable(view)) state.view = view;
  for (const [key, rule] of Object.entries(RULES)) {
    const [value, valid] = parseValue(query.get(key), rule);
    state[key] = value;
    if (!valid) corrected.push([key, value]);
  }
  if (old && !isComparing()) Object.assign(state, old);
  if (named in STAGES) state.stage = named;
  return corrected;
}

/** @param {(corrected: [string, string | number][]) => void} reportCorrections */
export function listenToHistory(reportCorrections) {
  addEventListener("popstate", () => {
    if (standalone && !location.hash.startsWith("#/")) return; // an anchor, not a state
    const previous = { ...state };
    reportCorrections(readAddress());
    notifyListeners(new Set(Object.keys(state).filter((key) => previous[key] !== state[key])));
  });
}

/** @param {Set<string>} changed */
function notifyListeners(changed) {
  for (const listener of listeners) listener(changed, state);
}

/** The value of a text, and whether it is allowed. @param {string | null} text @param {KeyRule} rule @returns {[string | number, boolean]} */
function parseValue(text, rule) {
  if (text === null) return [rule.default, true];
  if (rule.values) return rule.values.includes(text) ? [text, true] : [rule.default, false];
  if (rule.pattern) return rule.pattern.test(text) ? [text, true] : [rule.default, false];
  if (rule.maxLength) {
    const normalized = text.normalize("NFC");
    return normalized.length <= rule.maxLength ? [normalized, true] : [normalized.slice(0, rule.maxLength), false];
  }
  const number = Number(text);
  if (!Number.isInteger(number)) return [rule.default, false];
  const clamped = Math.min(Math.max(number, rule.min ?? -Infinity), rule.max ?? Infinity);
  return [clamped, clamped === number];
}
