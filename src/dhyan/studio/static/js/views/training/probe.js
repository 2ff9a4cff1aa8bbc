/** Probe sentence by checkpoint: strip, attention map and translation. */

import { el, setChildren, text } from "../../dom.js";
import { post } from "../../api.js";
import { drawHeatmap } from "../../heatmap.js";
import { formatNumber } from "../../numbers.js";
import { colorScaleOf, state, set, showsSpecials } from "../../state.js";
import { message } from "../../messages.js";
import { showStatus } from "../../status.js";
import { blockAt, heads, mergeUnits, selectHead } from "../../trace.js";
import { replayStrip, frames, meanMaxWeight } from "./replay.js";

const PLAY_INTERVAL = 650; // milliseconds per checkpoint while playing

/**
 * `top` is the strip, `node` the map; `setRun(run)` selects a run, `checkpoints(steps)` sets its checkpoints, `render()`
 * shows the selected one, `close()` stops.
 * @param {(step: number) => void} onStep called with the displayed step
 */
export function probe(onStep) {
  const sentence = el("p", { class: "probe-sentence" });
  const picture = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("train_probe") });
  const words = el("p", { class: "probe-output", "aria-live": "polite" });
  const notes = el("p", { class: "muted" });
  const play = el("button", { type: "button", on: { click: () => toggle() } }, `▶ ${message("train_play")}`);
  const strip = replayStrip((step) => choose(step));
  const top = el("div", { class: "train-strip" },
    el("div", { class: "probe-head" }, el("h2", {}, message("train_probe")), sentence, play), strip.node);
  const node = el("div", { class: "train-probe" }, words, picture, notes);
  let run = null;
  let steps = [];
  let responses = new Map(); // step → response and attention matrix
  let stop = new AbortController();
  let loading = false;
  let timer = 0;

  const probeText = () => (run.toy || !state.text ? run.probe : state.text);
  const newest = () => steps.at(-1);
  const selectedStep = () => (steps.includes(state.checkpoint) ? state.checkpoint : newest());

  function setRun(next) {
    stop.abort();
    stop = new AbortController();
    [run, steps, responses, loading] = [next, [], new Map(), false];
    pause();
    const lang = sides(run)[0];
    setChildren(sentence, el("span", { class: "muted" }, message("train_probe_sentence")), " ", text(probeText(), lang));
    setChildren(picture, el("p", { class: "muted" }, message("train_waiting")));
    setChildren(words);
    setChildren(notes);
    checkpoints(run.checkpoints);
  }

  /** @param {number[]} saved */
  function checkpoints(saved) {
    steps = frames(saved);
    if (state.checkpoint >= 0 && saved.includes(state.checkpoint) && !steps.includes(state.checkpoint)) {
      steps = [...steps, state.checkpoint].sort((a, b) => a - b);
    }
    top.classList.toggle("single", steps.length < 2);
    render();
    loadProbes();
  }

  /** Request the probe at every checkpoint without a response, the selected one first. */
  async function loadProbes() {
    if (loading) return;
    loading = true;
    const { signal } = stop;
    for (;;) {
      const missing = steps.filter((step) => !responses.has(step));
      const step = missing.includes(selectedStep()) ? selectedStep() : missing[0];
      if (step === undefined) break;
      try {
        const response = await post("/api/probe", { run: run.name, step, text: probeText() }, signal);
        responses.set(step, { ...response, rowsFrom: response.target, ...table(response.trace, run) });
      } catch (error) {
        if (error.name === "AbortError") return;
        showStatus(error);
        break;
      }
      render();
    }
    loading = false;
  }

  function render() {
    const values = new Map([...responses].map(([step, response]) => [step, response.values]));
    strip.show(steps, values, selectedStep());
    if (selectedStep() !== undefined) onStep(selectedStep());
    const response = responses.get(selectedStep());
    if (!response) return;
    const [source, target] = sides(run);
    setChildren(picture, !response.attends ? el("p", {}, message("no_attention")) : drawHeatmap({ values: response.values,
      rows: response.rows.map((row) => ({ text: row.text, lang: target })),
      columns: response.columns.map((column) => ({ text: column.text, lang: source })),
      label: message("train_map", selectedStep()), scale: colorScaleOf(Math.max(response.rows.length, response.columns.length)), maxWidth: picture.clientWidth || 420,
      describe: (row, column, value) => message("attends", response.rows[row].text, response.columns[column].text, formatNumber(value)) }));
    setChildren(words, el("span", { class: "muted" }, message("train_output", selectedStep())), " ", text(response.translation || "…", target),
      response.correct !== null && el("span", { class: response.correct ? "probe-correct" : "probe-incorrect" },
        response.correct ? ` ✓ ${message("train_correct")}` : ` ✗ ${message("train_incorrect")}`));
    setChildren(notes, response.attends && message("train_max_weight", formatNumber(meanMaxWeight(response.values), 2), formatNumber(1 / response.columns.length, 2)), " ",
      message(`train_rows_${response.rowsFrom}`), response.many ? ` ${message("train_heads")}` : "",
      steps.length === 1 && !run.toy ? ` ${message("train_single")}` : "");
  }

  function choose(step) {
    pause();
    set({ checkpoint: step }, { replace: true });
  }

  function toggle() {
    if (timer) return pause();
    if (steps.length < 2) return;
    if (selectedStep() === newest()) set({ checkpoint: steps[0] }, { replace: true });
    play.textContent = `❚❚ ${message("train_pause")}`;
    timer = setInterval(() => {
      const next = steps[steps.indexOf(selectedStep()) + 1];
      if (next === undefined) pause();
      else if (responses.has(next)) set({ checkpoint: next === newest() ? -1 : next }, { replace: true });
    }, PLAY_INTERVAL);
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    play.textContent = `▶ ${message("train_play")}`;
  }

  document.addEventListener("toggle-play", toggle);
  return {
    top, node, setRun, checkpoints, render,
    /** The checkpoint nearest to a step. */
    nearestStep: (step) => steps.reduce((best, candidate) => (Math.abs(candidate - step) < Math.abs(best - step) ? candidate : best), steps[0]),
    choose,
    /** The run ended without a checkpoint. */
    showNone: () => setChildren(picture, el("p", { class: "muted" }, message("train_no_checkpoint"))),
    current: () => responses.get(selectedStep()) ?? null,
    picture: () => picture.querySelector("svg"),
    close() {
      stop.abort();
      pause();
      document.removeEventListener("toggle-play", toggle);
    },
  };
}

/** Source and target language; most toys have none. */
const sides = (run) => run.languages ?? [null, null];

/** Cross-attention of the last layer, averaged over heads. */
function table(trace, run) {
  const block = blockAt(trace, "cross", 99);
  const tables = block ? heads(block) : [];
  const weights = block ? selectHead(tables, "avg") : trace.target.tokens.map(() => trace.source.tokens.map(() => 0));
  const options = { unit: run.toy ? "token" : state.unit, specials: showsSpecials() };
  const { values, rows, columns } = mergeUnits(trace, "cross", weights, options);
  return { values, rows, columns, attends: Boolean(block), many: tables.length > 1 };
}
