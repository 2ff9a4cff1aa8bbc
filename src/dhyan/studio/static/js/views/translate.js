/** Translate and align: words as they come, and where each of them looked. */

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
import { headOf, moved, ranked, attentionView, strongest, tokensOf } from "./translate/attention_view.js";
import { sentencePair } from "./translate/sentence_pair.js";
import { everyStep, ofColumn, ofRow } from "./translate/side_panel.js";
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

const PACE = 1100; // milliseconds a step is shown while it plays
const DRAWN = ["unit", "scale", "specials", "layer", "head", "display", "numbers", "transliterate"];

export function open() {
  const pair = sentencePair({ leave: () => look(), look: (row, column, { hover }) => (hover ? glance(row, column) : choose(row, column)) });
  const [bar, notice, picture, side, foot, more] = ["bar", "notice", "picture", "side", "foot", "more"].map((name) =>
    el("div", { class: `translate-${name}` }));
  const tabs = segments(message("translate_picture"), "display", [["map", message("map")], ["ribbons", message("ribbons")], ["table", message("table")]]);
  const live = el("p", { class: "live", "aria-live": "polite" });
  const opener = el("button", { type: "button", class: "main opener", on: { click: () => openCell(...here()) } });
  const board = el("div", { class: "board" }, el("div", { class: "board-main" }, live, picture, opener, foot), side);
  const node = el("section", { class: "translate", "aria-labelledby": "view-title" },
    el("header", { class: "translate-head" }, el("h1", { id: "view-title" }, message("translate_title")), tabs), bar, notice, pair.node, board, more);
  let [trace, seen, shown, playing] = [null, null, null, 0];
  let by = ""; // what was chosen last: a "row", a "column", nothing yet
  let stop = new AbortController();
  let chooser = [];

  const about = () => card() ?? {};
  const here = () => (by || state.pinned
    ? [Math.min(state.target, seen.rows.length) - 1, Math.min(state.source, seen.columns.length) - 1]
    : [0, strongest(seen.values[0])[0]]);

  async function ask() {
    stop.abort();
    stop = new AbortController();
    pause();
    trace = null;
    by = state.target > 1 || state.source > 1 ? "row" : "";
    const empty = !state.text || !state.model;
    node.classList.toggle("waiting", true);
    node.classList.toggle("empty", empty);
    fill(notice, empty ? firstSteps() : el("p", { class: "quiet" }, message("working")));
    if (empty) return;
    pair.begin(state.text, about().source_language);
    showStatus(message("working"));
    const began = performance.now();
    try {
      trace = await streamTrace((heard) => pair.hear(heard, about().target_language), stop.signal);
      node.classList.toggle("waiting", false);
      render();
      showStatus(message("done", trace.model, trace.target.tokens.length, Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(notice);
      showStatus(error);
    }
  }

  /** The strongest link of the whole map, special tokens apart. */
  function summary() {
    const rows = seen.rows.map((one, at) => at).filter((at) => !seen.rows[at].special && /[\p{L}\p{N}]/u.test(seen.rows[at].text));
    const best = rows.map((row) => [row, ...strongest(seen.values[row].map((value, at) => (seen.columns[at].special ? -1 : value)))])
      .sort((a, b) => b[2] - a[2])[0];
    const end = trace.finished ? "" : ` ${message("translate_unfinished")}`;
    if (best && about().score === "bottleneck") return message("translate_from_one", rows.length) + end;
    return best ? message("summary", rows.length, seen.rows[best[0]].text, seen.columns[best[1]].text, formatNumber(best[2])) + end
      : trace.translation ? live.textContent + end : message("translate_silent");
  }

  function render() {
    if (!trace) return;
    const before = seen;
    seen = attentionView(trace, about(), state);
    if (before && before.trace === trace && before.unit !== state.unit) {
      set({ target: moved(state.target, before.rows, seen.rows), source: moved(state.source, before.columns, seen.columns), pinned: 0 }, { quiet: true });
    }
    Object.assign(seen, { trace, unit: state.unit });
    fill(notice, forcedNotice());
    furnish();
    pair.show(seen, trace, forcedRows());
    shown = { map, ribbons, table }[state.display]();
    node.dataset.picture = state.display;
    fill(picture, about().score === "bottleneck" && bottleneckDiagram(seen, picture.clientWidth - 42), shown);
    fill(foot, legend(seen, state));
    fill(more, everyStep(trace, seen));
    opener.hidden = state.display !== "map" || about().score === "bottleneck";
    look();
  }

  /** The controls; made anew only where a model has other layers and heads. */
  function furnish() {
    const shape = `${seen.layers} ${seen.tables.length} ${about().target_language} ${state.display}`;
    if (bar.dataset.shape === shape) return chooser.forEach((one) => one.follow());
    bar.dataset.shape = shape;
    const many = seen.tables.length > 1;
    const numbered = (count) => Array.from({ length: count }, (_, at) => [String(at + 1), String(at + 1)]);
    if (many && !state.layer) state.layer = seen.layers;
    if (many && !state.head) state.head = "avg";
    chooser = [
      tabs,
      segments(message("unit"), "unit", [["word", message("words")], ["token", message("tokens")]]),
      state.display !== "ribbons" && segments(message("scale"), "scale", [["linear", message("linear")], ["sqrt", message("root")]]),
      many && list(message("layer"), "layer", numbered(seen.layers)),
      many && list(message("head"), "head", [["avg", message("average")], ["max", message("largest")], ...numbered(seen.tables.length)]),
      toggle(message("specials"), "specials"), state.display === "map" && toggle(message("translate_numbers"), "numbers"),
      about().target_language === "hi" && toggle(message("translate_latin"), "transliterate"),
    ].filter(Boolean);
    tabs.follow(); // they stand in the head and are not made anew
    return fill(bar, controls(...chooser.filter((one) => one !== tabs), player()));
  }

  const map = () => draw({
    values: seen.values, rows: seen.rows, columns: seen.columns, label: message("heatLabel"),
    says: (row, column, value) => message("attends", seen.rows[row].text, seen.columns[column].text, formatNumber(value)),
    scale: state.scale, at: here(), widest: picture.clientWidth, numbers: state.numbers === "1",
    least: seen.columns.length > 60 ? 6 : seen.columns.length > 30 ? 14 : 24,
    pinned: state.pinned ? state.pinned - 1 : null,
    feet: { heads: ["Σ", message("translate_bits")],
      rows: seen.sums.map((sum, row) => [formatNumber(sum), seen.bits[row] === null ? "–" : formatNumber(seen.bits[row], 2)]) },
    focus: choose, hover: glance, open: openCell,
    pin: (row) => set({ pinned: state.pinned === row + 1 ? 0 : row + 1 }, { quiet: true }),
    label_click: choose,
  });

  const ribbons = () => drawRibbons({
    values: seen.values, rows: seen.rows, columns: seen.columns, label: message("translate_ribbons"),
    widest: picture.clientWidth, focus: choose, hover: glance,
    says: (row, column) => {
      const line = row !== null ? seen.values[row] : seen.values.map((values) => values[column]);
      const others = row !== null ? seen.columns : seen.rows;
      const told = ranked(line).slice(0, 3).map(([at, value]) => `${others[at].text} ${formatNumber(value)}`).join(", ");
      return row !== null ? message("translate_word_from", seen.rows[row].text, told) : message("translate_word_to", seen.columns[column].text, told);
    },
  });

  const table = () => asTable(seen, (row) => choose(row, null));

  /** A row, a column or both are chosen: the address has them from now on. */
  function choose(row, column) {
    if (!seen) return;
    by = row === null ? "column" : "row";
    set({ target: (row ?? here()[0]) + 1, source: (column ?? here()[1]) + 1 }, { quiet: true });
    look();
    shown.move?.(here(), { focus: false, tell: false });
  }

  /** Only looked at: nothing is chosen, and a row that is held stays. */
  function glance(row, column) {
    if (!seen) return;
    if (row === null && column === null) look();
    else if (!state.pinned) tell(row, column, false);
    else if (row !== null && column !== null) announce(cellWords(row, column), false);
  }

  /** What the address says is looked at. */
  function look() {
    if (!seen || !trace) return;
    const [row, column] = here();
    if (state.pinned) tell(Math.min(state.pinned, seen.rows.length) - 1, null, true);
    else if (by === "column") tell(null, column, true);
    else tell(row, column, true);
    if (!state.pinned && !by) announce(summary(), true);
    shown.hold?.(state.pinned ? state.pinned - 1 : null);
  }

  const cellWords = (row, column) => [
    message("attends", seen.rows[row].text, seen.columns[column].text, formatNumber(seen.values[row][column])),
    message("sum", formatNumber(seen.sums[row])), seen.bits[row] !== null && message("entropy", formatNumber(seen.bits[row], 2)),
  ].filter(Boolean).join(" · ");

  function tell(row, column, aloud) {
    pair.look(row, row === null ? column : null, seen, state.scale);
    if (state.display === "map") shown.point(...(aloud ? [null, null] : [row, column]));
    else if (aloud && !by && !state.pinned) shown.point?.(null, null);
    else shown.point?.(row, row === null ? column : null);
    for (const line of picture.querySelectorAll("tr[data-row]")) line.classList.toggle("here", Number(line.dataset.row) === row);
    fill(side, row === null ? ofColumn(seen, column) : ofRow(seen, trace, row));
    const [asked, given] = here();
    fill(opener, message("translate_open", seen.rows[asked].text, seen.columns[given].text));
    const at = state.display === "map" && column !== null ? column : strongest(seen.values[row] ?? [0])[0];
    announce(row === null ? columnWords(column) : cellWords(row, at) + (state.pinned === row + 1 ? ` · ${message("translate_held")}` : ""), aloud);
  }

  function columnWords(column) {
    const line = seen.values.map((values) => values[column]);
    const [row, value] = strongest(line);
    return message("translate_use", seen.columns[column].text, seen.rows[row].text, formatNumber(value), formatNumber(line.reduce((a, b) => a + b, 0), 2));
  }

  /** Readers hear what is chosen, not what the pointer passes. */
  function announce(words, aloud) {
    live.setAttribute("aria-live", aloud ? "polite" : "off");
    live.textContent = words;
  }

  function openCell(row, column) {
    const [i, j] = tokensOf(seen, trace, row, column);
    const same = i === row + 1 && j === column + 1;
    const place = { target: i, source: j, pinned: 0, ...(same ? {} : { unit: "token" }) };
    if (about().score === "heads") set({ view: "qkv", role: "cross", layer: seen.block.layer, head: headOf(seen, row, column), ...place });
    else set({ view: "step", ...place });
  }

  /** How many rows are the reader's own choice. */
  function forcedRows() {
    if (!state.prefix) return 0;
    let length = 0;
    const letters = (text) => text.replace(/\s/g, "");
    return seen.rows.filter((one) => (length += letters(one.text).length) <= letters(state.prefix).length).length;
  }

  function forcedNotice() {
    if (!state.prefix) return null;
    const kept = trace.translation.replace(/\s/g, "").startsWith(state.prefix.replace(/\s/g, ""));
    return el("p", { class: "forced-notice card" }, message(kept ? "translate_forced" : "translate_misread", state.prefix), " ",
      el("button", { type: "button", on: { click: () => set({ prefix: "" }) } }, message("translate_back")));
  }

  function player() {
    return el("button", { type: "button", class: "player", "aria-pressed": false, on: { click: play } }, `▶ ${message("translate_play")}`);
  }

  function play() {
    if (playing) return pause();
    if (!seen) return null;
    playing = setInterval(() => choose((here()[0] + 1) % seen.rows.length, null), PACE);
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

  const again = () => {
    forgetTrace();
    ask();
  };
  let width = 0;
  const watcher = new ResizeObserver(() => {
    const now = picture.clientWidth;
    if (trace && Math.abs(now - width) > 24) render();
    width = now;
  });
  watcher.observe(node);
  queueMicrotask(ask);
  document.addEventListener("again", again);
  document.addEventListener("play", play);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) ask();
      else if (DRAWN.some((key) => changed.has(key))) render();
      else if (["target", "source", "pinned"].some((key) => changed.has(key))) {
        look();
        if (seen) shown?.move?.(here(), { focus: false, tell: false });
      }
    },
    taken: () => ({ trace, picture: picture.querySelector("svg"),
      table: seen && { values: seen.values, rows: seen.rows.map((one) => one.text), columns: seen.columns.map((one) => one.text) } }),
    close() {
      stop.abort();
      pause();
      watcher.disconnect();
      pair.close();
      document.removeEventListener("again", again);
      document.removeEventListener("play", play);
    },
  };
}

