/** Translate view: streamed translation and its attention map. */

import { el, setChildren } from "../../dom.js";
import { keepFocus } from "../../focus.js";
import { controls, list, segments } from "../../controls.js";
import { figureOf } from "../../figures.js";
import { drawHeatmap } from "../../heatmap.js";
import { drawRibbons } from "../../ribbons.js";
import { formatNumber } from "../../numbers.js";
import { state, set, colorScaleOf, hasServer } from "../../state.js";
import { viewSettings } from "../../view_settings.js";
import { message } from "../../messages.js";
import { failureNote, showStatus } from "../../status.js";
import { card } from "../../header.js";
import { streamTrace, invalidateTrace } from "../../traces.js";
import { isPicture, pictureOf } from "../../pictures.js";
import { taskTitle, workingText } from "../../task_words.js";
import { hasModel, isReady } from "../../embedded_model.js";
import { completion, headOf, convertPosition, ranked, rowStatistics, attentionView, strongest, tokensOf } from "./attention_view.js";
import { sentencePair } from "./sentence_pair.js";
import { allSteps, columnPanel, rowPanel, runnersUp } from "./side_panel.js";
import { decodingAnimation, isMotionReduced } from "./decoding.js";
import { firstSteps } from "./first_steps.js";
import { weightsTable } from "./weights_table.js";
import { legend } from "./legend.js";
import { loadingProgress } from "./loading.js";
import { bottleneckDiagram } from "./bottleneck.js";
import { quality } from "./quality.js";
import { bareWord, replaceWord, wordSwap } from "./word_swap.js";
import { hasSelfAttention, isWord } from "../../trace.js";

const decoded = new WeakSet(); // traces whose decoding was shown; a new theme or room does not repeat it
const SLOW = 800; // milliseconds after which the words are shown as they come
const MAX_LABELS = 80; // columns of a map that all have a label: 60 words and their punctuation
const RENDER_KEYS = ["unit", "scale", "specials", "layer", "head", "display", "numbers", "transliterate"];

