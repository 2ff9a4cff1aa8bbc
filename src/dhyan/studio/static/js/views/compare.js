/** Two models, or two sentences, side by side: their maps with one cursor, and the difference. */

import { el, fill } from "../dom.js";
import { controls, list, segments, toggle } from "../controls.js";
import { draw } from "../heatmap.js";
import { formatNumber } from "../numbers.js";
import { state, set } from "../state.js";
import { message } from "../messages.js";
import { showStatus } from "../status.js";
import { card, models } from "../header.js";
import { forgetTrace, fetchTrace } from "../traces.js";
import "./translate/messages.js";
import { attentionView, strongest } from "./translate/attention_view.js";
import "./compare/messages.js";
import { matchTokens } from "./compare/match_tokens.js";
import { bySource, difference } from "./compare/difference.js";

export const lesson = {
  title: ["Compare two models", "वही शब्द, दूसरी नज़र"],
  text: ["Two models may produce the same translation with different attention. Point at a cell in one map: the other shows the same position.\nThe difference is B − A, cell by cell; every row of it sums to zero, because both rows sum to one.",
    "दो मॉडल एक ही वाक्य कह सकते हैं और कहते समय अलग-अलग जगह देख सकते हैं। एक मानचित्र के ख़ाने पर संकेत कीजिए: दूसरा वही जगह दिखाता है।\nअंतर B − A है, ख़ाना-दर-ख़ाना; उसकी हर पंक्ति का योग शून्य है, क्योंकि दोनों पंक्तियों का योग एक है।"],
  ask: ["Additive attention attends before the new decoder state is computed, Luong's after it. Which of the two should attend more sharply to the word being translated?",
    "योगात्मक अवधान नई अवस्था बनने से पहले देखता है, लुओंग का उसके बाद। कहे जा रहे शब्द को दोनों में से कौन अधिक पैनी नज़र से देखेगा?"],
  answer: ["There is no law about it: compare the entropies at the right of the rows, and try several sentences. A lower entropy means sharper attention.",
    "इसका कोई नियम नहीं: पंक्तियों के दाईं ओर की एंट्रॉपी की तुलना कीजिए और कई वाक्य आज़माइए। कम संख्या का अर्थ है पैनी नज़र।"],
};

const ASKED = ["text", "model", "text2", "model2", "beam"];
const DRAWN = ["unit", "scale", "specials", "layer", "head", "numbers"];

/** The model of B: the one named, the same for another sentence, or another of the shelf. */
function second() {
  if (card(state.model2)) return state.model2;
  if (state.text2) return state.model;
  return models().find((one) => one.name !== state.model)?.name ?? state.model;
}

