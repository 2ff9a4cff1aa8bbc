/** Two models or two sentences with linked cursors, and the difference of their attention. */

import { el, setChildren } from "../../dom.js";
import { keepFocus } from "../../focus.js";
import { controls, list } from "../../controls.js";
import { drawHeatmap } from "../../heatmap.js";
import { formatNumber } from "../../numbers.js";
import { state, set, colorScaleOf, hasServer, MAX_TEXT } from "../../state.js";
import { viewSettings } from "../../view_settings.js";
import { message } from "../../messages.js";
import { card, models, scoresText } from "../../header.js";
import { failureNote, showStatus } from "../../status.js";
import { invalidateTrace, streamTrace } from "../../traces.js";
import { hasModel, isReady } from "../../embedded_model.js";
import { loadingProgress } from "./loading.js";
import { attentionView, rowStatistics, strongest } from "./attention_view.js";
import { matchTokens } from "./match_tokens.js";
import { sourceTable, difference } from "./difference.js";
import { assess } from "./quality.js";
import { replaceWord, swappedWord, wordSwap } from "./word_swap.js";
import { changedWords, compareWords } from "../../engine/word_diff.js";

const MIN_CELL = 20; // pixels of a cell with a number in it
const MAP_MARGINS = 260; // pixels of labels, statistics and card around the cells
const NO_MAP = { setCrosshair() {}, setFocus() {} }; // of a model without attention
const REQUEST_KEYS = ["text", "model", "text2", "model2", "beam"];
const RENDER_KEYS = ["unit", "scale", "specials", "layer", "head", "numbers"];

/** The model of B: a second one, or that of A. */
const secondModel = () => (card(state.model2) ? state.model2 : state.model);

