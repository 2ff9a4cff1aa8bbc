/** Two models, or two sentences, side by side: their maps with one cursor, and the difference. */

import { el, fill } from "../dom.js";
import { controls, list, segments, toggle } from "../controls.js";
import { draw } from "../heat.js";
import { said } from "../numbers.js";
import { state, set } from "../state.js";
import { say } from "../words.js";
import { tellOf } from "../tell.js";
import { card, models } from "../header.js";
import { forget, traceOf } from "../asked.js";
import "./translate/words.js";
import { seeing, strongest } from "./translate/seen.js";
import "./compare/words.js";
import { matched } from "./compare/matched.js";
import { bySource, difference } from "./compare/below.js";

export const lesson = {
  title: ["The same words, other eyes", "वही शब्द, दूसरी नज़र"],
  text: ["Two models may say the same sentence and look at different places while they say it. Point at a cell in one map: the other shows the same place.\nThe difference is B − A, cell by cell; every row of it sums to nought, because both rows sum to one.",
    "दो मॉडल एक ही वाक्य कह सकते हैं और कहते समय अलग-अलग जगह देख सकते हैं। एक मानचित्र के ख़ाने पर संकेत कीजिए: दूसरा वही जगह दिखाता है।\nअंतर B − A है, ख़ाना-दर-ख़ाना; उसकी हर पंक्ति का योग शून्य है, क्योंकि दोनों पंक्तियों का योग एक है।"],
  ask: ["Additive attention looks before the new state is made, Luong's after it. Which of the two should look more sharply at the word being said?",
    "योगात्मक अवधान नई अवस्था बनने से पहले देखता है, लुओंग का उसके बाद। कहे जा रहे शब्द को दोनों में से कौन अधिक पैनी नज़र से देखेगा?"],
  answer: ["There is no law about it: compare the entropies at the right of the rows, and try several sentences. A lower number is a sharper look.",
    "इसका कोई नियम नहीं: पंक्तियों के दाईं ओर की एंट्रॉपी की तुलना कीजिए और कई वाक्य आज़माइए। कम संख्या का अर्थ है पैनी नज़र।"],
};

const ASKED = ["q", "m", "q2", "m2", "b"];
const DRAWN = ["u", "sc", "sp", "l", "h", "n"];

/** The model of B: the one named, the same for another sentence, or another of the shelf. */
function second() {
  if (card(state.m2)) return state.m2;
  if (state.q2) return state.m;
  return models().find((one) => one.name !== state.m)?.name ?? state.m;
}