/** @returns {View} */
export function open() {
  const pair = sentencePair({ leave: () => showSelection(), select: (row, column, { hover }) => (hover ? preview(row, column) : choose(row, column)) });
  const [controlBar, notice, picture, side, legendBox, stepsBox] = ["controls", "notice", "picture", "side", "legend", "steps"].map((name) =>
    el("div", { class: `translate-${name}` }));
  let trace = null;
  let view = null;
  let tabs = displayTabs();
  const heading = el("h1", { id: "view-title" }, taskTitle(card()));
  const tools = el("div", { class: "translate-tools" }, tabs);
  const live = el("p", { class: "live", "aria-live": "polite" });
  const openButton = el("button", { type: "button", class: "primary open-arithmetic", on: { click: () => openCell(...selection()) } });
  const mapLayout = el("div", { class: "map-layout" }, el("div", { class: "map-column" }, live, picture, openButton, legendBox), side);
  const node = el("section", { class: "translate", "aria-labelledby": "view-title" },
    el("header", { class: "translate-head" }, heading, tools), controlBar, notice, pair.node, mapLayout, stepsBox);
  let display = null;
  let selectedBy = ""; // last selection: "row", "column", or "" before the first
  let stop = new AbortController();
  let choosers = [];

  const animation = decodingAnimation(node, {
    show: (row) => describe(row, null, false),
    end() {
      showPlaying();
      showSelection();
    },
  });

  /** @returns {Partial<ModelCard>} */
  const modelCard = () => card() ?? {};
  const attends = () => view.attends;
  const selection = () => (selectedBy || state.pinned
    ? [Math.min(state.target, view.rows.length) - 1, Math.min(state.source, view.columns.length) - 1]
    : [0, strongest(view.values[0])[0]]);

  async function load() {
    stop.abort();
    stop = new AbortController();
    animation.end();
    trace = null;
    selectedBy = state.target > 1 || state.source > 1 ? "row" : "";
    const empty = !state.text || !state.model;
    node.classList.toggle("loading", true);
    node.classList.toggle("empty", empty);
    delete node.dataset.display;
    setChildren(heading, taskTitle(card()));
    setChildren(notice, empty ? firstSteps() : el("p", { class: "muted" }, workingText(card())));
    if (isPicture(state.text) && !pictureOf(state.text) && hasServer()) return setChildren(notice, failureNote(new Error(message("picture_missing"))));
    if (empty) return showStatus(message(state.model ? "ready" : "no_model"));
    node.classList.toggle("pictured", isPicture(state.text));
    pair.begin(isPicture(state.text) ? "" : state.text, modelCard().source_language);
    showStatus(workingText(card()));
    const began = performance.now();
    const loading = loadingProgress(notice);
    if (hasModel && !isReady()) loading.show("weights", state.model);
    try {
      trace = await streamTrace((tokens) => {
        loading.stop();
        if (isMotionReduced() || performance.now() - began > SLOW) pair.showTokens(tokens, modelCard().target_language); // a quick answer is decoded below
      }, stop.signal, (stage) => loading.show(stage, state.model));
      node.classList.toggle("loading", false);
      render();
      if (!isMotionReduced() && !selectedBy && !state.pinned && !decoded.has(trace)) play();
      decoded.add(trace);
      showStatus(message("done", trace.model, trace.target.tokens.length, Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return;
      setChildren(notice, failureNote(error));
      showStatus(error);
    } finally {
      loading.stop();
    }
  }

  /** Summary with the largest weight of the map, without special tokens. */
  function summary() {
    if (display?.summary) return [display.summary(), trace.finished ? "" : message("translate_unfinished")].filter(Boolean).join(" ");
    const rows = view.rows.map((row, index) => index).filter((index) => !view.rows[index].special && isWord(view.rows[index].text));
    const best = rows.map((row) => [row, ...strongest(view.values[row].map((value, index) => (view.columns[index].special ? -1 : value)))])
      .sort((a, b) => b[2] - a[2])[0];
    const end = trace.finished ? "" : ` ${message("translate_unfinished")}`;
    if (best && !attends()) return message("translate_from_one", rows.length) + end;
    return best ? message("summary", rows.length, view.rows[best[0]].text, view.columns[best[1]].text, formatNumber(best[2])) + end
      : trace.translation ? live.textContent + end : message("translate_empty");
  }

  function render() {
    if (!trace) return;
    const previous = view;
    view = attentionView(trace, modelCard(), state);
    if (previous && previous.trace === trace && previous.unit !== state.unit) {
      set({ target: convertPosition(state.target, previous.rows, view.rows), source: convertPosition(state.source, previous.columns, view.columns), pinned: 0 }, { replace: true });
    }
    Object.assign(view, { trace, unit: state.unit });
    setChildren(notice, quality(trace, modelCard(), state.text), forcedNotice());
    renderControls();
    pair.show(view, trace, forcedRows());
    const kind = displayKind();
    node.classList.toggle("pictured", view.pictured);
    display = kind === "figure" || attends() ? { figure, map, ribbons, table }[kind]() : el("div");
    node.dataset.display = kind;
    tabs.hidden = !attends();
    setChildren(picture, !attends() && kind !== "figure" && bottleneckDiagram(view, picture.clientWidth - 42), display);
    setChildren(legendBox, attends() && kind !== "figure" && legend(view, { ...state, display: kind, scale: colorScale(), hasNumbers: Boolean(display.querySelector(".digits")) }));
    setChildren(stepsBox, allSteps(trace, view));
    openButton.hidden = kind !== "map" || !attends();
    showSelection();
    animation.refresh();
  }

  /** Controls; rebuilt only when the numbers of layers and heads change. */
  function renderControls() {
    const shape = `${view.layers} ${view.tables.length} ${modelCard().target_language} ${attends()} ${trace.figure}`;
    if (controlBar.dataset.shape === shape) return choosers.forEach((control) => control.sync());
    controlBar.dataset.shape = shape;
    tabs = displayTabs();
    const many = view.tables.length > 1;
    const numbered = (count) => Array.from({ length: count }, (_, index) => [String(index + 1), String(index + 1)]);
    if (many && !state.layer) state.layer = view.layers;
    if (many && !state.head) state.head = "avg";
    const settings = viewSettings({ scale: attends(), numbers: attends(), latin: modelCard().target_language === "hi" });
    choosers = [
      tabs,
      many && list(message("layer"), "layer", numbered(view.layers)),
      many && list(message("head"), "head", [["avg", message("average")], ["max", message("largest")], ...numbered(view.tables.length)]),
      settings,
    ].filter(Boolean);
    tabs.sync(); // in the header, not rebuilt
    setChildren(tools, tabs, playButton(), settings.button, settings.panel);
    return setChildren(controlBar, many && controls(...choosers.filter((control) => control !== tabs && control !== settings)));
  }

  /** The display of the state: by default the figure of the task, or the map. */
  function displayKind() {
    const hasFigure = Boolean(trace && figureOf(trace));
    if (!state.display) return hasFigure ? "figure" : "map";
    return state.display === "figure" && !hasFigure ? "map" : state.display;
  }

  /** The kinds of picture, the figure of the task first. */
  function displayTabs() {
    const kinds = ["map", "ribbons", "table"].map((kind) => [kind, message(kind)]);
    return segments(message("translate_display"), "display", trace && figureOf(trace) ? [["figure", message("task_figure")], ...kinds] : kinds, { current: displayKind });
  }

  const figure = () => figureOf(trace)({ trace, view, card: modelCard(), selected: /** @type {[number, number]} */ (selection()), onFocus: choose, onHover: preview });

  const map = () => drawHeatmap({
    values: view.values, rows: view.rows, columns: view.columns, label: message("heatmap_label"),
    describe: (row, column, value) => message("attends", view.rows[row].text, view.columns[column].text, formatNumber(value)),
    scale: colorScale(), selected: selection(), maxWidth: picture.clientWidth, numbers: state.numbers === "1",
    minCellWidth: view.columns.length > MAX_LABELS ? 12 : 20, // every label, or every second of a longer sentence
    pinned: state.pinned ? state.pinned - 1 : null, statistics: rowStatistics(view, picture.clientWidth),
    onFocus: choose, onHover: preview, onOpen: openCell,
    onPin: (row) => set({ pinned: state.pinned === row + 1 ? 0 : row + 1 }, { replace: true }),
    onLabelClick: choose,
  });

  const ribbons = () => drawRibbons({
    values: view.values, rows: view.rows, columns: view.columns, label: message("translate_ribbons"),
    maxWidth: picture.clientWidth, onFocus: choose, onHover: preview,
    describe: (side, index) => {
      const isRow = side === "row";
      const weights = isRow ? view.values[index] : view.values.map((values) => values[index]);
      const [words, others] = isRow ? [view.rows, view.columns] : [view.columns, view.rows];
      const summaryText = ranked(weights).slice(0, 3).map(([other, value]) => `${others[other].text} ${formatNumber(value)}`).join(", ");
      return message(isRow ? "translate_word_from" : "translate_word_to", words[index].text, summaryText);
    },
  });

  const colorScale = () => colorScaleOf(Math.max(view.rows.length, view.columns.length));

  const table = () => weightsTable(view, (row) => choose(row, null));

  /** Select a row (at its strongest cell), a column or a cell, and store it in the URL. */
  function choose(row, column) {
    if (!view) return;
    animation.end();
    selectedBy = row === null ? "column" : "row";
    const strongestOf = (row) => (row === null || !attends() ? selection()[1] : strongest(view.values[row])[0]);
    set({ target: (row ?? selection()[0]) + 1, source: (column ?? strongestOf(row)) + 1 }, { replace: true });
    showSelection();
    display.setFocus?.(selection(), { focus: false, announce: false });
  }

  /** Show a row or column under the pointer without selecting it; a pinned row stays. */
  function preview(row, column) {
    if (!view || animation.isRunning()) return;
    if (row === null && column === null) showSelection();
    else if (!state.pinned) describe(row, column, false);
    else if (row !== null && column !== null) announce(cellText(row, column), false);
  }

  /** Show the selection of the URL. */
  function showSelection() {
    if (!view || !trace) return;
    const [row, column] = selection();
    if (state.pinned) describe(Math.min(state.pinned, view.rows.length) - 1, null, true);
    else if (selectedBy === "column") describe(null, column, true);
    else describe(row, column, true);
    if (!state.pinned && !selectedBy) announce(summary(), true);
    display.setPinned?.(state.pinned ? state.pinned - 1 : null);
  }

  const cellText = (row, column) => (!attends() ? message(view.tables.length ? "bottleneck" : "no_attention") : [
    message("attends", view.rows[row].text, view.columns[column].text, formatNumber(view.values[row][column])),
    message(view.hidden ? "translate_on_hidden" : "sum", ...(view.hidden ? [view.hidden.text] : []), formatNumber(completion(view).weights[row])),
    view.bits[row] !== null && message("entropy", formatNumber(view.bits[row], 2)),
  ].filter(Boolean).join(" · "));

  function describe(row, column, announced) {
    pair.highlight(row, row === null ? column : null, view, colorScale());
    pair.showRunnersUp(row === null ? null : runnersUp(trace, view.rows[row]), modelCard().target_language);
    if (node.dataset.display === "map") display.setCrosshair?.(...(announced ? [null, null] : [row, column]));
    else if (announced && !selectedBy && !state.pinned) display.setCrosshair?.(null, null);
    else display.setCrosshair?.(row, row === null ? column : null);
    for (const weights of picture.querySelectorAll("tr[data-row]")) weights.classList.toggle("selected", Number(weights.dataset.row) === row);
    setChildren(side, row === null ? columnPanel(view, column, swapOf(column)) : rowPanel(view, trace, row));
    const [selectedRow, selectedColumn] = selection();
    setChildren(openButton, message("translate_open", view.rows[selectedRow].text, view.columns[selectedColumn].text));
    const index = node.dataset.display === "map" && column !== null ? column : strongest(view.values[row] ?? [0])[0];
    announce(row === null ? columnText(column) : cellText(row, index) + (state.pinned === row + 1 ? ` · ${message("translate_pinned")}` : ""), announced);
  }

  /** The form that changes a source word. */
  function swapOf(column) {
    const index = trace.source.tokens[view.columns[column].tokens[0]].word;
    const word = bareWord(trace.source.words[index]);
    if (!hasServer() || !word || view.columns[column].special) return null;
    return wordSwap(word, (replacement) => {
      const text2 = replaceWord(state.text, trace.source.words, index, replacement);
      if (text2 === null) showStatus(message("swap_failed", word));
      else set({ text2, target: 1, source: 1, pinned: 0 });
    }, { lang: modelCard().source_language });
  }

  function columnText(column) {
    if (!attends()) return message(view.tables.length ? "bottleneck" : "no_attention");
    const weights = view.values.map((values) => values[column]);
    const [row, value] = strongest(weights);
    return message("translate_use", view.columns[column].text, view.rows[row].text, formatNumber(value), formatNumber(weights.reduce((a, b) => a + b, 0), 2));
  }

  /** Screen readers announce selections, not hovering. */
  function announce(text, announced) {
    live.setAttribute("aria-live", announced ? "polite" : "off");
    live.textContent = text;
  }

  function openCell(row, column) {
    if (!hasServer()) return;
    const [i, j] = tokensOf(view, trace, row, column);
    const same = i === row + 1 && j === column + 1;
    const position = { target: i, source: j, pinned: 0, ...(same ? {} : { unit: "token" }) };
    if (hasSelfAttention(trace)) set({ view: "head", role: "cross", layer: view.block.layer, head: headOf(view, row, column), ...position });
    else set({ view: "step", ...position });
  }

  /** Number of rows that belong to the forced prefix. */
  function forcedRows() {
    if (!state.prefix) return 0;
    let length = 0;
    const letters = (text) => text.replace(/\s/g, "");
    return view.rows.filter((row) => (length += letters(row.text).length) <= letters(state.prefix).length).length;
  }

  function forcedNotice() {
    if (!state.prefix) return null;
    const followed = trace.translation.replace(/\s/g, "").startsWith(state.prefix.replace(/\s/g, ""));
    return el("p", { class: "forced-notice card" }, message(followed ? "translate_forced" : "translate_prefix_failed", state.prefix), " ",
      el("button", { type: "button", on: { click: () => set({ prefix: "" }) } }, message("translate_remove_prefix")));
  }

  function playButton() {
    return el("button", { type: "button", class: "play-button", "aria-pressed": false, on: { click: play } }, `▶ ${message("translate_play")}`);
  }

  /** Decode again, word by word; or show the finished picture at once. */
  function play() {
    if (!view || animation.isRunning()) return animation.end();
    animation.start(view.rows.length);
    return showPlaying();
  }

  function showPlaying() {
    const [button, playing] = [tools.querySelector(".play-button"), animation.isRunning()];
    button?.setAttribute("aria-pressed", String(playing));
    if (button) button.textContent = playing ? `■ ${message("translate_pause")}` : `▶ ${message("translate_play")}`;
  }

  const reload = () => {
    invalidateTrace();
    load();
  };
  let width = 0;
  const watcher = new ResizeObserver(() => {
    const newWidth = picture.clientWidth;
    if (trace && Math.abs(newWidth - width) > 24) keepFocus(node, render);
    width = newWidth;
  });
  watcher.observe(node);
  queueMicrotask(load);
  document.addEventListener("retranslate", reload);
  document.addEventListener("toggle-play", play);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) load();
      else if (RENDER_KEYS.some((key) => changed.has(key))) render();
      else if (["target", "source", "pinned"].some((key) => changed.has(key))) {
        showSelection();
        if (view) display?.setFocus?.(selection(), { focus: false, announce: false });
      }
    },
    exportData: () => ({ trace, of_task: trace && displayKind() === "figure", picture: trace && picture.querySelector("svg, table"),
      table: trace && attends() && { values: view.values, rows: view.rows.map((row) => row.text), columns: view.columns.map((column) => column.text) } }),
    close() {
      stop.abort();
      animation.end();
      watcher.disconnect();
      pair.close();
      document.removeEventListener("retranslate", reload);
      document.removeEventListener("toggle-play", play);
    },
  };
}
