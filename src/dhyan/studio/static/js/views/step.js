/** One decoder step of a recurrent model: every number of the attention, recomputed on the page. */

import { el, setChildren, text } from "../dom.js";
import { keepFocus } from "../focus.js";
import { post } from "../api.js";
import { agreementBadge } from "../agreement.js";
import { stateLink } from "../links.js";
import { requestBody, fetchTrace } from "../traces.js";
import { slider } from "../controls.js";
import { card, models } from "../header.js";
import { lesson } from "../lesson_panel.js";
import { formatNumber, indexOfLargest, maxDifference, formatTiny } from "../numbers.js";
import { state, set, isCellChosen, viewsOf } from "../state.js";
import { strip } from "../vector_strips.js";
import { showStatus } from "../status.js";
import { hasRole } from "../trace.js";
import { message } from "../messages.js";
import { maskPanel } from "./head/mask_panel.js";
import { attentionView } from "./translate/attention_view.js";
import { bottleneckDiagram } from "./translate/bottleneck.js";
import { computationGrid, WIDE_COLUMN, TINY_COLUMN } from "./step/computation.js";
import { unpackSteps, recomputeStep } from "./step/recompute.js";

const PLAY_INTERVAL = 1400; // milliseconds per step while playing
const SUPPORTED_SCORES = ["additive", "concat", "dot", "scaled_dot", "general", "location"];
const MAX_CACHED = 4;
const cache = new Map();

/** All steps of the current sentence, cached. */
async function stepsOf(signal) {
  const body = requestBody();
  const key = JSON.stringify(body);
  if (!cache.has(key)) cache.set(key, unpackSteps(await post("/api/step", body, signal)));
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value);
  return cache.get(key);
}

