/** Translate and align: words as they come, and where each of them looked. */

import { el, fill } from "../dom.js";
import { controls, list, segments, toggle } from "../controls.js";
import { draw } from "../heat.js";
import { drawRibbons } from "../ribbons.js";
import { said } from "../numbers.js";
import { state, set } from "../state.js";
import { say } from "../words.js";
import { tellOf } from "../tell.js";
import { card } from "../header.js";
import { streamed, forget } from "../asked.js";
import "./translate/words.js";
import { headOf, moved, ranked, seeing, strongest, tokensOf } from "./translate/seen.js";
import { strip } from "./translate/strip.js";
import { everyStep, ofColumn, ofRow } from "./translate/side.js";
import { legend } from "./translate/legend.js";
import { asTable } from "./translate/table.js";
import { start } from "./translate/start.js";
import { bottle } from "./translate/bottle.js";

export const lesson = {
  title: ["Who looks at whom", "कौन किसे देखता है"],
  text: ["Each row of the map is a word of the translation, in the order it was said. The stronger a cell's colour, the more of that source word went into it; a row sums to one.\nHindi puts the verb last, so the strong cells leave the diagonal. The thin line under each Hindi word is the probability it was said with; choose another of the five likeliest, and the model goes on from there.",
    "मानचित्र की हर पंक्ति अनुवाद का एक शब्द है, जिस क्रम में वह कहा गया। ख़ाने का रंग जितना गाढ़ा, उस स्रोत शब्द का उतना बड़ा भाग उसमें गया; पंक्ति का योग एक है।\nहिंदी में क्रिया अंत में आती है, इसलिए गाढ़े ख़ाने विकर्ण से हट जाते हैं। हर हिंदी शब्द के नीचे की पतली रेखा उसके कहे जाने की प्रायिकता है; पाँच सबसे संभावित शब्दों में से कोई दूसरा चुनिए, और मॉडल वहीं से आगे बढ़ेगा।"],
  ask: ["Which source word does the last Hindi word before the full stop look at?", "पूर्ण विराम से पहले का अंतिम हिंदी शब्द किस स्रोत शब्द को देखता है?"],
  answer: ["Usually the English verb, or its auxiliary: Hindi says at the end what English said near the beginning. Walk to that row and see.",
    "प्रायः अंग्रेज़ी क्रिया या उसकी सहायक क्रिया को: अंग्रेज़ी ने जो आरंभ में कहा, हिंदी अंत में कहती है। उस पंक्ति पर जाकर देखिए।"],
};

const PACE = 1100; // milliseconds a step is shown while it plays
const DRAWN = ["u", "sc", "sp", "l", "h", "v", "n", "tr"];

