/** A toy: a few words, small matrices, every number of them one's own. */

import { el, fill, indexed } from "../../dom.js";
import { post } from "../../api.js";
import { matrixEditor } from "../../matrix_editor.js";
import { maxDifference, formatTiny } from "../../numbers.js";
import { state, set } from "../../state.js";
import { message } from "../../messages.js";
import { showStatus } from "../../status.js";
import { mostOf } from "../../vector_strips.js";
import { marked, stage } from "./stage.js";
import { toyStages } from "./toy_stages.js";
import { computeToy } from "./recompute.js";
import { MOST_WORDS, PRESETS, WIDEST, readToy, resized, without, write } from "./toy_state.js";

const CLOSE = 1e-9; // of the largest number: both sides compute in double precision

/** Buttons for the toys of the ladder. */
export const presets = (chosen) => el("div", { class: "presets", role: "group", "aria-label": message("qkv_presets") },
  ...Object.keys(PRESETS).map((name) => el("button", { type: "button", "data-toy": name, "aria-pressed": chosen === name,
    on: { click: () => set({ toy: name }) } }, message(`qkv_${name}`))));

/** The toy of the state; what is edited goes to the address at once. */
export function openToy() {
  const node = el("div", { class: "toy" });
  const now = { toy: null, found: null, digits: null, edited, flip };
  const verdict = el("p", { class: "verdict", "aria-live": "polite" });
  const stop = new AbortController();
  let shown = null;
  let own = "";
  let top = null;

  function work() {
    now.found = computeToy(now.toy);
    now.digits = digitsOf(now.toy, now.found);
    own = write(now.toy);
    fill(verdict);
  }

  /** A number or a word was changed: everything follows where it stands. */
  function edited() {
    work();
    shown.show();
    head();
    set({ toy: own }, { quiet: true });
  }

  /** There is another number of rows or columns, or a stage more: all is drawn anew. */
  function build(focus = "") {
    work();
    shown = toyStages(now);
    top = el("div", { class: "toy-head" });
    head();
    fill(node, top, first(), ...shown.nodes, last());
    set({ toy: own }, { quiet: true });
    if (focus) node.querySelector(focus)?.focus();
  }

  function head() {
    const named = own in PRESETS ? own : "";
    const buttons = top.querySelectorAll("[data-toy]");
    if (!buttons.length) fill(top, presets(named), el("p", { class: "quiet hint" }));
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.toy === named));
    fill(top.querySelector(".hint"), indexed(message(`qkv_hint_${named || "own"}`)));
  }

  function first() {
    const editor = matrixEditor({ name: "X", about: message("qkv_m_X"), values: now.toy.x, words: now.toy.words,
      change: (row, column, value) => { now.toy.x[row][column] = value; edited(); },
      rename: (place, word) => { now.toy.words[place] = word; edited(); },
      remove: (place) => { now.toy = without(now.toy, place); build(".add-word"); } });
    const { words, x, q, v } = now.toy;
    const add = el("button", { type: "button", class: "add-word", disabled: words.length >= MOST_WORDS,
      on: { click: () => { now.toy = resized(now.toy, { words: words.length + 1 }); build(".add-word"); } } }, `+ ${message("qkv_add")}`);
    return stage({ number: 1, title: message("qkv_words"), text: message("qkv_words_text") },
      el("div", { class: "beginning" }, el("div", {}, editor, add), el("div", { class: "sizes" },
        stepper("dx", x[0].length), stepper("dk", q[0].length), stepper("dv", v[0].length))));
  }

  function stepper(key, value) {
    const step = (by, sign, words) => el("button", { type: "button", "aria-label": message(words, key), "data-step": `${key}${sign}`,
      disabled: value + by < 1 || value + by > WIDEST, on: { click: () => {
        now.toy = resized(now.toy, { [key]: value + by });
        build(`[data-step="${key}${sign}"]:not(:disabled), [data-step^="${key}"]:not(:disabled)`);
      } } }, sign);
    return el("div", { class: "stepper", role: "group", "aria-label": message(`qkv_${key}`) },
      el("span", {}, message(`qkv_${key}`)), step(-1, "−", "qkv_less"), el("output", { class: "number" }, String(value)),
      step(1, "+", "qkv_more"));
  }

  function flip(key) {
    now.toy = key === "o" ? { ...now.toy, o: now.toy.o ? null : diagonal(now.toy.v[0].length, now.toy.x[0].length) }
      : { ...now.toy, [key]: !now.toy[key] };
    build(`[data-switch="${key}"]`);
  }

  function last() {
    return stage({ number: 9, title: message("qkv_check"), text: message("qkv_check_text") },
      el("button", { type: "button", class: "main check", on: { click: check } }, message("qkv_check")), verdict);
  }

  async function check() {
    const asked = own;
    const { toy, found } = now;
    try {
      const told = await post("/api/attend", { x: toy.x, query: toy.q, key: toy.k, value: toy.v, output: toy.o,
        scaled: toy.scaled, causal: toy.causal, swapped: toy.swapped }, stop.signal);
      if (asked !== own) return;
      const gaps = [maxDifference(found.weights, told.weights), maxDifference(found.outputs, told.outputs)];
      const same = Math.max(...gaps) <= CLOSE * Math.max(1, mostOf(...found.outputs));
      fill(verdict, marked(same, message("qkv_checked", ...gaps.map((gap) => (gap ? formatTiny(gap) : message("qkv_zero"))))));
    } catch (error) {
      showStatus(error);
    }
  }

  function take() {
    const { toy, mended } = readToy(state.toy);
    const from = node.contains(document.activeElement) && document.activeElement.dataset.toy;
    now.toy = toy;
    build(from ? `[data-toy="${from}"]` : "");
    if (mended.length) setTimeout(() => showStatus(message("qkv_mended", mended.join(", "))));
  }

  take();
  return {
    node,
    update(changed) {
      if (changed.has("toy") && state.toy !== own) take();
    },
    taken: () => ({ picture: node.querySelector("svg.plane"), trace: null,
      table: { values: now.found.weights, rows: now.toy.words, columns: now.toy.words } }),
    close: () => stop.abort(),
  };
}

const diagonal = (height, width) =>
  Array.from({ length: height }, (_, row) => Array.from({ length: width }, (_, column) => Number(row === column)));

/** As few digits as are exact; else three, or four where a weight would lose too many of them. */
function digitsOf(toy, found) {
  const rough = found.weights.flat().some((one) => one > 0 && one < 0.1) ? 4 : 3;
  const fit = (table) => {
    const values = table.flat().filter(Number.isFinite);
    return [0, 1, 2].find((digits) => values.every((one) => Math.abs(Number(one.toFixed(digits)) - one) < 1e-9)) ?? rough;
  };
  const names = ["queries", "keys", "values", "asking", "asked", "scores", "divided", "masked", "mixed", "outputs"];
  return { ...Object.fromEntries(names.map((name) => [name, fit(found[name])])), x: fit(toy.x), weights: rough, zeroed: rough };
}
