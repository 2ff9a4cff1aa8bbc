/** Self-attention view: a few words and small matrices to edit, in stages. */

import { el, setChildren, withSubscripts } from "../dom.js";
import { post } from "../api.js";
import { standalone } from "../embedded_trace.js";
import { matrixEditor } from "../matrix_editor.js";
import { maxDifference, formatTiny } from "../numbers.js";
import { state, set } from "../state.js";
import { message } from "../messages.js";
import { showStatus } from "../status.js";
import { maxAbs } from "../vector_strips.js";
import { badge } from "../agreement.js";
import { stage } from "../stage.js";
import { toyStages } from "./self_attention/stages.js";
import { computeToy } from "./head/recompute.js";
import { MAX_WORDS, PRESETS, MAX_WIDTH, readToy, resizeToy, removeWord, encodeToy } from "./self_attention/toy.js";

const FIRST_TOY = "cat";
const CLOSE = 1e-9; // relative to the largest number: both sides compute in double precision

/** Buttons of the preset toys. */
const presets = (selected) => el("div", { class: "presets", role: "group", "aria-label": message("qkv_presets") },
  ...Object.keys(PRESETS).map((name) => el("button", { type: "button", "data-toy": name, "aria-pressed": selected === name,
    on: { click: () => set({ toy: name }) } }, message(`qkv_${name}`))));

