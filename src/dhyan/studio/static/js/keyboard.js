/** Keyboard shortcuts; inactive in text fields, and can be switched off. */

import { el } from "./dom.js";
import { setPreference, getPreference } from "./preferences.js";
import { state, set, hasServer, showsSpecials } from "./state.js";
import { message, lang } from "./messages.js";

const VIEW_KEYS = { t: "translate", s: "step", q: "qkv", h: "heads", m: "mask", v: "gravity", c: "scale",
  l: "length", r: "train", p: "compare", b: "beam", y: "layers" };
const SHORTCUTS = [
  ["/", "focus the sentence field", "वाक्य लिखिए"],
  ["Enter", "translate; on a cell: open its arithmetic", "अनुवाद; ख़ाने पर: उसका हिसाब खोलिए"],
  ["Esc", "leave the text field, close a dialog", "बॉक्स से बाहर, संवाद बंद"],
  ["g t · g s · g q · g h · g m", "go to translate, step, Q K V, heads, mask", "दृश्य: अनुवाद, चरण, Q K V, हेड, मास्क"],
  ["g v · g c · g l · g r · g p", "gravity, why √d, length, training, compare", "गुरुत्व, √d, लंबाई, प्रशिक्षण, तुलना"],
  ["g b · g y", "go to beam, layers", "दृश्य: बीम, परतें"],
  ["← ↑ → ↓ Home End", "move through the figure", "चित्र में चलिए"],
  ["[ ]", "previous, next layer", "पिछली, अगली परत"],
  ["{ }", "previous, next head", "पिछला, अगला हेड"],
  [", .", "previous, next step", "पिछला, अगला चरण"],
  ["Space · p", "pin a row · play or pause the steps", "पंक्ति पिन कीजिए · चरण चलाइए या रोकिए"],
  ["u · s · x", "words or tokens · colours · special tokens", "शब्द या टोकन · रंग-मान · विशेष टोकन"],
  ["n · T", "numbers in the cells · table", "ख़ानों में संख्याएँ · सारणी"],
  ["y · e · ?", "copy link · export · these keys", "लिंक · निर्यात · ये कुंजियाँ"],
];
const NEED_SERVER = ["/", "Enter", "g t · g s · g q · g h · g m", "g v · g c · g l · g r · g p"]; // not offered by a saved trace
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
  "/": () => document.querySelector("#sentence").focus(),
  g: () => { awaitingView = true; },
  u: () => set({ unit: state.unit === "word" ? "token" : "word" }, { replace: true }),
  s: () => set({ scale: state.scale === "sqrt" ? "linear" : "sqrt" }, { replace: true }),
  x: () => set({ specials: showsSpecials() ? "0" : "1" }, { replace: true }),
  n: () => set({ numbers: state.numbers === "1" ? "0" : "1" }, { replace: true }),
  T: () => set({ display: state.display === "table" ? "map" : "table" }, { replace: true }),
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
  const [current, last] = document.querySelector(`#view [data-${key}]`)?.dataset[key].split(" ").map(Number) ?? [];
  const index = list && (list.selectedIndex < 0 ? list.options.length : list.selectedIndex) + offset;
  const next = list ? list.options[index]?.value : current + offset >= 1 && current + offset <= last ? String(current + offset) : undefined;
  if (next !== undefined) set({ [key]: key === "layer" ? Number(next) : next }, { replace: true });
}

const isTextField = (target) => /^(input|textarea|select)$/i.test(target.tagName);

function blurField(event) {
  if (isTextField(event.target)) event.target.blur();
}

/** The list of keys, in a dialog. */
export function openShortcuts() {
  const off = el("input", { type: "checkbox", id: "keys-off",
    on: { change: () => setPreference(SHORTCUTS_OFF, off.checked) } });
  off.checked = getPreference(SHORTCUTS_OFF);
  const dialog = el("dialog", { "aria-labelledby": "keys-title", on: { close: () => dialog.remove() } },
    el("h2", { id: "keys-title", tabindex: -1, autofocus: true }, message("keys")),
    el("dl", {}, ...SHORTCUTS.filter(([key]) => hasServer() || !NEED_SERVER.includes(key)).flatMap(([key, english, hindi]) =>
      [el("dt", {}, key), el("dd", {}, lang() === "hi" ? hindi : english)])),
    el("p", {}, el("label", {}, off, ` ${lang() === "hi" ? "एक वर्ण वाली कुंजियाँ बंद रखिए" : "switch single-letter keys off"}`)),
    el("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, message("close")));
  document.body.append(dialog);
  dialog.showModal();
}
