/** Training view: curves of a run, attention at every checkpoint, and toy tasks to train. */

import { el, setChildren } from "../dom.js";
import { get, post, stream } from "../api.js";
import { formatNumber } from "../numbers.js";
import { state, set } from "../state.js";
import { message } from "../messages.js";
import { showStatus } from "../status.js";
import { sentenceFor } from "../example_sentences.js";
import { card, updateModels } from "../header.js";
import { curves } from "./training/curves.js";
import { probe } from "./training/probe.js";

/** @returns {View} */
export function open() {
  const choice = el("select", { on: { change: () => set({ run: choice.value, checkpoint: -1 }) } });
  const field = el("label", { class: "field" }, el("span", {}, message("train_run")), choice);
  const toys = el("div", { class: "toy-buttons" });
  const progressBox = el("div", { class: "toy-progress" });
  const probeView = probe((step) => charts.markStep(step));
  const charts = curves((step) => probeView.choose(probeView.nearestStep(step)), (metric) => labels[metric] ?? metric);
  const content = el("div", { class: "train-content" }, probeView.top, probeView.node, charts.node);
  const node = el("section", { class: "train", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_training")), field),
    el("section", { class: "card toys", "aria-labelledby": "toys-title" },
      el("h2", { id: "toys-title" }, message("train_now")), el("p", { class: "muted" }, message("train_now_text")), toys, progressBox),
    content);
  let runs = [];
  let labels = {};
  let currentRun = null;
  let events = [];
  let stop = new AbortController();
  let frameRequest = 0;

  async function loadRuns() {
    try {
      const response = await get("/api/runs", stop.signal);
      runs = response.runs.map(withModel);
      labels = response.metrics ?? {};
      setChildren(toys, response.toys.map((task) => el("button", { type: "button", "data-toy": task,
        on: { click: () => train(task) } }, message(`train_${task}`))));
      selectRun();
    } catch (error) {
      showStatus(error);
    }
  }

  /** Select the run of the URL, else a toy in training, the selected model, or the first run. */
  function selectRun() {
    const requested = runs.find((run) => run.name === state.run);
    if (state.run && !requested) showStatus(message("train_missing", state.run));
    const next = requested ?? runs.find((run) => run.toy && run.progress.state === "running")
      ?? runs.find((run) => run.name === state.model) ?? runs[0];
    options(next);
    content.hidden = field.hidden = !next;
    if (!next) return setChildren(progressBox, message("train_none"));
    return followRun(next);
  }

  function options(selected) {
    const group = (label, groupRuns) => groupRuns.length > 0 && el("optgroup", { label }, ...groupRuns.map((run) =>
      el("option", { value: run.name, selected: run === selected }, run.name)));
    setChildren(choice, group(message("train_models"), runs.filter((run) => !run.toy)),
      group(message("train_toys"), runs.filter((run) => run.toy)));
  }

  /** Stream the events of a run from the first one until it ends. */
  async function followRun(run) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    [currentRun, events] = [run, []];
    charts.update([], 0, run.curves || run.progress.state === "running");
    probeView.setRun(run);
    renderProgress(run.progress);
    try {
      await stream(`/api/runs/${encodeURIComponent(run.name)}/events`, null, (type, data) => handleEvent(type, data), signal);
      await finishRun(run, signal);
    } catch (error) {
      showStatus(error);
    }
  }

  function handleEvent(type, data) {
    if (type === "metrics") {
      events = data.rewritten ? data.events : [...events, ...data.events];
      cancelAnimationFrame(frameRequest);
      frameRequest = requestAnimationFrame(() => charts.update(events, currentRun.progress.steps, true));
    } else if (type === "progress") {
      const changed = data.checkpoints.length !== currentRun.checkpoints.length;
      [currentRun.progress, currentRun.checkpoints] = [data, data.checkpoints];
      renderProgress(data);
      if (changed) probeView.checkpoints(data.checkpoints);
    }
  }

  function renderProgress(status) {
    const running = currentRun.toy && status.state === "running";
    for (const button of toys.querySelectorAll("button")) button.disabled = runs.some((run) => run.toy && run.progress.state === "running");
    if (!running) return setChildren(progressBox, ...(currentRun.toy ? outcome(status) : []));
    const progressText = status.loss === null ? message("train_starting", currentRun.name)
      : message("train_progress", currentRun.name, status.step, status.steps, formatNumber(status.loss, 3))
        + (status.seconds_left === null ? "" : ` · ${message("train_left", Math.ceil(status.seconds_left))}`);
    const [bar, words] = [progressBox.querySelector("progress"), progressBox.querySelector("span")];
    if (!bar || !words) {
      setChildren(progressBox, el("progress", { max: status.steps, value: status.step, "aria-label": currentRun.name }),
        el("span", { class: "number" }, progressText), el("button", { type: "button", class: "cancel",
          on: { click: cancel } }, message("train_cancel")));
    } else {
      bar.value = status.step;
      words.textContent = progressText;
    }
    return progressBox;
  }

  /** Outcome of a toy's training, with a link. */
  function outcome(status) {
    if (status.state === "failed") return [el("span", { class: "error" }, message("train_failed", currentRun.name, status.error))];
    const outcomeText = status.state === "done" ? message("train_done", currentRun.name, status.step) : message("train_cancelled", currentRun.name, status.step);
    return [el("span", {}, outcomeText), status.step > 0 && el("button", { type: "button",
      on: { click: () => set({ view: "translate", model: currentRun.name, text: currentRun.probe, target: 1, source: 1, prefix: "" }) } }, message("train_open"))];
  }

  async function finishRun(run, signal) {
    charts.update(events, currentRun.progress.steps, events.length > 0);
    probeView.checkpoints(run.checkpoints);
    if (!run.checkpoints.length) probeView.showNone();
    if (!run.announceEnd) return;
    run.announceEnd = false;
    updateModels(await get("/api/models", signal));
    const { state: outcomeState, step, error: problem } = run.progress;
    showStatus(outcomeState === "failed" ? message("train_failed", run.name, problem)
      : message(outcomeState === "done" ? "train_done" : "train_cancelled", run.name, step));
  }

  async function train(task) {
    for (const button of toys.querySelectorAll("button")) button.disabled = true;
    try {
      const run = { ...withModel(await post("/api/toys", { task })), announceEnd: true };
      runs = [...runs, run];
      content.hidden = field.hidden = false;
      set({ run: run.name, checkpoint: -1 });
    } catch (error) {
      showStatus(error);
      for (const button of toys.querySelectorAll("button")) button.disabled = false;
    }
  }

  async function cancel() {
    try {
      await post(`/api/toys/${encodeURIComponent(currentRun.name)}/cancel`, {});
    } catch (error) {
      showStatus(error);
    }
  }

  loadRuns();
  return {
    node,
    showsSentence: () => Boolean(currentRun) && !currentRun.toy,
    update(changed) {
      if (changed.has("run")) selectRun();
      else if (["text", "unit", "specials"].some((key) => changed.has(key)) && currentRun) probeView.setRun(currentRun);
      else if (["checkpoint", "scale"].some((key) => changed.has(key))) probeView.render();
    },
    exportData() {
      const probed = probeView.current();
      return { picture: probeView.picture(), trace: probed?.trace ?? null,
        table: probed && { values: probed.values, rows: probed.rows.map((row) => row.text), columns: probed.columns.map((column) => column.text) } };
    },
    close() {
      stop.abort();
      probeView.close();
      cancelAnimationFrame(frameRequest);
    },
  };
}

/** Add what is known of the model: its languages, and a sentence of its task; a toy still in training is announced when it ends. */
function withModel(run) {
  if (run.toy) return { ...run, announceEnd: run.progress.state === "running" };
  const modelCard = card(run.name);
  return { ...run, announceEnd: false, probe: sentenceFor(modelCard, run.probe),
    languages: [modelCard?.source_language ?? "en", modelCard?.target_language ?? "hi"] };
}
