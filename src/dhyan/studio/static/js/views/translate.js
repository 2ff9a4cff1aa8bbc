/** Translate view: streamed translation and its attention map. */

import { el, fill } from "../dom.js";
import { controls, list, segments, toggle } from "../controls.js";
import { draw } from "../heatmap.js";
import { drawRibbons } from "../ribbons.js";
import { formatNumber } from "../numbers.js";
import { state, set } from "../state.js";
import { message } from "../messages.js";
import { showStatus } from "../status.js";
import { card } from "../header.js";
import { streamTrace, forgetTrace } from "../traces.js";
import { headOf, convertPosition, ranked, attentionView, strongest, tokensOf } from "./translate/attention_view.js";
import { sentencePair } from "./translate/sentence_pair.js";
import { everyStep, columnPanel, rowPanel } from "./translate/side_panel.js";
import { legend } from "./translate/legend.js";
import { bottleneckDiagram } from "./translate/bottleneck.js";
import "./translate/messages.js";

export const lesson = {
  title: ["Attention map", "कौन किसे देखता है"],
  text: ["Each row of the map is a word of the translation, in the order it was said. The stronger a cell's colour, the more of that source word went into it; a row sums to one.\nHindi puts the verb last, so the strong cells leave the diagonal. The thin line under each Hindi word is the probability it was said with; choose another of the five likeliest, and the model goes on from there.",
    "मानचित्र की हर पंक्ति अनुवाद का एक शब्द है, जिस क्रम में वह कहा गया। ख़ाने का रंग जितना गाढ़ा, उस स्रोत शब्द का उतना बड़ा भाग उसमें गया; पंक्ति का योग एक है।\nहिंदी में क्रिया अंत में आती है, इसलिए गाढ़े ख़ाने विकर्ण से हट जाते हैं। हर हिंदी शब्द के नीचे की पतली रेखा उसके कहे जाने की प्रायिकता है; पाँच सबसे संभावित शब्दों में से कोई दूसरा चुनिए, और मॉडल वहीं से आगे बढ़ेगा।"],
  ask: ["Which source word does the last Hindi word before the full stop look at?", "पूर्ण विराम से पहले का अंतिम हिंदी शब्द किस स्रोत शब्द को देखता है?"],
  answer: ["Usually the English verb, or its auxiliary: Hindi says at the end what English said near the beginning. Walk to that row and see.",
    "प्रायः अंग्रेज़ी क्रिया या उसकी सहायक क्रिया को: अंग्रेज़ी ने जो आरंभ में कहा, हिंदी अंत में कहती है। उस पंक्ति पर जाकर देखिए।"],
};

const PACE = 1100; // milliseconds per step while playing
const RENDER_KEYS = ["unit", "scale", "specials", "layer", "head", "display", "numbers", "transliterate"];