/** @returns {View} */
export function open() {
  const sides = ["a", "b"].map((name) => side(name));
  const live = el("p", { class: "live", "aria-live": "polite" });
  const [controlBar, notice, details] = ["controls", "notice", "details"].map((name) => el("div", { class: `compare-${name}` }));
  const swapBox = el("div", { class: "compare-swap-word" });
  const swap = el("button", { type: "button", class: "compare-swap", on: { click: swapSides } }, `⇄ ${message("compare_swap")}`);
  const close = el("button", { type: "button", class: "compare-close", on: { click: () => set({ model2: "", text2: "" }) } }, `× ${message(state.model2 ? "compare_one" : "compare_one_sentence")}`);
  const tools = el("div", { class: "compare-tools" }, swap, close);
  const pair = el("div", { class: "compare-pair" }, sides[0].node, sides[1].node);
  const picture = el("div", {}, pair, live, details);
  const node = el("section", { class: "compare", "aria-labelledby": "view-title" },
    el("header", { class: "compare-head" }, el("h1", { id: "view-title" }, message("compare_title")), tools),
    controlBar, notice, swapBox, picture);
  let traces = null;
  let views = null;
  let match = null;
  let maps = [];
  let chooser = [];
  let stop = new AbortController();

  /** One side: header, translation and map. */
  function side(name) {
    const [translation, picture, head] = [el("p", { class: "compare-translation" }), el("div", { class: "compare-picture" }), el("div", { class: "compare-selectors" })];
    const confidence = el("p", { class: "compare-confidence muted" });
    return { name, translation, confidence, picture, head,
      node: el("section", { class: "card compare-side", "aria-label": message(`compare_${name}`) }, head, translation, confidence, picture) };
  }

  function renderHeads() {
    setChildren(sides[0].head, el("span", { class: "compare-letter" }, "A"), el("b", {}, state.model),
      el("span", { class: "muted" }, message("compare_header")));
    const sentence = el("input", { type: "text", id: "second-sentence", lang: card(secondModel())?.source_language,
      placeholder: message("compare_same"), "aria-label": message("compare_second"),
      on: { change: () => setSecond(sentence) } });
    sentence.value = state.text2;
    const select = el("select", { id: "second-model", "aria-label": `B: ${message("model")}`, on: { change: (event) => set({ model2: event.target.value === state.model && state.text2 ? "" : event.target.value }) } },
      ...models().map((model) => el("option", { value: model.name, selected: model.name === secondModel() }, model.name)));
    setChildren(sides[1].head, el("span", { class: "compare-letter" }, "B"), select, sentence);
  }

  /** Translate the second sentence; one that is too long stays as it is. @param {HTMLInputElement} field */
  function setSecond(field) {
    const text2 = field.value.normalize("NFC").trim();
    const excess = text2.length - MAX_TEXT;
    field.setAttribute("aria-invalid", String(excess > 0));
    if (excess > 0) showStatus(new Error(message("too_long", text2.length, MAX_TEXT, excess)));
    else set({ text2 });
  }

  function swapSides() {
    const patch = state.model2 ? { model: secondModel(), model2: state.model } : {};
    set(state.text2 ? { ...patch, text: state.text2, text2: state.text } : patch);
  }

  async function load() {
    stop.abort();
    stop = new AbortController();
    traces = null;
    renderHeads();
    const empty = !state.text || !state.model;
    node.classList.toggle("empty", empty);
    node.classList.toggle("loading", true);
    setChildren(notice, el("p", { class: "muted" }, message(empty ? "empty_view" : "working")));
    setChildren(swapBox);
    if (empty) return;
    showStatus(message("working"));
    const began = performance.now();
    const loading = loadingProgress(notice);
    const ask = (text, model) => streamTrace(() => {}, stop.signal, (stage) => loading.show(stage, model), { text, model, prefix: "" });
    try {
      if (hasModel && !isReady()) loading.show("weights", state.model);
      traces = await Promise.all([ask(state.text, state.model), ask(state.text2 || state.text, secondModel())]);
      node.classList.toggle("loading", false);
      setChildren(notice);
      render();
      showStatus(message("done", `${state.model}, ${secondModel()}`, traces.map((trace) => trace.target.tokens.length).join(" + "), Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return;
      setChildren(notice, failureNote(error));
      showStatus(error);
    } finally {
      loading.stop();
    }
  }

  function render() {
    if (!traces) return null;
    const names = [state.model, secondModel()];
    views = traces.map((trace, index) => attentionView(trace, card(names[index]) ?? {}, { ...state, transliterate: "0" }));
    match = matchTokens(...views);
    renderSwap();
    renderConfidence();
    const widest = Math.max(...views.map((view) => view.columns.length)) * MIN_CELL + MAP_MARGINS;
    pair.classList.toggle("stacked", widest > node.clientWidth / 2); // one above the other rather than cut
    renderControls();
    maps = views.map((view, index) => {
      setChildren(sides[index].translation, traces[index].translation ? markedWords(index) : message("translate_empty"));
      sides[index].translation.lang = traces[index].translation ? card(names[index])?.target_language ?? "hi" : state.language;
      if (!view.attends) {
        setChildren(sides[index].picture, el("p", {}, message(view.tables.length ? "bottleneck" : "no_attention")));
        return NO_MAP;
      }
      const map = drawHeatmap({ values: view.values, rows: view.rows, columns: view.columns, scale: colorScaleOf(longest()), numbers: state.numbers === "1",
        label: message("compare_map", index ? "B" : "A"), maxWidth: sides[index].picture.clientWidth, minCellWidth: minCellWidth(view),
        describe: (row, column, value) => message("attends", view.rows[row].text, view.columns[column].text, formatNumber(value)),
        statistics: rowStatistics(view, sides[index].picture.clientWidth),
        selected: cursor(index), onHover: (row, column) => preview(index, row, column), onFocus: (row, column) => choose(index, row, column) });
      setChildren(sides[index].picture, map);
      return map;
    });
    if (!views.every((view) => view.attends)) {
      [match.values, match.differenceRows] = [null, []];
      setChildren(details);
      return announce(...cursor(0), true);
    }
    const delta = difference(views[0], views[1], match, { maxWidth: details.clientWidth, minCellWidth: signedMinCellWidth(views[0]), numbers: state.numbers === "1", selected: inDifference(cursor(0)),
      onHover: (row, column) => preview(0, row === null ? null : match.differenceRows[row], column), onFocus: (row, column) => choose(0, match.differenceRows[row], column, true) });
    if (delta.map) maps.push(delta.map);
    const summary = views.find((view) => ["avg", "max"].includes(view.which))?.which;
    setChildren(details, delta.node, summary && el("p", { class: "muted" }, message(`translate_summary_${summary}`)), match.sameSource && !match.sameTarget && sourceTable(views[0], views[1]));
    return announce(...cursor(0), true);
  }

  /** Whether both translations are equal, and the probability that each model gives to its own. */
  function renderConfidence() {
    const models = [state.model, secondModel()];
    const equal = hasOneLanguage() && traces[0].translation && traces[0].translation === traces[1].translation;
    setChildren(notice, equal && el("p", {}, message("compare_equal_words")));
    sides.forEach(({ confidence }, index) => setChildren(confidence, [message("compare_prob", formatNumber(assess(traces[index]).probability, 2)),
      state.model2 && scoresText(card(models[index]))].filter(Boolean).join(" · ")));
  }

  const hasOneLanguage = () => card(state.model)?.target_language === card(secondModel())?.target_language;

  /** The words of a translation; those that the other one in its language has not are marked. */
  function markedWords(index) {
    if (!hasOneLanguage()) return traces[index].translation;
    const [before, after] = traces.map((trace) => trace.translation.split(" "));
    const kind = index ? "added" : "removed";
    return compareWords(before, after).filter(([, change]) => change === "same" || change === kind)
      .flatMap(([word, change], position) => [position ? " " : "", change === "same" ? word : el("mark", { class: "changed-word" }, word)]);
  }

  /** What a single swapped word changes, and a form to try another one. */
  function renderSwap() {
    const swapped = state.text2 && swappedWord(state.text, state.text2);
    if (!swapped) return setChildren(swapBox);
    const [before, after] = traces.map((trace) => trace.translation.split(" "));
    const changes = changedWords(before, after).map((words) => words.map((side) => side.join(" ") || "–").join(" → "));
    const summary = changes.length ? message("swap_changes", swapped.from, swapped.to, changes.join(", ")) : message("swap_same", swapped.from, swapped.to);
    const again = (replacement) => {
      const text2 = replaceWord(state.text, state.text.split(/\s+/), swapped.index, replacement);
      if (text2 !== null) set({ text2, target: 1, source: 1 });
    };
    return setChildren(swapBox, el("p", { class: "swap-summary", role: "status" }, summary),
      hasServer() && wordSwap(swapped.from, again, { lang: card()?.source_language, current: swapped.to }));
  }

  const minCellWidth = (view) => (view.columns.length > 60 ? 6 : sides[0].picture.clientWidth < 400 ? 24 : MIN_CELL);

  /** The longer side of both maps, which have one colour scale. */
  const longest = () => Math.max(...views.flatMap((view) => [view.rows.length, view.columns.length]));

  const signedMinCellWidth = (view) => (minCellWidth(view) === 24 && state.numbers === "1" ? 30 : minCellWidth(view)); // room for the minus sign

  /** Cursor position in A, or its partner in B. @param {number} index @returns {[number, number]} */
  function cursor(index) {
    const selected = state.target > 1 || state.source > 1;
    const [row, column] = [Math.min(state.target, views[0].rows.length) - 1,
      selected ? Math.min(state.source, views[0].columns.length) - 1 : strongest(views[0].values[0])[0]];
    return index ? [match.rows[0][row] ?? 0, match.columns[0][column] ?? 0] : [row, column];
  }

  /** A position of A in the difference map; its row is null where B has no such word.
   * @param {[number | null, number | null]} position @returns {[number | null, number | null]} */
  function inDifference([row, column]) {
    const index = match.differenceRows.indexOf(row);
    return [index < 0 ? null : index, column];
  }

  /** A position in A and in B; null where there is no partner.
   * @param {number} index @param {number | null} row @param {number | null} column @returns {[number | null, number | null][]} */
  function positions(index, row, column) {
    /** @type {[number | null, number | null]} */
    const partner = [row === null ? null : match.rows[index][row], column === null ? null : match.columns[index][column]];
    return index ? [partner, [row, column]] : [[row, column], partner];
  }

  function preview(index, row, column) {
    const [a, b] = positions(index, row, column);
    maps[0].setCrosshair(...a);
    maps[1].setCrosshair(...b);
    maps[2]?.setCrosshair(...inDifference(a));
    if (row === null && column === null) announce(...cursor(0), false);
    else if (row !== null && column !== null) announce(...a, false, b);
  }

  function choose(index, row, column, fromDelta = false) {
    const [a, b] = positions(index, row, column);
    const silent = { focus: false, announce: false };
    if ((index || fromDelta) && a[0] !== null && a[1] !== null) maps[0].setFocus(a, silent);
    if ((!index || fromDelta) && b[0] !== null && b[1] !== null) maps[1].setFocus(b, silent);
    if (!fromDelta && a[0] !== null && a[1] !== null) maps[2]?.setFocus(inDifference(a), silent);
    if (a[0] !== null && a[1] !== null) set({ target: a[0] + 1, source: a[1] + 1 }, { replace: true });
    announce(...a, true, b);
  }

  /** Announce both weights of a cell and their difference. */
  function announce(row, column, announced, partner = positions(0, row, column)[1]) {
    const cellText = (index, [targetRow, sourceColumn]) => (!views[index].attends || targetRow === null || sourceColumn === null ? `${index ? "B" : "A"}: –`
      : `${index ? "B" : "A"}: ${message("attends", views[index].rows[targetRow].text, views[index].columns[sourceColumn].text, formatNumber(views[index].values[targetRow][sourceColumn]))}`);
    const [differenceRow] = inDifference([row, column]);
    const delta = match.values && differenceRow !== null && column !== null ? ` · Δ ${formatNumber(match.values[differenceRow][column])}` : "";
    live.setAttribute("aria-live", announced ? "polite" : "off");
    live.textContent = `${cellText(0, [row, column])} · ${cellText(1, partner)}${delta}`;
  }

  function renderControls() {
    const [layers, count] = [Math.max(...views.map((view) => view.layers)), Math.max(...views.map((view) => view.tables.length))];
    if (controlBar.dataset.shape === `${layers} ${count}`) return chooser.forEach((control) => control.sync());
    controlBar.dataset.shape = `${layers} ${count}`;
    const numbered = (count) => Array.from({ length: count }, (_, index) => [String(index + 1), String(index + 1)]);
    if (count > 1 && !state.layer) state.layer = layers;
    if (count > 1 && !state.head) state.head = "avg";
    const settings = viewSettings({});
    const lists = count > 1 ? [list(message("layer"), "layer", numbered(layers)), list(message("head"), "head", [["avg", message("average")], ["max", message("largest")], ...numbered(count)])] : [];
    chooser = [...lists, settings];
    setChildren(tools, swap, settings.button, settings.panel, close);
    return setChildren(controlBar, lists.length > 0 && controls(...lists));
  }

  const reload = () => {
    invalidateTrace();
    load();
  };
  let width = 0;
  const watcher = new ResizeObserver(() => {
    if (traces && Math.abs(node.clientWidth - width) > 24) keepFocus(node, render);
    width = node.clientWidth;
  });
  watcher.observe(node);
  queueMicrotask(load);
  document.addEventListener("retranslate", reload);
  return {
    node,
    update(changed) {
      if (REQUEST_KEYS.some((key) => changed.has(key))) load();
      else if (RENDER_KEYS.some((key) => changed.has(key))) render();
      else if (views && (changed.has("target") || changed.has("source"))) {
        maps.forEach((map, index) => map.setFocus(index === 2 ? inDifference(cursor(0)) : cursor(index), { focus: false, announce: false }));
        announce(...cursor(0), true);
      }
    },
    exportData: () => ({ trace: traces?.[0] ?? null, picture: traces && picture,
      table: match?.values ? { values: match.values, rows: match.differenceRows.map((row) => views[0].rows[row].text), columns: views[0].columns.map((column) => column.text) } : null }),
    close() {
      stop.abort();
      watcher.disconnect();
      document.removeEventListener("retranslate", reload);
    },
  };
}