/** @returns {View} */
export function open() {
  const top = el("div", { class: "step-top" });
  const [tokenRow, checkBox] = [el("div", { class: "step-tokens", role: "group", "aria-label": message("step_tokens") }), el("div", { class: "step-check" })];
  const picture = el("div", { class: "step-picture" });
  const predictions = el("div", { class: "step-predictions" });
  const mask = maskPanel();
  const tests = el("details", { class: "stage-panel alone", hidden: true, on: { toggle: () => tests.open && mask.load() } },
    el("summary", {}, message("inside_order_test")), mask.node);
  const node = el("section", { class: "step", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("step_title"))), top, picture, predictions, tests);
  const expandedRows = new Set();
  let stop = new AbortController();
  let response = null; // the trace and its steps
  let computed = null; // the step on the page
  let selecting = false; // the view itself changes the state
  let playing = 0;
  let range = null;

  const steps = () => response.trace.target.tokens.length;
  const words = () => response.trace.source.tokens.map((token) => token.text);
  const languages = () => ({ source: card()?.source_language ?? "en", target: card()?.target_language ?? "hi" });

  async function load() {
    pause();
    stop.abort();
    stop = new AbortController();
    response = computed = null;
    [tests.hidden, tests.open] = [true, false];
    setChildren(top);
    setChildren(predictions);
    setChildren(picture, el("p", { class: "muted" }, state.text ? message("working") : message("empty_view")));
    if (!state.text || !state.model) return;
    showStatus(message("working"));
    const { signal } = stop;
    try {
      const trace = await fetchTrace({}, signal);
      if (signal.aborted) return;
      if (hasRole(trace, "decoder_self") && viewsOf("inside").includes("head")) return set({ view: "head" }, { replace: true });
      tests.hidden = false;
      if (!hasRole(trace, "cross")) return renderOneVector(trace, "no_attention");
      const operands = await stepsOf(signal);
      if (signal.aborted) return;
      response = { trace, operands };
      if (operands.score === "bottleneck") return renderOneVector(trace, "step_bottleneck", sameVector(operands));
      lesson("step");
      renderTop();
      render({ follow: !isCellChosen() });
    } catch (error) {
      if (error.name === "AbortError") return;
      setChildren(picture, alternatives());
      showStatus(error);
    }
  }

  /** A translation without weights: all of the sentence goes through one vector. */
  function renderOneVector(trace, about, ...details) {
    lesson("no_attention");
    setChildren(picture, bottleneckDiagram(attentionView(trace, card() ?? {}, state), picture.clientWidth - 42), ...details, alternatives());
    showStatus(message(about));
  }

  /** The vector that every step reads, and that it does not change. */
  function sameVector({ contexts }) {
    const difference = Math.max(...contexts.map((context) => maxDifference(context, contexts[0])));
    return el("div", { class: "card step-card" }, strip({ label: "c", values: contexts[0], ariaLabel: message("step_one_vector"), visibleCount: 16 }),
      el("p", { class: "muted" }, message("step_same", contexts.length, formatTiny(difference))));
  }

  const alternatives = () => el("p", { class: "step-links" }, ...compatibleModels());

  function compatibleModels() {
    const compatible = models().filter((model) => model.name !== state.model && model.views.includes("step") && SUPPORTED_SCORES.includes(model.score)).slice(0, 4);
    return compatible.length ? compatible.map((model) => stateLink({ model: model.name }, message("step_to_model", model.name), { class: "button" })) : [el("span", {}, message("step_no_model"))];
  }

  /** Controls and the order of attention and state update; the same for every step. */
  function renderTop() {
    const { operands } = response;
    const button = (name, act, sign) => el("button", { type: "button", class: `step-${name}`, "aria-label": message(`step_${name}`),
      on: { click: act } }, sign);
    range = slider(message("step_choose"), "target", { min: 1, max: steps() }, (i) => message("step_of", Math.min(i, steps()), steps()));
    setChildren(top,
      el("p", { class: "step-order" }, message(operands.after ? "step_attends_after" : "step_attends_before")),
      tokenRow,
      el("div", { class: "controls step-controls" }, button("before", () => moveStep(-1), "←"), button("play", toggle, "▶"),
        button("after", () => moveStep(1), "→"), range),
      checkBox);
  }

  /** Column widths: all with numbers if they fit, else only the selected one. */
  function columns(step) {
    const headWidth = picture.clientWidth > 640 ? 208 : 0;
    const available = picture.clientWidth - headWidth - 4;
    const each = Math.floor(available / words().length);
    if (each >= WIDE_COLUMN) return words().map(() => Math.min(each, 150));
    const narrow = Math.min(Math.max(Math.floor((available - WIDE_COLUMN - 8) / (words().length - 1)), TINY_COLUMN), WIDE_COLUMN - 1);
    return words().map((_, j) => (j === step ? WIDE_COLUMN + 8 : narrow));
  }

  /** Draw the step of the state; `follow` selects its strongest word. */
  function render({ follow = false } = {}) {
    const step = Math.min(state.target, steps()) - 1;
    const { trace, operands } = response;
    const stepChanged = computed?.step !== step;
    if (stepChanged) computed = { step, ...recomputeStep(operands, step) };
    const strongest = indexOfLargest(computed.page.alpha);
    selecting = true;
    set({ target: step + 1, ...(follow && { source: strongest + 1 }) }, { replace: true });
    selecting = false;
    range.sync();
    renderTokens(step);
    setChildren(checkBox, agreementBadge(computed.maxDifference, computed.size), el("span", { class: "muted" },
      message("step_recomputed", computed.products.toLocaleString("en"))));
    const about = { score: operands.score, after: operands.after, shift: computed.page.shift, window: operands.visibility.flat().some((visibility) => visibility < 1) };
    const word = Math.min(state.source, words().length) - 1;
    const focusedName = document.activeElement?.dataset?.name;
    const left = picture.querySelector(".step-box")?.scrollLeft ?? 0;
    const box = el("div", { class: "step-box", role: "region", tabindex: 0, "aria-label": message("step_scroll") },
      computationGrid({ operands, computed, words: words(), about, expandedRows, selected: word, source: languages().source, columns: columns(word),
        choose: (word) => set({ source: word + 1 }, { replace: true }),
        toggleRow(row) {
          expandedRows[expandedRows.has(row) ? "delete" : "add"](row);
          render();
          picture.querySelector(`.row-${row} .strip-toggle`)?.focus();
        } }));
    setChildren(picture, el("p", { class: "muted" }, message("step_hint")), box);
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("scrolls", scrolls);
    if (scrolls) box.before(el("p", { class: "step-scrolls" }, message("step_scrolls", words().length)));
    box.scrollLeft = left;
    scrollToWord(box);
    if (focusedName) picture.querySelector(`button[data-name="${focusedName}"][data-word="${word}"]`)?.focus();
    renderPredictions(trace.steps[step], trace.target.tokens[step]);
    if (!stepChanged) return;
    showStatus(message("step_strongest", step + 1, trace.target.tokens[step].text, words()[strongest], formatNumber(computed.page.alpha[strongest]),
      checkBox.firstElementChild?.textContent));
  }

  /** Scroll the selected column into view. */
  function scrollToWord(box) {
    const [word, header] = [box.querySelector(".flow-word.selected"), box.querySelector(".flow-heads .flow-head")]
      .map((element) => element.getBoundingClientRect());
    const frame = box.getBoundingClientRect();
    if (word.right > frame.right) box.scrollLeft += word.right - frame.right;
    else if (word.left < frame.left + header.width) box.scrollLeft -= frame.left + header.width - word.left;
  }

  /** The target tokens; the current step is marked. */
  function renderTokens(step) {
    const focused = tokenRow.contains(document.activeElement);
    setChildren(tokenRow, ...response.trace.target.tokens.map((token, i) => el("button", { type: "button", lang: languages().target,
      class: `${i < step ? "past" : i === step ? "current" : "future"}${token.word === response.trace.target.tokens[i - 1]?.word ? " joined" : ""}`, "aria-current": i === step ? "step" : null,
      on: { click: () => set({ target: i + 1 }, { replace: true }) } }, token.text)));
    const current = tokenRow.children[step];
    if (focused) current.focus();
    if (current instanceof HTMLElement) tokenRow.scrollTop = current.offsetTop - tokenRow.clientHeight / 2;
  }

  /** The most probable tokens after the step. */
  function renderPredictions(step, token) {
    const largest = step.top_tokens[0]?.[1] || 1;
    setChildren(predictions, el("h2", {}, message("step_prediction"), " ", text(token.text, languages().target)),
      el("p", { class: "muted" }, message(response.operands.after ? "step_prediction_after" : "step_prediction_before")),
      el("ol", { class: "step-top-tokens" }, ...step.top_tokens.map(([word, prob]) => el("li", { class: word === token.text ? "current" : null },
        text(word, languages().target), el("span", { class: "step-bar", style: { "--share": String(prob / largest) } }),
        el("span", { class: "number" }, formatNumber(prob))))));
  }

  function moveStep(by) {
    const next = Math.min(Math.max(state.target + by, 1), steps());
    set({ target: next }, { replace: true });
  }

  function toggle() {
    if (!response || !range) return;
    if (playing) return pause();
    if (state.target >= steps()) set({ target: 1 }, { replace: true });
    playing = setInterval(() => (state.target >= steps() ? pause() : moveStep(1)), PLAY_INTERVAL);
    showPlaying();
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    showPlaying();
  }

  function showPlaying() {
    const button = top.querySelector(".step-play");
    button?.setAttribute("aria-label", message(playing ? "step_pause" : "step_play"));
    if (button) button.textContent = playing ? "❚❚" : "▶";
  }

  let width = 0;
  const watcher = new ResizeObserver(() => {
    if (computed && Math.abs(picture.clientWidth - width) > 24) keepFocus(picture, render);
    width = picture.clientWidth;
  });
  watcher.observe(node);
  load();
  document.addEventListener("retranslate", load);
  document.addEventListener("toggle-play", toggle);
  return {
    node,
    update(changed) {
      mask.update(changed);
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) load();
      else if (!computed || selecting) return;
      else if (changed.has("target") || changed.has("source")) render({ follow: !changed.has("source") });
    },
    exportData: () => ({ picture: picture.querySelector(".flow, .bottleneck-svg"), trace: response?.trace ?? null, table: computed && {
      values: ["e", "exp", "alpha"].map((row) => computed.page[row]), rows: ["e", "exp", "α"], columns: words() } }),
    close() {
      pause();
      stop.abort();
      mask.close();
      watcher.disconnect();
      document.removeEventListener("retranslate", load);
      document.removeEventListener("toggle-play", toggle);
    },
  };
}