export function open() {
  const pair = sentencePair({ leave: () => showSelection(), select: (row, column, { hover }) => (hover ? preview(row, column) : choose(row, column)) });
  const [bar, notice, picture, side, foot, more] = ["bar", "notice", "picture", "side", "foot", "more"].map((name) =>
    el("div", { class: `translate-${name}` }));
  const tabs = segments(message("translate_picture"), "display", [["map", message("map")], ["ribbons", message("ribbons")], ["table", message("table")]]);
  const live = el("p", { class: "live", "aria-live": "polite" });
  const opener = el("button", { type: "button", class: "main opener", on: { click: () => openCell(...selection()) } });
  const board = el("div", { class: "board" }, el("div", { class: "board-main" }, live, picture, opener, foot), side);
  const node = el("section", { class: "translate", "aria-labelledby": "view-title" },
    el("header", { class: "translate-head" }, el("h1", { id: "view-title" }, message("translate_title")), tabs), bar, notice, pair.node, board, more);
  let [trace, view, display, playing] = [null, null, null, 0];
  let selectedBy = ""; // last selection: "row", "column", or "" before the first
  let stop = new AbortController();
  let choosers = [];

  const modelCard = () => card() ?? {};
  const selection = () => (selectedBy || state.pinned
    ? [Math.min(state.target, view.rows.length) - 1, Math.min(state.source, view.columns.length) - 1]
    : [0, strongest(view.values[0])[0]]);

  async function load() {
    stop.abort();
    stop = new AbortController();
    pause();
    trace = null;
    selectedBy = state.target > 1 || state.source > 1 ? "row" : "";
    const empty = !state.text || !state.model;
    node.classList.toggle("waiting", true);
    node.classList.toggle("empty", empty);
    fill(notice, empty ? firstSteps() : el("p", { class: "quiet" }, message("working")));
    if (empty) return;
    pair.begin(state.text, modelCard().source_language);
    showStatus(message("working"));
    const began = performance.now();
    try {
      trace = await streamTrace((tokens) => pair.showTokens(tokens, modelCard().target_language), stop.signal);
      node.classList.toggle("waiting", false);
      render();
      showStatus(message("done", trace.model, trace.target.tokens.length, Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(notice);
      showStatus(error);
    }
  }

  /** Summary with the largest weight of the map, without special tokens. */
  function summary() {
    const rows = view.rows.map((row, index) => index).filter((index) => !view.rows[index].special && /[\p{L}\p{N}]/u.test(view.rows[index].text));
    const best = rows.map((row) => [row, ...strongest(view.values[row].map((value, index) => (view.columns[index].special ? -1 : value)))])
      .sort((a, b) => b[2] - a[2])[0];
    const end = trace.finished ? "" : ` ${message("translate_unfinished")}`;
    if (best && modelCard().score === "bottleneck") return message("translate_from_one", rows.length) + end;
    return best ? message("summary", rows.length, view.rows[best[0]].text, view.columns[best[1]].text, formatNumber(best[2])) + end
      : trace.translation ? live.textContent + end : message("translate_silent");
  }

  function render() {
    if (!trace) return;
    const previous = view;
    view = attentionView(trace, modelCard(), state);
    if (previous && previous.trace === trace && previous.unit !== state.unit) {
      set({ target: convertPosition(state.target, previous.rows, view.rows), source: convertPosition(state.source, previous.columns, view.columns), pinned: 0 }, { quiet: true });
    }
    Object.assign(view, { trace, unit: state.unit });
    fill(notice, forcedNotice());
    renderControls();
    pair.show(view, trace, forcedRows());
    display = { map, ribbons, table }[state.display]();
    node.dataset.picture = state.display;
    fill(picture, modelCard().score === "bottleneck" && bottleneckDiagram(view, picture.clientWidth - 42), display);
    fill(foot, legend(view, state));
    fill(more, everyStep(trace, view));
    opener.hidden = state.display !== "map" || modelCard().score === "bottleneck";
    showSelection();
  }

  /** Controls; rebuilt only when the numbers of layers and heads change. */
  function renderControls() {
    const shape = `${view.layers} ${view.tables.length} ${modelCard().target_language} ${state.display}`;
    if (bar.dataset.shape === shape) return choosers.forEach((control) => control.sync());
    bar.dataset.shape = shape;
    const many = view.tables.length > 1;
    const numbered = (count) => Array.from({ length: count }, (_, index) => [String(index + 1), String(index + 1)]);
    if (many && !state.layer) state.layer = view.layers;
    if (many && !state.head) state.head = "avg";
    choosers = [
      tabs,
      segments(message("unit"), "unit", [["word", message("words")], ["token", message("tokens")]]),
      state.display !== "ribbons" && segments(message("scale"), "scale", [["linear", message("linear")], ["sqrt", message("root")]]),
      many && list(message("layer"), "layer", numbered(view.layers)),
      many && list(message("head"), "head", [["avg", message("average")], ["max", message("largest")], ...numbered(view.tables.length)]),
      toggle(message("specials"), "specials"), state.display === "map" && toggle(message("translate_numbers"), "numbers"),
      modelCard().target_language === "hi" && toggle(message("translate_latin"), "transliterate"),
    ].filter(Boolean);
    tabs.sync(); // in the header, not rebuilt
    return fill(bar, controls(...choosers.filter((control) => control !== tabs), player()));
  }

  const map = () => draw({
    values: view.values, rows: view.rows, columns: view.columns, label: message("heatLabel"),
    says: (row, column, value) => message("attends", view.rows[row].text, view.columns[column].text, formatNumber(value)),
    scale: state.scale, at: selection(), widest: picture.clientWidth, numbers: state.numbers === "1",
    least: view.columns.length > 60 ? 6 : view.columns.length > 30 ? 14 : 24,
    pinned: state.pinned ? state.pinned - 1 : null,
    feet: { heads: ["Σ", message("translate_bits")],
      rows: view.sums.map((sum, row) => [formatNumber(sum), view.bits[row] === null ? "–" : formatNumber(view.bits[row], 2)]) },
    focus: choose, hover: preview, open: openCell,
    pin: (row) => set({ pinned: state.pinned === row + 1 ? 0 : row + 1 }, { quiet: true }),
    label_click: choose,
  });

  const ribbons = () => drawRibbons({
    values: view.values, rows: view.rows, columns: view.columns, label: message("translate_ribbons"),
    widest: picture.clientWidth, focus: choose, hover: preview,
    says: (row, column) => {
      const weights = row !== null ? view.values[row] : view.values.map((values) => values[column]);
      const others = row !== null ? view.columns : view.rows;
      const summaryText = ranked(weights).slice(0, 3).map(([index, value]) => `${others[index].text} ${formatNumber(value)}`).join(", ");
      return row !== null ? message("translate_word_from", view.rows[row].text, summaryText) : message("translate_word_to", view.columns[column].text, summaryText);
    },
  });

  const table = () => asTable(view, (row) => choose(row, null));

  /** Select a row, a column or a cell, and store it in the URL. */
  function choose(row, column) {
    if (!view) return;
    selectedBy = row === null ? "column" : "row";
    set({ target: (row ?? selection()[0]) + 1, source: (column ?? selection()[1]) + 1 }, { quiet: true });
    showSelection();
    display.move?.(selection(), { focus: false, announce: false });
  }

  /** Show a row or column under the pointer without selecting it; a pinned row stays. */
  function preview(row, column) {
    if (!view) return;
    if (row === null && column === null) showSelection();
    else if (!state.pinned) describe(row, column, false);
    else if (row !== null && column !== null) announce(cellWords(row, column), false);
  }

  /** Show the selection of the URL. */
  function showSelection() {
    if (!view || !trace) return;
    const [row, column] = selection();
    if (state.pinned) describe(Math.min(state.pinned, view.rows.length) - 1, null, true);
    else if (selectedBy === "column") describe(null, column, true);
    else describe(row, column, true);
    if (!state.pinned && !selectedBy) announce(summary(), true);
    display.pin?.(state.pinned ? state.pinned - 1 : null);
  }

  const cellWords = (row, column) => [
    message("attends", view.rows[row].text, view.columns[column].text, formatNumber(view.values[row][column])),
    message("sum", formatNumber(view.sums[row])), view.bits[row] !== null && message("entropy", formatNumber(view.bits[row], 2)),
  ].filter(Boolean).join(" · ");

  function describe(row, column, announced) {
    pair.highlight(row, row === null ? column : null, view, state.scale);
    if (state.display === "map") display.point(...(announced ? [null, null] : [row, column]));
    else if (announced && !selectedBy && !state.pinned) display.point?.(null, null);
    else display.point?.(row, row === null ? column : null);
    for (const weights of picture.querySelectorAll("tr[data-row]")) weights.classList.toggle("here", Number(weights.dataset.row) === row);
    fill(side, row === null ? columnPanel(view, column) : rowPanel(view, trace, row));
    const [selectedRow, selectedColumn] = selection();
    fill(opener, message("translate_open", view.rows[selectedRow].text, view.columns[selectedColumn].text));
    const index = state.display === "map" && column !== null ? column : strongest(view.values[row] ?? [0])[0];
    announce(row === null ? columnWords(column) : cellWords(row, index) + (state.pinned === row + 1 ? ` · ${message("translate_held")}` : ""), announced);
  }

  function columnWords(column) {
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
    const [i, j] = tokensOf(view, trace, row, column);
    const same = i === row + 1 && j === column + 1;
    const position = { target: i, source: j, pinned: 0, ...(same ? {} : { unit: "token" }) };
    if (modelCard().score === "heads") set({ view: "qkv", role: "cross", layer: view.block.layer, head: headOf(view, row, column), ...position });
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
    return el("p", { class: "forced-notice card" }, message(followed ? "translate_forced" : "translate_misread", state.prefix), " ",
      el("button", { type: "button", on: { click: () => set({ prefix: "" }) } }, message("translate_back")));
  }

  function player() {
    return el("button", { type: "button", class: "player", "aria-pressed": false, on: { click: play } }, `▶ ${message("translate_play")}`);
  }

  function play() {
    if (playing) return pause();
    if (!view) return null;
    playing = setInterval(() => choose((selection()[0] + 1) % view.rows.length, null), PACE);
    return showPlaying();
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    showPlaying();
  }

  function showPlaying() {
    const button = bar.querySelector(".player");
    button?.setAttribute("aria-pressed", String(Boolean(playing)));
    if (button) button.textContent = playing ? `❚❚ ${message("translate_pause")}` : `▶ ${message("translate_play")}`;
  }

  const reload = () => {
    forgetTrace();
    load();
  };
  let width = 0;
  const watcher = new ResizeObserver(() => {
    const newWidth = picture.clientWidth;
    if (trace && Math.abs(newWidth - width) > 24) render();
    width = newWidth;
  });
  watcher.observe(node);
  queueMicrotask(load);
  document.addEventListener("again", reload);
  document.addEventListener("play", play);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) load();
      else if (RENDER_KEYS.some((key) => changed.has(key))) render();
      else if (["target", "source", "pinned"].some((key) => changed.has(key))) {
        showSelection();
        if (view) display?.move?.(selection(), { focus: false, announce: false });
      }
    },
    exportData: () => ({ trace, picture: picture.querySelector("svg"),
      table: view && { values: view.values, rows: view.rows.map((row) => row.text), columns: view.columns.map((column) => column.text) } }),
    close() {
      stop.abort();
      pause();
      watcher.disconnect();
      pair.close();
      document.removeEventListener("again", reload);
      document.removeEventListener("play", play);
    },
  };
}

