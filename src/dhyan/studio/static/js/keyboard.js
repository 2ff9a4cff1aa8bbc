/** Keyboard shortcuts; inactive in text fields, and can be switched off. */

import { el } from "./dom.js";
import { setPreference, getPreference } from "./preferences.js";
import { state, set, hasServer, hasView, showsSpecials, viewsOf, OTHER_MODEL } from "./state.js";
import { message } from "./messages.js";

const VIEW_KEYS = { t: "translate", o: "tour", i: "step", q: "head", m: "mask", y: "layers", h: "heads", b: "beam",
  r: "training", l: "length", p: "self_attention", v: "gravity", d: "scaling" };
/** The keys, and the end of the name of each message. */
const SHORTCUTS = [["/", "field"], ["Enter", "enter"], ["Esc", "escape"], ["g o", "tour"], ["← ↑ → ↓ Home End", "arrows"], ["[ ]", "layer"], ["{ }", "head"], [", .", "step"],
  ["Space · p", "pin"], ["u · s · x", "units"], ["n · T", "numbers"], ["y · e · ?", "link"]];
const WITH_FIELD = ["field", "enter"]; // not where the sentence cannot be changed
/** After `g`: the message that names each view, in lines of the list of keys. */
const NAVIGATION = [{ t: "view_translate", i: "room_inside", h: "view_heads", b: "view_beam" }, { r: "view_training", l: "view_length", p: "room_playground", c: "compare_add" },
  { q: "view_head", m: "inside_mask", y: "inside_layers", v: "view_gravity", d: "view_scaling" }];
const SHORTCUTS_OFF = "dhyan-keys-off";

let awaitingView = false;

export function bindShortcuts() {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") return blurField(event);
    if (event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return;
    if (getPreference(SHORTCUTS_OFF) && event.key !== "?") return;
    if (awaitingView) {
      awaitingView = false;
      if (VIEW_KEYS[event.key]) set({ view: VIEW_KEYS[event.key] });
      else if (event.key === "c" && canCompare()) set({ view: "translate", model2: state.model2 || OTHER_MODEL });
      return;
    }
    const action = ACTIONS[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
}

const ACTIONS = {
  "/": () => {
    const box = document.querySelector("#sentence");
    box.focus();
    box.select(); // so that a new sentence replaces the old one
  },
  g: () => { awaitingView = true; },
  u: () => set({ unit: state.unit === "word" ? "token" : "word" }, { replace: true }),
  s: () => set({ scale: state.scale === "sqrt" ? "linear" : "sqrt" }, { replace: true }),
  x: () => set({ specials: showsSpecials() ? "0" : "1" }, { replace: true }),
  n: () => set({ numbers: state.numbers === "1" ? "0" : "1" }, { replace: true }),
  T: () => set({ display: state.display === "table" ? "" : "table" }, { replace: true }),
  "[": () => stepSelection("layer", -1),
  "]": () => stepSelection("layer", 1),
  "{": () => stepSelection("head", -1),
  "}": () => stepSelection("head", 1),
  ",": () => set({ target: Math.max(1, state.target - 1) }, { replace: true }),
  ".": () => set({ target: state.target + 1 }, { replace: true }),
  p: () => document.dispatchEvent(new CustomEvent("toggle-play")),
  y: () => document.querySelector("#copy-link").click(),
  e: () => document.querySelector("#export").click(),
  "?": () => openShortcuts(),
};

/** Select the previous or next layer or head, where the view has one. */
function stepSelection(key, offset) {
  const list = document.querySelector(`#view select[data-key="${key}"]`);
  const [current, last] = document.querySelector(`#view [data-${key}]`)?.dataset[key]?.split(" ").map(Number) ?? [];
  const index = list && (list.selectedIndex < 0 ? list.options.length : list.selectedIndex) + offset;
  const next = list ? list.options[index]?.value : current + offset >= 1 && current + offset <= last ? String(current + offset) : undefined;
  if (next !== undefined) set({ [key]: key === "layer" ? Number(next) : next }, { replace: true });
}

const isTextField = (target) => /^(input|textarea|select)$/i.test(target.tagName);

function blurField(event) {
  if (isTextField(event.target)) event.target.blur();
}

const canCompare = () => document.querySelector("#second-model-button") !== null;

/** The keys of the views that the page has, and what they go to. */
function navigationKeys() {
  const offered = NAVIGATION.map((group) => Object.entries(group).filter(([key]) => (key === "c" ? canCompare() : hasView(key === "i" ? viewsOf("inside")[0] : VIEW_KEYS[key]))));
  return offered.filter((group) => group.length)
    .map((group) => [group.map(([key]) => `g ${key}`).join(" · "), message("key_go", group.map(([, name]) => message(name)).join(", "))]);
}

/** The list of keys, in a dialog. */
export function openShortcuts() {
  const off = el("input", { type: "checkbox", id: "keys-off",
    on: { change: () => setPreference(SHORTCUTS_OFF, off.checked) } });
  off.checked = getPreference(SHORTCUTS_OFF);
  const dialog = el("dialog", { "aria-labelledby": "keys-title", on: { close: () => dialog.remove() } },
    el("h2", { id: "keys-title", tabindex: -1, autofocus: true }, message("keys")),
    el("dl", {}, ...[...navigationKeys(), ...SHORTCUTS.filter(([, name]) => (name === "tour" ? hasView("tour") : hasServer() || !WITH_FIELD.includes(name)))
      .map(([key, name]) => [key, message(`key_${name}`)])].flatMap(([key, words]) => [el("dt", {}, key), el("dd", {}, words)])),
    el("p", {}, el("label", {}, off, ` ${message("keys_off")}`)),
    el("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, message("close")));
  document.body.append(dialog);
  dialog.showModal();
}
