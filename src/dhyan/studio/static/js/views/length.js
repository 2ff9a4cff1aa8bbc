/** Length view: BLEU of every model by source length. */

import { el, setChildren } from "../dom.js";
import { stream } from "../api.js";
import { chart } from "../chart.js";
import { controls, list, segments } from "../controls.js";
import { formatNumber } from "../numbers.js";
import { state, set } from "../state.js";
import { message, hasMessage } from "../messages.js";
import { errorText, showStatus } from "../status.js";
import { models } from "../header.js";
import { sentenceCards } from "./length/sentences.js";

const SIZES = [20, 40, 100, 200];
const RIGHT = 110; // margin in pixels for names at the line ends
const results = new Map(); // results by model and settings

const keyOf = (model) => JSON.stringify([model, state.per_bucket, state.beam]);
const bucketLabel = (bucket) => `${bucket.min_words}–${bucket.max_words}`;
const colorIndexOf = (model) => models().findIndex((entry) => entry.name === model) % 8 + 1;
const low = (score) => score.low ?? score.value; // a single sentence has no interval
const high = (score) => score.high ?? score.value;
const within = (score) => message("length_range", formatNumber(low(score), 1), formatNumber(high(score), 1));

/** @returns {View} */
export function open() {
  const resultsBox = el("div", { class: "length-results" });
  const verdict = el("p", { class: "length-verdict", "aria-live": "polite" });
  const table = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("length_table") });
  const chooser = el("div", { class: "controls length-chooser" });
  const detail = el("div", { class: "length-detail" });
  const notes = el("div", {});
  const button = el("button", { type: "button", class: "length-run",
    on: { click: () => (running ? stop.abort() : measure()) } });
  const sizes = [...new Set([...SIZES, state.per_bucket])].sort((a, b) => a - b)
    .map((size) => [String(size), String(size)]);
  const node = el("section", { class: "length", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("length_title")), el("p", {}, message("length_lead"))),
    controls(list(message("length_per_bucket"), "per_bucket", sizes), button),
    resultsBox, verdict, table, chooser, detail, notes);
  let running = false;
  let stop = new AbortController();
  let status = new Map();
  let charts = null;

  /** Measure the models without a result, one after the other. */
  async function measure() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    running = true;
    status = new Map();
    render();
    for (const { name } of models()) {
      if (results.has(keyOf(name))) continue;
      try {
        await stream("/api/length", { model: name, per_bucket: state.per_bucket, beam: state.beam }, (kind, data) => {
          if (data.buckets) results.set(keyOf(name), data);
          else status.set(name, { kind: data.unsuited ? "unsuited" : kind, ...data });
          if (data.buckets) render();
          else renderTable();
        }, signal);
      } catch (error) {
        if (error.name === "AbortError") break;
        const retry = hasMessage(error.message); // the server was unreachable
        status.set(name, { kind: "error", retry, text: errorText(error) });
        showStatus(error);
      }
    }
    if (stop.signal !== signal) return;
    running = false;
    render();
    const measuredResults = resultList();
    if (!signal.aborted && measuredResults.length) showStatus(message("length_done", measuredResults.length, measuredResults[0].all.sentences));
  }

  const resultList = () => models().map((model) => results.get(keyOf(model.name))).filter(Boolean);

  function render() {
    const measuredResults = resultList();
    renderTable();
    if (!measuredResults.length) {
      charts = null;
      setChildren(resultsBox, el("p", { class: "muted length-placeholder" }, message(running ? "length_measuring" : "length_none")));
      for (const element of [verdict, chooser, detail, notes]) setChildren(element);
      return;
    }
    renderCharts(measuredResults);
    setChildren(verdict, running ? "" : summaryText(measuredResults));
    renderSentences(measuredResults);
    setChildren(notes, notesList(measuredResults));
  }

  function groupsOf(measuredResults) {
    const buckets = new Map(measuredResults.flatMap((result) => result.buckets.map((bucket) => [bucket.min_words, bucket])));
    return [...buckets.values()].sort((a, b) => a.min_words - b.min_words);
  }

  function renderCharts(measuredResults) {
    const groups = groupsOf(measuredResults);
    const bucketIndex = (bucket) => groups.findIndex((group) => group.min_words === bucket.min_words);
    const selected = groups[state.bucket - 1] ? state.bucket - 1 : undefined;
    const top = Math.max(...measuredResults.flatMap((result) => result.buckets.map(high)));
    const choose = (_, point) => set({ bucket: point.x + 1 }, { replace: true });
    /** @type {import("../scales.js").Axis} */
    const x = { scale: "names", names: groups.map(bucketLabel), title: message("length_words") };
    /** @type {import("../chart.js").Chart} */
    const lines = {
      label: message("length_chart"), summary: summaryText(measuredResults) || message("length_chart"), hint: message("length_hint"),
      x, selectedX: selected, onSelect: choose,
      y: { title: message("length_bleu"), from: 0, to: top > 80 ? 100 : undefined,
        format: (value) => formatNumber(value, Number.isInteger(value) ? 0 : 1) },
      left: 44, right: narrow() ? 14 : RIGHT, height: 340,
      marks: [...new Set(measuredResults.map((result) => result.trained_words))].flatMap((words) => trainedLimit(words, groups)),
      series: measuredResults.map((result) => ({ name: result.model, colorIndex: colorIndexOf(result.model), points: result.buckets.map((bucket) =>
        ({ x: bucketIndex(bucket), y: bucket.value, low: low(bucket), high: high(bucket), part: bucket })) })),
      describe: (series, { part: bucket }) => message("length_point", series.name, bucketLabel(bucket), formatNumber(bucket.value, 1),
        formatNumber(low(bucket), 1), formatNumber(high(bucket), 1), bucket.sentences),
    };
    /** @type {import("../chart.js").Chart} */
    const bars = {
      label: message("length_counts"), hint: "", x: { ...x, title: "" }, selectedX: selected, onSelect: choose,
      left: lines.left, right: lines.right, height: 120,
      y: { title: message("length_sentences"), from: 0 }, legend: "none",
      series: [{ name: message("length_sentences"), kind: "bars", colorIndex: 8,
        points: groups.map((bucket, index) => ({ x: index, y: bucket.sentences })) }],
      describe: (_, point) => message("length_bar", bucketLabel(groups[point.x]), point.y),
    };
    if (charts) {
      charts.lines.update(lines);
      charts.bars.update(bars);
      return;
    }
    charts = { lines: chart(lines), bars: chart(bars) };
    setChildren(resultsBox, charts.lines, charts.bars);
  }

  const narrow = () => (resultsBox.clientWidth || 800) < 560;

  /** A table row per model: scores, or progress. */
  function renderTable() {
    button.textContent = message(running ? "length_stop" : "length_resume");
    button.hidden = !running && models().every(({ name }) =>
      results.has(keyOf(name)) || status.get(name)?.kind === "unsuited" || (status.get(name)?.kind === "error" && !status.get(name).retry));
    const measuredResults = resultList();
    const split = !measuredResults.length || measuredResults.some((result) => result.trained_words); // training lengths may be unknown
    const head = ["length_model", "length_all", ...(split ? ["length_within", "length_beyond"] : [])];
    setChildren(table, el("table", { class: "numbers length-table" },
      el("thead", {}, el("tr", {}, ...head.map((key) => el("th", { scope: "col" }, message(key))))),
      el("tbody", {}, ...models().map(({ name }) => el("tr", { class: `series-${colorIndexOf(name)}` },
        el("th", { scope: "row" }, el("span", { class: "length-swatch", "aria-hidden": "true" }), name),
        ...cells(name, split))))));
  }

  function cells(name, split) {
    const result = results.get(keyOf(name));
    if (result) {
      return [result.all, ...(split ? [result.within, result.beyond] : [])].map((score) => el("td", {}, ...(score
        ? [el("b", {}, formatNumber(score.value, 1)), el("span", { class: "muted" }, within(score))] : ["–"])));
    }
    const modelStatus = status.get(name);
    if (modelStatus?.kind === "unsuited") return [el("td", { colspan: split ? 3 : 1, class: "muted length-unsuited" }, message("length_unsuited"))];
    if (modelStatus?.kind === "error") return [el("td", { colspan: split ? 3 : 1, class: "error" }, modelStatus.text)];
    const progressText = !running ? message("length_stopped") : !modelStatus ? message("length_waiting")
      : message(modelStatus.kind === "sampling" ? "length_sampling" : "length_working", modelStatus.done, modelStatus.of);
    return [el("td", { colspan: split ? 3 : 1, class: "length-progress" },
      modelStatus && el("progress", { max: modelStatus.of, value: modelStatus.done, "aria-label": name }),
      el("span", { class: "muted" }, progressText))];
  }

  /** Bucket selector, and the sentences of the selected bucket. */
  function renderSentences(measuredResults) {
    const groups = groupsOf(measuredResults);
    if (!chooser.contains(document.activeElement)) {
      setChildren(chooser, el("h2", {}, message("length_groups")), segments(message("length_groups"), "bucket",
        groups.map((bucket, index) => [String(index + 1), bucketLabel(bucket)])));
    }
    const selected = groups[state.bucket - 1];
    setChildren(detail, ...(selected ? [el("p", { class: "muted" }, message("length_marks")),
      sentenceCards(measuredResults, selected.min_words, colorIndexOf)] : []));
  }

  measure();
  return {
    node,
    showsSentence: () => false,
    update(changed) {
      if (changed.has("per_bucket") || changed.has("beam")) measure();
      else if (changed.has("bucket") && charts) {
        renderCharts(resultList());
        renderSentences(resultList());
      }
    },
    exportData() {
      const measuredResults = resultList();
      const groups = groupsOf(measuredResults);
      return { picture: charts?.lines.picture ?? null, trace: null, table: measuredResults.length ? {
        rows: measuredResults.map((result) => result.model), columns: groups.map(bucketLabel),
        values: measuredResults.map((result) => groups.map((group) =>
          result.buckets.find((bucket) => bucket.min_words === group.min_words)?.value ?? NaN)),
      } : null };
    },
    close: () => stop.abort(),
  };
}