/** The toy of the state; edits are stored in the URL at once. @returns {View} */
export function open() {
  const content = el("div", { class: "toy" });
  const node = el("section", { class: "self-attention", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_self_attention"))), content);
  const { toy: firstToy } = readToy(FIRST_TOY);
  const session = { toy: firstToy, result: computeToy(firstToy), digits: {}, edited, toggle };
  const verdict = el("p", { class: "check-result", "aria-live": "polite" });
  const stop = new AbortController();
  let stages = null;
  let encoded = "";
  let top = null;
  const store = () => set({ toy: encoded }, { replace: true });

  function recompute() {
    session.result = computeToy(session.toy);
    session.digits = digitsOf(session.toy, session.result);
    encoded = encodeToy(session.toy);
    setChildren(verdict);
  }

  /** A number or a word changed: update in place. */
  function edited() {
    recompute();
    stages.show();
    renderHead();
    store();
  }

  /** The shape or the set of stages changed: rebuild. */
  function build(focus = "") {
    recompute();
    stages = toyStages(session);
    top = el("div", { class: "toy-header" });
    renderHead();
    setChildren(content, top, wordStage(), ...stages.nodes, !standalone && checkStage());
    queueMicrotask(store); // the page does not know a view before it is open
    if (focus) node.querySelector(focus)?.focus();
  }

  function renderHead() {
    const preset = encoded in PRESETS ? encoded : "";
    const buttons = top.querySelectorAll("[data-toy]");
    if (!buttons.length) setChildren(top, presets(preset), el("p", { class: "muted hint" }));
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.toy === preset));
    setChildren(top.querySelector(".hint"), withSubscripts(message(`qkv_hint_${preset || "custom"}`)));
  }

  function wordStage() {
    const editor = matrixEditor({ name: "X", ariaLabel: message("qkv_m_X"), values: session.toy.x, words: session.toy.words,
      onChange: (row, column, value) => { session.toy.x[row][column] = value; edited(); },
      onRename: (index, word) => { session.toy.words[index] = word; edited(); },
      onRemove: (index) => { session.toy = removeWord(session.toy, index); build(".add-word"); } });
    const { words, x, q, v } = session.toy;
    const add = el("button", { type: "button", class: "add-word", disabled: words.length >= MAX_WORDS,
      on: { click: () => { session.toy = resizeToy(session.toy, { words: words.length + 1 }); build(".add-word"); } } }, `+ ${message("qkv_add")}`);
    return stage({ number: 1, title: message("qkv_words"), text: message("qkv_words_text") },
      el("div", { class: "word-editor" }, el("div", {}, editor, add), el("div", { class: "sizes" },
        stepper("dx", x[0].length), stepper("dk", q[0].length), stepper("dv", v[0].length))));
  }

  function stepper(key, value) {
    const step = (by, sign, words) => el("button", { type: "button", "aria-label": message(words, key), "data-step": `${key}${sign}`,
      disabled: value + by < 1 || value + by > MAX_WIDTH, on: { click: () => {
        session.toy = resizeToy(session.toy, { [key]: value + by });
        build(`[data-step="${key}${sign}"]:not(:disabled), [data-step^="${key}"]:not(:disabled)`);
      } } }, sign);
    return el("div", { class: "stepper", role: "group", "aria-label": message(`qkv_${key}`) },
      el("span", {}, message(`qkv_${key}`)), step(-1, "−", "qkv_less"), el("output", { class: "number" }, String(value)),
      step(1, "+", "qkv_more"));
  }

  function toggle(key) {
    session.toy = key === "o" ? { ...session.toy, o: session.toy.o ? null : diagonal(session.toy.v[0].length, session.toy.x[0].length) }
      : { ...session.toy, [key]: !session.toy[key] };
    build(`[data-switch="${key}"]`);
  }

  function checkStage() {
    return stage({ number: 9, title: message("qkv_check"), text: message("qkv_check_text") },
      el("button", { type: "button", class: "primary check", on: { click: check } }, message("qkv_check")), verdict);
  }

  async function check() {
    const checkedToy = encoded;
    const { toy, result } = session;
    try {
      const response = await post("/api/attend", { x: toy.x, query: toy.q, key: toy.k, value: toy.v, output: toy.o,
        scaled: toy.scaled, causal: toy.causal, swapped: toy.swapped }, stop.signal);
      if (checkedToy !== encoded) return;
      const differences = [maxDifference(result.weights, response.weights), maxDifference(result.outputs, response.outputs)];
      const matches = Math.max(...differences) <= CLOSE * Math.max(1, maxAbs(...result.outputs));
      setChildren(verdict, badge(matches, message("qkv_checked", ...differences.map((difference) => formatTiny(difference)))));
    } catch (error) {
      showStatus(error);
    }
  }

  function loadToy() {
    const { toy, corrected } = readToy(state.toy || FIRST_TOY);
    const focusedToy = node.contains(document.activeElement) && document.activeElement?.dataset.toy;
    session.toy = toy;
    build(focusedToy ? `[data-toy="${focusedToy}"]` : "");
    if (corrected.length) setTimeout(() => showStatus(message("qkv_corrected", corrected.join(", "))));
  }

  loadToy();
  return {
    node,
    showsSentence: () => false,
    update(changed) {
      if (changed.has("toy") && state.toy !== encoded) loadToy();
    },
    exportData: () => ({ picture: content, trace: null,
      table: { values: session.result.weights, rows: session.toy.words, columns: session.toy.words } }),
    close: () => stop.abort(),
  };
}

const diagonal = (height, width) =>
  Array.from({ length: height }, (_, row) => Array.from({ length: width }, (_, column) => Number(row === column)));

/** Digits per matrix: the fewest that are exact, else three, or four where a weight is below 0.1. */
function digitsOf(toy, result) {
  const rough = result.weights.flat().some((weight) => weight > 0 && weight < 0.1) ? 4 : 3;
  const digitsFor = (table) => {
    const values = table.flat().filter(Number.isFinite);
    return [0, 1, 2].find((digits) => values.every((value) => Math.abs(Number(value.toFixed(digits)) - value) < 1e-9)) ?? rough;
  };
  const names = ["queries", "keys", "values", "scoreQueries", "scoreKeys", "scores", "divided", "masked", "context", "outputs"];
  return { ...Object.fromEntries(names.map((name) => [name, digitsFor(result[name])])), x: digitsFor(toy.x), weights: rough, zeroed: rough };
}
