/** How good every model is, by the length of the sentence. */

import { el, fill } from "../dom.js";
import { stream } from "../api.js";
import { chart } from "../chart.js";
import { controls, list, segments } from "../controls.js";
import { formatNumber } from "../numbers.js";
import { state, set } from "../state.js";
import { message, hasMessage } from "../messages.js";
import { showStatus } from "../status.js";
import { models } from "../header.js";
import { sentencesOf } from "./length/sentences.js";
import "./length/messages.js";

export { lesson } from "./length/messages.js";

const SIZES = [20, 40, 100, 200];
const RIGHT = 110; // pixels for names at the ends of lines
const known = new Map(); // what has been measured

const keyOf = (model) => JSON.stringify([model, state.each, state.beam]);
const named = (part) => `${part.min_words}–${part.max_words}`;
const toneOf = (model) => models().findIndex((one) => one.name === model) % 8 + 1;
const low = (score) => score.low ?? score.value; // one sentence alone has no range
const high = (score) => score.high ?? score.value;
const within = (score) => message("length_range", formatNumber(low(score), 1), formatNumber(high(score), 1));

export function open() {
  const results = el("div", { class: "length-results" });
  const verdict = el("p", { class: "length-verdict", "aria-live": "polite" });
  const table = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("length_table") });
  const chooser = el("div", { class: "controls length-chooser" });
  const detail = el("div", { class: "length-detail" });
  const notes = el("div", {});
  const button = el("button", { type: "button", class: "length-run",
    on: { click: () => (running ? stop.abort() : measure()) } });
  const sizes = [...new Set([...SIZES, state.each])].sort((a, b) => a - b)
    .map((one) => [String(one), String(one)]);
  const node = el("section", { class: "length", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("length_title")), el("p", {}, message("length_lead"))),
    controls(list(message("length_each"), "each", sizes), button),
    results, verdict, table, chooser, detail, notes);
  let running = false;
  let stop = new AbortController();
  let status = new Map();
  let drawn = null;

  /** Model after model, those that are not known yet. */
  async function measure() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    running = true;
    status = new Map();
    render();
    for (const { name } of models()) {
      if (known.has(keyOf(name))) continue;
      try {
        await stream("/api/length", { model: name, per_bucket: state.each, beam: state.beam }, (kind, data) => {
          if (kind === "done") known.set(keyOf(name), data);
          else status.set(name, { kind, ...data });
          if (kind === "done") render();
          else progress();
        }, signal);
      } catch (error) {
        if (error.name === "AbortError") break;
        const again = hasMessage(error.message); // the server was not reached, or went away
        status.set(name, { kind: "problem", again, words: again ? message(error.message) : error.message });
        showStatus(error);
      }
    }
    if (stop.signal !== signal) return;
    running = false;
    render();
    const found = measured();
    if (!signal.aborted && found.length) showStatus(message("length_done", found.length, found[0].all.sentences));
  }

  const measured = () => models().map((one) => known.get(keyOf(one.name))).filter(Boolean);

  function render() {
    const found = measured();
    progress();
    if (!found.length) {
      drawn = null;
      fill(results, el("p", { class: "quiet length-waiting" }, message(running ? "length_measuring" : "length_none")));
      for (const one of [verdict, chooser, detail, notes]) fill(one);
      return;
    }
    draw(found);
    fill(verdict, running ? "" : judged(found));
    choosing(found);
    fill(notes, noted(found));
  }

  function groupsOf(found) {
    const all = new Map(found.flatMap((one) => one.buckets.map((part) => [part.min_words, part])));
    return [...all.values()].sort((a, b) => a.min_words - b.min_words);
  }

  function draw(found) {
    const groups = groupsOf(found);
    const at = (part) => groups.findIndex((one) => one.min_words === part.min_words);
    const chosen = groups[state.bucket - 1] ? state.bucket - 1 : null;
    const top = Math.max(...found.flatMap((one) => one.buckets.map(high)));
    const choose = (_, point) => set({ bucket: point.x + 1 }, { quiet: true });
    const x = { scale: "names", names: groups.map(named), title: message("length_words") };
    const lines = {
      label: message("length_chart"), summary: judged(found) || message("length_chart"), hint: message("length_hint"),
      x, chosen, choose,
      y: { title: message("length_bleu"), from: 0, to: top > 80 ? 100 : undefined,
        written: (value) => formatNumber(value, Number.isInteger(value) ? 0 : 1) },
      left: 44, right: narrow() ? 14 : RIGHT, height: 340,
      marks: [...new Set(found.map((one) => one.trained_words))].flatMap((words) => border(words, groups)),
      series: found.map((one) => ({ name: one.model, tone: toneOf(one.model), points: one.buckets.map((part) =>
        ({ x: at(part), y: part.value, low: low(part), high: high(part), part })) })),
      says: (series, { part }) => message("length_point", series.name, named(part), formatNumber(part.value, 1),
        formatNumber(low(part), 1), formatNumber(high(part), 1), part.sentences),
    };
    const bars = {
      label: message("length_counts"), hint: "", x: { ...x, title: "" }, chosen, choose,
      left: lines.left, right: lines.right, height: 120,
      y: { title: message("length_sentences"), from: 0 }, legend: "none",
      series: [{ name: message("length_sentences"), kind: "bars", tone: 8,
        points: groups.map((part, place) => ({ x: place, y: part.sentences })) }],
      says: (_, point) => message("length_bar", named(groups[point.x]), point.y),
    };
    if (drawn) {
      drawn.lines.update(lines);
      drawn.bars.update(bars);
      return;
    }
    drawn = { lines: chart(lines), bars: chart(bars) };
    fill(results, drawn.lines, drawn.bars);
  }

  const narrow = () => (results.clientWidth || 800) < 560;

  /** A row for every model: its figures, or how far it is. */
  function progress() {
    button.textContent = message(running ? "length_stop" : "length_go");
    button.hidden = !running && models().every(({ name }) =>
      known.has(keyOf(name)) || (status.get(name)?.kind === "problem" && !status.get(name).again));
    const found = measured();
    const split = !found.length || found.some((one) => one.trained_words); // the lengths of training may not be known
    const head = ["length_model", "length_all", ...(split ? ["length_like", "length_beyond"] : [])];
    fill(table, el("table", { class: "numbers length-table" },
      el("thead", {}, el("tr", {}, ...head.map((key) => el("th", { scope: "col" }, message(key))))),
      el("tbody", {}, ...models().map(({ name }) => el("tr", { class: `tone-${toneOf(name)}` },
        el("th", { scope: "row" }, el("span", { class: "length-swatch", "aria-hidden": "true" }), name),
        ...cells(name, split))))));
  }

  function cells(name, split) {
    const found = known.get(keyOf(name));
    if (found) {
      return [found.all, ...(split ? [found.within, found.beyond] : [])].map((score) => el("td", {}, ...(score
        ? [el("b", {}, formatNumber(score.value, 1)), el("span", { class: "quiet" }, within(score))] : ["–"])));
    }
    const now = status.get(name);
    if (now?.kind === "problem") return [el("td", { colspan: split ? 3 : 1, class: "problem" }, now.words)];
    const words = !running ? message("length_stopped") : !now ? message("length_waiting")
      : message(now.kind === "sampling" ? "length_drawing" : "length_working", now.done, now.of);
    return [el("td", { colspan: split ? 3 : 1, class: "length-progress" },
      now && el("progress", { max: now.of, value: now.done, "aria-label": name }),
      el("span", { class: "quiet" }, words))];
  }

  /** The groups to choose from, and the sentences of the one chosen. */
  function choosing(found) {
    const groups = groupsOf(found);
    if (!chooser.contains(document.activeElement)) {
      fill(chooser, el("h2", {}, message("length_groups")), segments(message("length_groups"), "bucket",
        groups.map((part, at) => [String(at + 1), named(part)])));
    }
    const chosen = groups[state.bucket - 1];
    fill(detail, ...(chosen ? [el("p", { class: "quiet" }, message("length_marks")),
      sentencesOf(found, chosen.min_words, toneOf)] : []));
  }

  measure();
  return {
    node,
    update(changed) {
      if (changed.has("each") || changed.has("beam")) measure();
      else if (changed.has("bucket") && drawn) {
        draw(measured());
        choosing(measured());
      }
    },
    taken() {
      const found = measured();
      const groups = groupsOf(found);
      return { picture: drawn?.lines.picture ?? null, trace: null, table: found.length ? {
        rows: found.map((one) => one.model), columns: groups.map(named),
        values: found.map((one) => groups.map((group) =>
          one.buckets.find((part) => part.min_words === group.min_words)?.value ?? NaN)),
      } : null };
    },
    close: () => stop.abort(),
  };
}