/** Position of the longest training sentence on the axis of buckets. */
function trainedLimit(words, groups) {
  const index = groups.findIndex((bucket) => words >= bucket.min_words && words <= bucket.max_words);
  if (index < 0) return [];
  const { min_words: shortest, max_words: longest } = groups[index];
  return [{ x: index - 0.5 + (words + 1 - shortest) / (longest + 1 - shortest), text: message("length_trained", words) }];
}

/** Text: how the scores drop beyond the training lengths. */
function summaryText(results) {
  const compared = results.filter((result) => result.within && result.beyond);
  if (!compared.length) return "";
  const drop = (result) => result.within.value - result.beyond.value;
  const figures = (result) => [result.model, formatNumber(result.within.value, 1), formatNumber(result.beyond.value, 1)];
  const ordered = [...compared].sort((a, b) => drop(a) - drop(b));
  const [smallestDrop, largestDrop] = [ordered[0], ordered.at(-1)];
  if (compared.length === 1 || smallestDrop === largestDrop) return message("length_one_falls", ...figures(smallestDrop));
  const significant = compared.every((result) => result.beyond.high < result.within.low);
  const overlap = smallestDrop.beyond.low <= largestDrop.beyond.high && largestDrop.beyond.low <= smallestDrop.beyond.high;
  return [message(significant ? "length_all_fall" : "length_not_all_fall", ...figures(smallestDrop), ...figures(largestDrop)),
    message(overlap ? "length_overlap" : "length_apart")].join(" ");
}

/** How the scores were measured, and notes on single models. */
function notesList(results) {
  const notesFor = (test, note) => results.filter(test).map((result) => el("li", {}, note(result)));
  return el("details", { class: "length-notes" }, el("summary", {}, message("length_method")), el("ul", {},
    el("li", {}, message("length_signature"), " ", el("code", {}, results[0].signature)),
    el("li", {}, message("length_signature_one"), " ", el("code", {}, results[0].sentence_signature)),
    results[0].core_share < 1 && el("li", {}, message("length_core", formatNumber(100 * results[0].core_share, 0))),
    ...notesFor((result) => !result.on_primer, (result) => message("length_other_data", result.model)),
    ...notesFor((result) => result.unknown_share > 0, (result) => message("length_unknown", result.model, formatNumber(100 * result.unknown_share, 2))),
    ...notesFor((result) => result.skipped, (result) => message("length_skipped", result.model, result.skipped))));
}