export function open() {
  const pair = strip({ leave: () => look(), look: (row, column, { hover }) => (hover ? glance(row, column) : choose(row, column)) });
  const [bar, notice, picture, side, foot, more] = ["bar", "notice", "picture", "side", "foot", "more"].map((name) =>
    el("div", { class: `translate-${name}` }));
  const tabs = segments(say("translate_picture"), "v", [["map", say("map")], ["ribbons", say("ribbons")], ["table", say("table")]]);
  const live = el("p", { class: "live", "aria-live": "polite" });
  const opener = el("button", { type: "button", class: "main opener", on: { click: () => openCell(...here()) } });
  const board = el("div", { class: "board" }, el("div", { class: "board-main" }, live, picture, opener, foot), side);
  const node = el("section", { class: "translate", "aria-labelledby": "view-title" },
    el("header", { class: "translate-head" }, el("h1", { id: "view-title" }, say("translate_title")), tabs), bar, notice, pair.node, board, more);
  let [trace, seen, shown, playing] = [null, null, null, 0];
  let by = ""; // what was chosen last: a "row", a "column", nothing yet
  let stop = new AbortController();
  let chooser = [];

  const about = () => card() ?? {};
  const here = () => (by || state.pin
    ? [Math.min(state.i, seen.rows.length) - 1, Math.min(state.j, seen.columns.length) - 1]
    : [0, strongest(seen.values[0])[0]]);

  async function ask() {
    stop.abort();
    stop = new AbortController();
    pause();
    trace = null;
    by = state.i > 1 || state.j > 1 ? "row" : "";
    const empty = !state.q || !state.m;
    node.classList.toggle("waiting", true);
    node.classList.toggle("empty", empty);
    fill(notice, empty ? start() : el("p", { class: "quiet" }, say("working")));
    if (empty) return;
    pair.begin(state.q, about().source_language);
    tellOf(say("working"));
    const began = performance.now();
    try {
      trace = await streamed((heard) => pair.hear(heard, about().target_language), stop.signal);
      node.classList.toggle("waiting", false);
      render();
      tellOf(say("done", trace.model, trace.target.tokens.length, Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(notice);
      tellOf(error);
    }
  }

  /** The strongest link of the whole map, special tokens apart. */
  function summary() {
    const rows = seen.rows.map((one, at) => at).filter((at) => !seen.rows[at].special && /[\p{L}\p{N}]/u.test(seen.rows[at].text));
    const best = rows.map((row) => [row, ...strongest(seen.values[row].map((value, at) => (seen.columns[at].special ? -1 : value)))])
      .sort((a, b) => b[2] - a[2])[0];
    const end = trace.finished ? "" : ` ${say("translate_unfinished")}`;
    if (best && about().score === "bottleneck") return say("translate_from_one", rows.length) + end;
    return best ? say("summary", rows.length, seen.rows[best[0]].text, seen.columns[best[1]].text, said(best[2])) + end
      : trace.translation ? live.textContent + end : say("translate_silent");
  }

  function render() {
    if (!trace) return;
    const before = seen;
    seen = seeing(trace, about(), state);
    if (before && before.trace === trace && before.unit !== state.u) {
      set({ i: moved(state.i, before.rows, seen.rows), j: moved(state.j, before.columns, seen.columns), pin: 0 }, { quiet: true });
    }
    Object.assign(seen, { trace, unit: state.u });
    fill(notice, forcedNotice());
    furnish();
    pair.show(seen, trace, forcedRows());
    shown = { map, ribbons, table }[state.v]();
    node.dataset.picture = state.v;
    fill(picture, about().score === "bottleneck" && bottle(seen, picture.clientWidth - 42), shown);
    fill(foot, legend(seen, state));
    fill(more, everyStep(trace, seen));
    opener.hidden = state.v !== "map" || about().score === "bottleneck";
    look();
  }

  /** The controls; made anew only where a model has other layers and heads. */
  function furnish() {
    const shape = `${seen.layers} ${seen.tables.length} ${about().target_language} ${state.v}`;
    if (bar.dataset.shape === shape) return chooser.forEach((one) => one.follow());
    bar.dataset.shape = shape;
    const many = seen.tables.length > 1;
    const numbered = (count) => Array.from({ length: count }, (_, at) => [String(at + 1), String(at + 1)]);
    if (many && !state.l) state.l = seen.layers;
    if (many && !state.h) state.h = "avg";
    chooser = [
      tabs,
      segments(say("unit"), "u", [["word", say("words")], ["tok", say("tokens")]]),
      state.v !== "ribbons" && segments(say("scale"), "sc", [["lin", say("linear")], ["sqrt", say("root")]]),
      many && list(say("layer"), "l", numbered(seen.layers)),
      many && list(say("head"), "h", [["avg", say("average")], ["max", say("largest")], ...numbered(seen.tables.length)]),
      toggle(say("specials"), "sp"), state.v === "map" && toggle(say("translate_numbers"), "n"),
      about().target_language === "hi" && toggle(say("translate_latin"), "tr"),
    ].filter(Boolean);
    tabs.follow(); // they stand in the head and are not made anew
    return fill(bar, controls(...chooser.filter((one) => one !== tabs), player()));
  }

  const map = () => draw({
    values: seen.values, rows: seen.rows, columns: seen.columns, label: say("heatLabel"),
    says: (row, column, value) => say("attends", seen.rows[row].text, seen.columns[column].text, said(value)),
    scale: state.sc, at: here(), widest: picture.clientWidth, numbers: state.n === "1",
    least: seen.columns.length > 60 ? 6 : seen.columns.length > 30 ? 14 : 24,
    pinned: state.pin ? state.pin - 1 : null,
    feet: { heads: ["Σ", say("translate_bits")],
      rows: seen.sums.map((sum, row) => [said(sum), seen.bits[row] === null ? "–" : said(seen.bits[row], 2)]) },
    focus: choose, hover: glance, open: openCell,
    pin: (row) => set({ pin: state.pin === row + 1 ? 0 : row + 1 }, { quiet: true }),
    label_click: choose,
  });

  const ribbons = () => drawRibbons({
    values: seen.values, rows: seen.rows, columns: seen.columns, label: say("translate_ribbons"),
    widest: picture.clientWidth, focus: choose, hover: glance,
    says: (row, column) => {
      const line = row !== null ? seen.values[row] : seen.values.map((values) => values[column]);
      const others = row !== null ? seen.columns : seen.rows;
      const told = ranked(line).slice(0, 3).map(([at, value]) => `${others[at].text} ${said(value)}`).join(", ");
      return row !== null ? say("translate_word_from", seen.rows[row].text, told) : say("translate_word_to", seen.columns[column].text, told);
    },
  });

  const table = () => asTable(seen, (row) => choose(row, null));

  /** A row, a column or both are chosen: the address has them from now on. */
  function choose(row, column) {
    if (!seen) return;
    by = row === null ? "column" : "row";
    set({ i: (row ?? here()[0]) + 1, j: (column ?? here()[1]) + 1 }, { quiet: true });
    look();
    shown.move?.(here(), { focus: false, tell: false });
  }

  /** Only looked at: nothing is chosen, and a row that is held stays. */
  function glance(row, column) {
    if (!seen) return;
    if (row === null && column === null) look();
    else if (!state.pin) tell(row, column, false);
    else if (row !== null && column !== null) announce(cellWords(row, column), false);
  }

  /** What the address says is looked at. */
  function look() {
    if (!seen || !trace) return;
    const [row, column] = here();
    if (state.pin) tell(Math.min(state.pin, seen.rows.length) - 1, null, true);
    else if (by === "column") tell(null, column, true);
    else tell(row, column, true);
    if (!state.pin && !by) announce(summary(), true);
    shown.hold?.(state.pin ? state.pin - 1 : null);
  }

  const cellWords = (row, column) => [
    say("attends", seen.rows[row].text, seen.columns[column].text, said(seen.values[row][column])),
    say("sum", said(seen.sums[row])), seen.bits[row] !== null && say("entropy", said(seen.bits[row], 2)),
  ].filter(Boolean).join(" · ");

  function tell(row, column, aloud) {
    pair.look(row, row === null ? column : null, seen, state.sc);
    if (state.v === "map") shown.point(...(aloud ? [null, null] : [row, column]));
    else if (aloud && !by && !state.pin) shown.point?.(null, null);
    else shown.point?.(row, row === null ? column : null);
    for (const line of picture.querySelectorAll("tr[data-row]")) line.classList.toggle("here", Number(line.dataset.row) === row);
    fill(side, row === null ? ofColumn(seen, column) : ofRow(seen, trace, row));
    const [asked, given] = here();
    fill(opener, say("translate_open", seen.rows[asked].text, seen.columns[given].text));
    const at = state.v === "map" && column !== null ? column : strongest(seen.values[row] ?? [0])[0];
    announce(row === null ? columnWords(column) : cellWords(row, at) + (state.pin === row + 1 ? ` · ${say("translate_held")}` : ""), aloud);
  }

  function columnWords(column) {
    const line = seen.values.map((values) => values[column]);
    const [row, value] = strongest(line);
    return say("translate_use", seen.columns[column].text, seen.rows[row].text, said(value), said(line.reduce((a, b) => a + b, 0), 2));
  }

  /** Readers hear what is chosen, not what the pointer passes. */
  function announce(words, aloud) {
    live.setAttribute("aria-live", aloud ? "polite" : "off");
    live.textContent = words;
  }

  function openCell(row, column) {
    const [i, j] = tokensOf(seen, trace, row, column);
    const same = i === row + 1 && j === column + 1;
    const place = { i, j, pin: 0, ...(same ? {} : { u: "tok" }) };
    if (about().score === "heads") set({ view: "qkv", k: "cross", l: seen.block.layer, h: headOf(seen, row, column), ...place });
    else set({ view: "step", ...place });
  }

  /** How many rows are the reader's own choice. */
  function forcedRows() {
    if (!state.f) return 0;
    let length = 0;
    const letters = (text) => text.replace(/\s/g, "");
    return seen.rows.filter((one) => (length += letters(one.text).length) <= letters(state.f).length).length;
  }

  function forcedNotice() {
    if (!state.f) return null;
    const kept = trace.translation.replace(/\s/g, "").startsWith(state.f.replace(/\s/g, ""));
    return el("p", { class: "forced-notice card" }, say(kept ? "translate_forced" : "translate_misread", state.f), " ",
      el("button", { type: "button", on: { click: () => set({ f: "" }) } }, say("translate_back")));
  }

  function player() {
    return el("button", { type: "button", class: "player", "aria-pressed": false, on: { click: play } }, `▶ ${say("translate_play")}`);
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
    if (button) button.textContent = playing ? `❚❚ ${say("translate_pause")}` : `▶ ${say("translate_play")}`;
  }

  const again = () => {
    forget();
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
      if (["q", "m", "b", "f"].some((key) => changed.has(key))) ask();
      else if (DRAWN.some((key) => changed.has(key))) render();
      else if (["i", "j", "pin"].some((key) => changed.has(key))) {
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