/** Where the longest sentences of training end, between the places of the groups. */
function border(words, groups) {
  const at = groups.findIndex((part) => words >= part.min_words && words <= part.max_words);
  if (at < 0) return [];
  const { min_words: least, max_words: most } = groups[at];
  return [{ x: at - 0.5 + (words + 1 - least) / (most + 1 - least), text: message("length_trained", words) }];
}

/** What the figures say of lengths that training did not have; decided by them. */
function judged(found) {
  const both = found.filter((one) => one.within && one.beyond);
  if (!both.length) return "";
  const fall = (one) => one.within.value - one.beyond.value;
  const figures = (one) => [one.model, formatNumber(one.within.value, 1), formatNumber(one.beyond.value, 1)];
  const ordered = [...both].sort((a, b) => fall(a) - fall(b));
  const [least, most] = [ordered[0], ordered.at(-1)];
  if (both.length === 1 || least === most) return message("length_one_falls", ...figures(least));
  const surely = both.every((one) => one.beyond.high < one.within.low);
  const overlap = least.beyond.low <= most.beyond.high && most.beyond.low <= least.beyond.high;
  return [message(surely ? "length_all_fall" : "length_not_all_fall", ...figures(least), ...figures(most)),
    message(overlap ? "length_overlap" : "length_apart")].join(" ");
}

/** How it was measured, and what must be known of single models. */
function noted(found) {
  const of = (test, words) => found.filter(test).map((one) => el("li", {}, words(one)));
  return el("details", { class: "length-notes" }, el("summary", {}, message("length_how")), el("ul", {},
    el("li", {}, message("length_signature"), " ", el("code", {}, found[0].signature)),
    el("li", {}, message("length_signature_one"), " ", el("code", {}, found[0].sentence_signature)),
    found[0].core_share < 1 && el("li", {}, message("length_core", formatNumber(100 * found[0].core_share, 0))),
    ...of((one) => !one.on_primer, (one) => message("length_foreign", one.model)),
    ...of((one) => one.unknown_share > 0, (one) => message("length_unknown", one.model, formatNumber(100 * one.unknown_share, 2))),
    ...of((one) => one.skipped, (one) => message("length_left_out", one.model, one.skipped))));
}