export function open() {
  const sides = ["a", "b"].map((name) => side(name));
  const live = el("p", { class: "live", "aria-live": "polite" });
  const [bar, notice, below] = ["bar", "notice", "below"].map((name) => el("div", { class: `compare-${name}` }));
  const swap = el("button", { type: "button", class: "compare-swap", on: { click: exchange } }, `⇄ ${say("compare_swap")}`);
  const pair = el("div", { class: "compare-pair" }, sides[0].node, sides[1].node);
  const node = el("section", { class: "compare", "aria-labelledby": "view-title" },
    el("header", { class: "compare-head" }, el("h1", { id: "view-title" }, say("compare_title")), swap),
    bar, notice, pair, live, below);
  let [traces, seen, match, maps, chooser] = [null, null, null, [], []];
  let stop = new AbortController();

  /** One of the two: what it is asked, what it said, and its map. */
  function side(name) {
    const [said, picture, head] = [el("p", { class: "compare-said" }), el("div", { class: "compare-picture" }), el("div", { class: "compare-ask" })];
    return { name, said, picture, head, node: el("section", { class: "card compare-side", "aria-label": say(`compare_${name}`) }, head, said, picture) };
  }

  function heads() {
    fill(sides[0].head, el("span", { class: "compare-letter" }, "A"), el("b", {}, state.m),
      el("span", { class: "quiet" }, say("compare_header")));
    const sentence = el("input", { type: "text", id: "second-sentence", maxlength: 500, lang: card(second())?.source_language,
      placeholder: say("compare_same"), "aria-label": say("compare_second"),
      on: { change: (event) => set({ q2: event.target.value.normalize("NFC").trim() }) } });
    sentence.value = state.q2;
    const select = el("select", { id: "second-model", "aria-label": `B: ${say("model")}`, on: { change: (event) => set({ m2: event.target.value }) } },
      ...models().map((one) => el("option", { value: one.name, selected: one.name === second() }, one.name)));
    fill(sides[1].head, el("span", { class: "compare-letter" }, "B"), select, sentence,
      models().length < 2 && !state.q2 && el("span", { class: "quiet" }, say("compare_only")));
  }

  function exchange() {
    const patch = { m: second(), m2: state.m };
    set(state.q2 ? { ...patch, q: state.q2, q2: state.q } : patch);
  }

  async function ask() {
    stop.abort();
    stop = new AbortController();
    traces = null;
    heads();
    const empty = !state.q || !state.m;
    node.classList.toggle("empty", empty);
    node.classList.toggle("waiting", true);
    fill(notice, empty ? start() : el("p", { class: "quiet" }, say("working")));
    if (empty) return;
    tellOf(say("working"));
    const began = performance.now();
    try {
      traces = await Promise.all([traceOf({ f: "" }, stop.signal),
        traceOf({ q: state.q2 || state.q, m: second(), f: "" }, stop.signal)]);
      node.classList.toggle("waiting", false);
      fill(notice);
      render();
      tellOf(say("done", `${state.m}, ${second()}`, traces.map((one) => one.target.tokens.length).join(" + "), Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(notice);
      tellOf(error);
    }
  }

  function render() {
    if (!traces) return;
    const names = [state.m, second()];
    seen = traces.map((trace, at) => seeing(trace, card(names[at]) ?? {}, { ...state, tr: "0" }));
    match = matched(...seen);
    furnish();
    maps = seen.map((one, at) => {
      fill(sides[at].said, traces[at].translation || say("translate_silent"));
      sides[at].said.lang = traces[at].translation ? card(names[at])?.target_language ?? "hi" : state.ui;
      const map = draw({ values: one.values, rows: one.rows, columns: one.columns, scale: state.sc, numbers: state.n === "1",
        label: say("compare_map", at ? "B" : "A"), widest: sides[at].picture.clientWidth, least: least(one),
        says: (row, column, value) => say("attends", one.rows[row].text, one.columns[column].text, said(value)),
        feet: { heads: [say("translate_bits")], rows: one.bits.map((bits) => [bits === null ? "–" : said(bits, 2)]) },
        at: place(at), hover: (row, column) => glance(at, row, column), focus: (row, column) => choose(at, row, column) });
      fill(sides[at].picture, map);
      return map;
    });
    const delta = difference(...seen, match, { widest: below.clientWidth, least: signedLeast(seen[0]), numbers: state.n === "1", at: place(0),
      hover: (row, column) => glance(0, row, column, true), focus: (row, column) => choose(0, row, column, true) });
    if (delta.map) maps.push(delta.map);
    const summary = seen.find((one) => ["avg", "max"].includes(one.which))?.which;
    fill(below, delta.node, summary && el("p", { class: "quiet" }, say(`translate_summary_${summary}`)), match.read && !match.told && bySource(...seen));
    announce(...place(0), true);
  }

  const least = (one) => (one.columns.length > 60 ? 6 : sides[0].picture.clientWidth < 400 ? 24 : 18);

  const signedLeast = (one) => (least(one) === 24 && state.n === "1" ? 30 : least(one)); // a minus needs its room

  /** Where the cursor stands in A, or in B its partner. */
  function place(at) {
    const chosen = state.i > 1 || state.j > 1;
    const [row, column] = [Math.min(state.i, seen[0].rows.length) - 1,
      chosen ? Math.min(state.j, seen[0].columns.length) - 1 : strongest(seen[0].values[0])[0]];
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
    if (a[0] !== null && a[1] !== null) set({ i: a[0] + 1, j: a[1] + 1 }, { quiet: true });
    announce(...a, true, b);
  }

  /** Both numbers of a place, and their difference where they have one. */
  function announce(row, column, aloud, partner = places(0, row, column)[1]) {
    const words = (at, [own, given]) => (own === null || given === null ? `${at ? "B" : "A"}: –`
      : `${at ? "B" : "A"}: ${say("attends", seen[at].rows[own].text, seen[at].columns[given].text, said(seen[at].values[own][given]))}`);
    const delta = match.values && row !== null && column !== null ? ` · Δ ${said(match.values[row][column])}` : "";
    live.setAttribute("aria-live", aloud ? "polite" : "off");
    live.textContent = `${words(0, [row, column])} · ${words(1, partner)}${delta}`;
  }

  function furnish() {
    const [layers, count] = [Math.max(...seen.map((one) => one.layers)), Math.max(...seen.map((one) => one.tables.length))];
    if (bar.dataset.shape === `${layers} ${count}`) return chooser.forEach((one) => one.follow());
    bar.dataset.shape = `${layers} ${count}`;
    const numbered = (most) => Array.from({ length: most }, (_, at) => [String(at + 1), String(at + 1)]);
    if (count > 1 && !state.l) state.l = layers;
    if (count > 1 && !state.h) state.h = "avg";
    chooser = [
      segments(say("unit"), "u", [["word", say("words")], ["tok", say("tokens")]]),
      segments(say("scale"), "sc", [["lin", say("linear")], ["sqrt", say("root")]]),
      count > 1 && list(say("layer"), "l", numbered(layers)),
      count > 1 && list(say("head"), "h", [["avg", say("average")], ["max", say("largest")], ...numbered(count)]),
      toggle(say("specials"), "sp"), toggle(say("translate_numbers"), "n"),
    ].filter(Boolean);
    return fill(bar, controls(...chooser));
  }

  const again = () => {
    forget();
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
      else if (seen && (changed.has("i") || changed.has("j"))) {
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
  return el("div", { class: "start card" }, el("h2", {}, say("compare_first")), el("p", {}, say("compare_first_text")),
    el("ul", { class: "tries" }, ...tries.map(([why, q, q2]) => el("li", {}, el("button", { type: "button",
      on: { click: () => set({ q, q2, m2: "", i: 1, j: 1 }) } },
    el("span", { lang: "en" }, q2 ? `${q} / ${q2}` : q), el("span", { class: "quiet" }, say(why)))))));
}