function asTable(seen, choose) {
  const best = seen.values.map((line) => strongest(line)[0]);
  return el("div", { class: "weights", role: "region", tabindex: 0, "aria-label": message("translate_table") },
    el("table", { class: "numbers" },
      el("caption", { class: "unseen" }, message("heatLabel")),
      el("thead", {}, el("tr", {}, el("td"),
        ...seen.columns.map((one) => el("th", { scope: "col", lang: one.lang }, one.text)),
        el("th", { scope: "col", class: "foot-column" }, "Σ"), el("th", { scope: "col" }, message("translate_bits")))),
      el("tbody", {}, ...seen.values.map((line, row) => el("tr", { "data-row": row, on: { click: () => choose(row) } },
        el("th", { scope: "row", lang: seen.rows[row].lang }, seen.rows[row].text),
        ...line.map((value, at) => el("td", { class: at === best[row] ? "best" : null }, formatNumber(value))),
        el("td", { class: "foot-column" }, formatNumber(seen.sums[row])),
        el("td", {}, seen.bits[row] === null ? "–" : formatNumber(seen.bits[row], 2)))))));
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
  el("ul", { class: "tries" }, ...TRIES.map(([words, why]) => el("li", {},
    el("button", { type: "button", on: { click: () => set({ text: words, target: 1, source: 1, prefix: "" }) } },
      el("span", { lang: "en" }, words), el("span", { class: "quiet" }, message(why)))))));