export function open() {
  const sides = ["a", "b"].map((name) => side(name));
  const live = el("p", { class: "live", "aria-live": "polite" });
  const [bar, notice, below] = ["bar", "notice", "below"].map((name) => el("div", { class: `compare-${name}` }));
  const swap = el("button", { type: "button", class: "compare-swap", on: { click: exchange } }, `⇄ ${message("compare_swap")}`);
  const pair = el("div", { class: "compare-pair" }, sides[0].node, sides[1].node);
  const node = el("section", { class: "compare", "aria-labelledby": "view-title" },
    el("header", { class: "compare-head" }, el("h1", { id: "view-title" }, message("compare_title")), swap),
    bar, notice, pair, live, below);
  let [traces, seen, match, maps, chooser] = [null, null, null, [], []];
  let stop = new AbortController();

  /** One of the two: what it is asked, what it said, and its map. */
  function side(name) {
    const [said, picture, head] = [el("p", { class: "compare-said" }), el("div", { class: "compare-picture" }), el("div", { class: "compare-ask" })];
    return { name, said, picture, head, node: el("section", { class: "card compare-side", "aria-label": message(`compare_${name}`) }, head, said, picture) };
  }

  function heads() {
    fill(sides[0].head, el("span", { class: "compare-letter" }, "A"), el("b", {}, state.model),
      el("span", { class: "quiet" }, message("compare_header")));
    const sentence = el("input", { type: "text", id: "second-sentence", maxlength: 500, lang: card(second())?.source_language,
      placeholder: message("compare_same"), "aria-label": message("compare_second"),
      on: { change: (event) => set({ text2: event.target.value.normalize("NFC").trim() }) } });
    sentence.value = state.text2;
    const select = el("select", { id: "second-model", "aria-label": `B: ${message("model")}`, on: { change: (event) => set({ model2: event.target.value }) } },
      ...models().map((one) => el("option", { value: one.name, selected: one.name === second() }, one.name)));
    fill(sides[1].head, el("span", { class: "compare-letter" }, "B"), select, sentence,
      models().length < 2 && !state.text2 && el("span", { class: "quiet" }, message("compare_only")));
  }

  function exchange() {
    const patch = { model: second(), model2: state.model };
    set(state.text2 ? { ...patch, text: state.text2, text2: state.text } : patch);
  }

  async function ask() {
    stop.abort();
    stop = new AbortController();
    traces = null;
    heads();
    const empty = !state.text || !state.model;
    node.classList.toggle("empty", empty);
    node.classList.toggle("waiting", true);
    fill(notice, empty ? start() : el("p", { class: "quiet" }, message("working")));
    if (empty) return;
    showStatus(message("working"));
    const began = performance.now();
    try {
      traces = await Promise.all([fetchTrace({ prefix: "" }, stop.signal),
        fetchTrace({ text: state.text2 || state.text, model: second(), prefix: "" }, stop.signal)]);
      node.classList.toggle("waiting", false);
      fill(notice);
      render();
      showStatus(message("done", `${state.model}, ${second()}`, traces.map((one) => one.target.tokens.length).join(" + "), Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(notice);
      showStatus(error);
    }
  }

  function render() {
    if (!traces) return;
    const names = [state.model, second()];
    seen = traces.map((trace, at) => attentionView(trace, card(names[at]) ?? {}, { ...state, tr: "0" }));
    match = matchTokens(...seen);
    furnish();
    maps = seen.map((one, at) => {
      fill(sides[at].said, traces[at].translation || message("translate_silent"));
      sides[at].said.lang = traces[at].translation ? card(names[at])?.target_language ?? "hi" : state.language;
      const map = draw({ values: one.values, rows: one.rows, columns: one.columns, scale: state.scale, numbers: state.numbers === "1",
        label: message("compare_map", at ? "B" : "A"), widest: sides[at].picture.clientWidth, least: least(one),
        says: (row, column, value) => message("attends", one.rows[row].text, one.columns[column].text, formatNumber(value)),
        feet: { heads: [message("translate_bits")], rows: one.bits.map((bits) => [bits === null ? "–" : formatNumber(bits, 2)]) },
        at: place(at), hover: (row, column) => glance(at, row, column), focus: (row, column) => choose(at, row, column) });
      fill(sides[at].picture, map);
      return map;
    });
    const delta = difference(...seen, match, { widest: below.clientWidth, least: signedLeast(seen[0]), numbers: state.numbers === "1", at: place(0),
      hover: (row, column) => glance(0, row, column, true), focus: (row, column) => choose(0, row, column, true) });
    if (delta.map) maps.push(delta.map);
    const summary = seen.find((one) => ["avg", "max"].includes(one.which))?.which;
    fill(below, delta.node, summary && el("p", { class: "quiet" }, message(`translate_summary_${summary}`)), match.read && !match.told && bySource(...seen));
    announce(...place(0), true);
  }

  const least = (one) => (one.columns.length > 60 ? 6 : sides[0].picture.clientWidth < 400 ? 24 : 18);

  const signedLeast = (one) => (least(one) === 24 && state.numbers === "1" ? 30 : least(one)); // a minus needs its room

  /** Where the cursor stands in A, or in B its partner. */
  function place(at) {
    const chosen = state.target > 1 || state.source > 1;
    const [row, column] = [Math.min(state.target, seen[0].rows.length) - 1,
      chosen ? Math.min(state.source, seen[0].columns.length) - 1 : strongest(seen[0].values[0])[0]];
    return at ? [match.rows[0][row] ?? 0, match.columns[0][column] ?? 0] : [row, column];
  }

  /** A place in one of the two, as A has it and as B does; null where there is no partner. */
  function places(at, row, column) {
    const other = [row === null ? null : match.rows[at][row], column === null ? null : match.columns[at][column]];
    return at ? [other, [row, column]] : [[row, column], other];
  }

  function glance(at, row, column) {
    const [a, b] = places(at, row, column);
    maps[0].point(...a);
    maps[1].point(...b);
    maps[2]?.point(...a);
    if (row === null && column === null) announce(...place(0), false);
    else if (row !== null && column !== null) announce(...a, false, b);
  }

  function choose(at, row, column, fromDelta = false) {
    const [a, b] = places(at, row, column);
    const still = { focus: false, tell: false };
    if ((at || fromDelta) && a[0] !== null && a[1] !== null) maps[0].move(a, still);
    if ((!at || fromDelta) && b[0] !== null && b[1] !== null) maps[1].move(b, still);
    if (!fromDelta && a[0] !== null && a[1] !== null) maps[2]?.move(a, still);
    if (a[0] !== null && a[1] !== null) set({ target: a[0] + 1, source: a[1] + 1 }, { quiet: true });
    announce(...a, true, b);
  }

  /** Both numbers of a place, and their difference where they have one. */
  function announce(row, column, aloud, partner = places(0, row, column)[1]) {
    const words = (at, [own, given]) => (own === null || given === null ? `${at ? "B" : "A"}: –`
      : `${at ? "B" : "A"}: ${message("attends", seen[at].rows[own].text, seen[at].columns[given].text, formatNumber(seen[at].values[own][given]))}`);
    const delta = match.values && row !== null && column !== null ? ` · Δ ${formatNumber(match.values[row][column])}` : "";
    live.setAttribute("aria-live", aloud ? "polite" : "off");
    live.textContent = `${words(0, [row, column])} · ${words(1, partner)}${delta}`;
  }

  function furnish() {
    const [layers, count] = [Math.max(...seen.map((one) => one.layers)), Math.max(...seen.map((one) => one.tables.length))];
    if (bar.dataset.shape === `${layers} ${count}`) return chooser.forEach((one) => one.follow());
    bar.dataset.shape = `${layers} ${count}`;
    const numbered = (most) => Array.from({ length: most }, (_, at) => [String(at + 1), String(at + 1)]);
    if (count > 1 && !state.layer) state.layer = layers;
    if (count > 1 && !state.head) state.head = "avg";
    chooser = [
      segments(message("unit"), "unit", [["word", message("words")], ["token", message("tokens")]]),
      segments(message("scale"), "scale", [["linear", message("linear")], ["sqrt", message("root")]]),
      count > 1 && list(message("layer"), "layer", numbered(layers)),
      count > 1 && list(message("head"), "head", [["avg", message("average")], ["max", message("largest")], ...numbered(count)]),
      toggle(message("specials"), "specials"), toggle(message("translate_numbers"), "numbers"),
    ].filter(Boolean);
    return fill(bar, controls(...chooser));
  }

  const again = () => {
    forgetTrace();
    ask();
  };
  let width = 0;
  const watcher = new ResizeObserver(() => {
    if (traces && Math.abs(node.clientWidth - width) > 24) render();
    width = node.clientWidth;
  });
  watcher.observe(node);
  queueMicrotask(ask);
  document.addEventListener("again", again);
  return {
    node,
    update(changed) {
      if (ASKED.some((key) => changed.has(key))) ask();
      else if (DRAWN.some((key) => changed.has(key))) render();
      else if (seen && (changed.has("target") || changed.has("source"))) {
        maps.forEach((map, at) => map.move(place(at === 1 ? 1 : 0), { focus: false, tell: false }));
        announce(...place(0), true);
      }
    },
    taken: () => ({ trace: traces?.[0] ?? null, picture: node.querySelector(".compare-delta svg") ?? node.querySelector(".compare-picture svg"),
      table: match?.values ? { values: match.values, rows: seen[0].rows.map((one) => one.text), columns: seen[0].columns.map((one) => one.text) } : null }),
    close() {
      stop.abort();
      watcher.disconnect();
      document.removeEventListener("again", again);
    },
  };
}

/** The page before there is a sentence. */
function start() {
  const tries = [
    ["compare_try_models", "The man saw the astronomer with a telescope.", ""],
    ["compare_try_order", "The man saw the dog.", "The dog saw the man."],
  ];
  return el("div", { class: "start card" }, el("h2", {}, message("compare_first")), el("p", {}, message("compare_first_text")),
    el("ul", { class: "tries" }, ...tries.map(([why, q, q2]) => el("li", {}, el("button", { type: "button",
      on: { click: () => set({ text: q, text2: q2, model2: "", target: 1, source: 1 }) } },
    el("span", { lang: "en" }, q2 ? `${q} / ${q2}` : q), el("span", { class: "quiet" }, message(why)))))));
}