function asTable(view, choose) {
  const best = view.values.map((weights) => strongest(weights)[0]);
  return el("div", { class: "weights", role: "region", tabindex: 0, "aria-label": message("translate_table") },
    el("table", { class: "numbers" },
      el("caption", { class: "unseen" }, message("heatLabel")),
      el("thead", {}, el("tr", {}, el("td"),
        ...view.columns.map((column) => el("th", { scope: "col", lang: column.lang }, column.text)),
        el("th", { scope: "col", class: "foot-column" }, "Σ"), el("th", { scope: "col" }, message("translate_bits")))),
      el("tbody", {}, ...view.values.map((weights, row) => el("tr", { "data-row": row, on: { click: () => choose(row) } },
        el("th", { scope: "row", lang: view.rows[row].lang }, view.rows[row].text),
        ...weights.map((value, index) => el("td", { class: index === best[row] ? "best" : null }, formatNumber(value))),
        el("td", { class: "foot-column" }, formatNumber(view.sums[row])),
        el("td", {}, view.bits[row] === null ? "–" : formatNumber(view.bits[row], 2)))))));
}

const TRIES = [
  ["Turn off the lights.", "translate_try_order"],
  ["The man saw the astronomer with a telescope.", "translate_try_with"],
  ["Apple launched a new phone while I was eating an orange.", "translate_try_long"],
];

const firstSteps = () => el("div", { class: "start card" },
  el("h2", {}, message("translate_first")),
  el("p", {}, message("translate_first_text")),
  el("p", { class: "quiet" }, message("translate_first_try")),
  el("ul", { class: "tries" }, ...TRIES.map(([text, why]) => el("li", {},
    el("button", { type: "button", on: { click: () => set({ text, target: 1, source: 1, prefix: "" }) } },
      el("span", { lang: "en" }, text), el("span", { class: "quiet" }, message(why)))))));
