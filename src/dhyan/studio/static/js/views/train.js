/** Training view: curves of a run, attention at every checkpoint, and toy tasks to train. */

import { el, setChildren } from "../dom.js";
import { get, post, stream } from "../api.js";
import { formatNumber } from "../numbers.js";
import { state, set } from "../state.js";
import { addMessages, message } from "../messages.js";
import { showStatus } from "../status.js";
import { card, updateModels } from "../header.js";
import { curves } from "./train/curves.js";
import { probe } from "./train/probe.js";

addMessages({
  train_run: ["Run", "रन"],
  train_models: ["Models", "मॉडल"],
  train_toys: ["Toys", "खिलौना-कार्य"],
  train_now: ["Train a toy now", "अभी एक खिलौना-कार्य सिखाइए"],
  train_now_text: ["A small model with additive attention learns one of these tasks in less than a minute.",
    "योगात्मक अवधान वाला एक छोटा मॉडल इनमें से कोई एक कार्य एक मिनट से कम में सीखता है।"],
  train_copy: ["Copy letters", "वर्णों की नक़ल"],
  train_reverse: ["Reverse letters", "वर्ण उलटना"],
  train_dates: ["Write dates", "तारीख़ें लिखना"],
  train_hindi: ["English → Hindi", "अंग्रेज़ी → हिंदी"],
  train_cancel: ["Cancel", "रद्द कीजिए"],
  train_starting: ["{0}: generating its data …", "{0}: डेटा बनाया जा रहा है …"],
  train_progress: ["{0}: step {1} of {2}, loss {3}", "{0}: चरण {1} / {2}, हानि {3}"],
  train_left: ["about {0} s left", "लगभग {0} सेकंड शेष"],
  train_done: ["{0} is trained for {1} steps and is in the list of models now.",
    "{0} ने {1} चरणों तक सीखा। वह अब मॉडलों में है।"],
  train_cancelled: ["{0} was stopped at step {1}.", "{0} चरण {1} पर रोक दिया गया।"],
  train_failed: ["{0} failed: {1}", "{0} विफल रहा: {1}"],
  train_open: ["Open it in Translate", "अनुवाद में खोलिए"],
  train_missing: ["There is no run {0} here any more.", "यहाँ {0} नाम का रन अब नहीं है।"],
  train_none: ["There is no run yet: train a toy.", "अभी कोई रन नहीं है: कोई खिलौना-कार्य सिखाइए।"],
});

export const lesson = {
  title: ["Attention during training", "अवधान सीखा जाता है"],
  text: ["At step 0 the weights are random numbers and every row is nearly even. Attention is not supervised: only the loss of the predicted words is minimised.\nThe strip shows the same sentence at each checkpoint. Train a toy and watch the map change while the loss falls.",
    "चरण 0 पर भार यादृच्छिक संख्याएँ हैं और हर पंक्ति लगभग बराबर बँटी है। अवधान पर्यवेक्षित नहीं है: केवल अनुमानित शब्दों की हानि घटाई जाती है।\nपट्टी में वही वाक्य हर चेकपॉइंट पर दिखता है। कोई खिलौना-कार्य सिखाइए और देखिए कि हानि घटते-घटते मानचित्र कैसे बनता है।"],
  question: ["A model learns to reverse letters. Along which diagonal are the large weights after training?",
    "एक मॉडल वर्ण उलटना सीखता है। सीखने के बाद बड़े भार किस विकर्ण पर होंगे?"],
  answer: ["From the upper right to the lower left: the first output letter is the last input letter.",
    "ऊपर दाएँ से नीचे बाएँ: आउटपुट का पहला वर्ण इनपुट का अंतिम वर्ण है।"],
};

export function open() {
  const choice = el("select", { on: { change: () => set({ run: choice.value, checkpoint: -1 }) } });
  const field = el("label", { class: "field" }, el("span", {}, message("train_run")), choice);
  const toys = el("div", { class: "toy-buttons" });
  const progressBox = el("div", { class: "toy-progress" });
  const probeView = probe((step) => charts.markStep(step));
  const charts = curves((step) => probeView.choose(probeView.nearestStep(step)));
  const content = el("div", { class: "train-content" }, probeView.top, probeView.node, charts.node);
  const node = el("section", { class: "train", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_train")), field),
    el("section", { class: "card toys", "aria-labelledby": "toys-title" },
      el("h2", { id: "toys-title" }, message("train_now")), el("p", { class: "muted" }, message("train_now_text")), toys, progressBox),
    content);
  let runs = [];
  let currentRun = null;
  let events = [];
  let stop = new AbortController();
  let frameRequest = 0;

  async function loadRuns() {
    try {
      const response = await get("/api/runs", stop.signal);
      runs = response.runs.map(withLanguages);
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
    content.hidden = !next;
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
    for (const button of toys.children) button.disabled = runs.some((run) => run.toy && run.progress.state === "running");
    if (!running) return setChildren(progressBox, ...(currentRun.toy ? outcome(status) : []));
    const progressText = status.loss === null ? message("train_starting", currentRun.name)
      : message("train_progress", currentRun.name, status.step, status.steps, formatNumber(status.loss, 3))
        + (status.seconds_left === null ? "" : ` · ${message("train_left", Math.ceil(status.seconds_left))}`);
    const bar = progressBox.querySelector("progress");
    if (!bar) {
      setChildren(progressBox, el("progress", { max: status.steps, value: status.step, "aria-label": currentRun.name }),
        el("span", { class: "number" }, progressText), el("button", { type: "button", class: "cancel",
          on: { click: cancel } }, message("train_cancel")));
    } else {
      bar.value = status.step;
      progressBox.querySelector("span").textContent = progressText;
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
    if (!run.announceEnd) return;
    run.announceEnd = false;
    updateModels(await get("/api/models", signal));
    const { state: outcomeState, step, error: problem } = run.progress;
    showStatus(outcomeState === "failed" ? message("train_failed", run.name, problem)
      : message(outcomeState === "done" ? "train_done" : "train_cancelled", run.name, step));
  }

  async function train(task) {
    for (const button of toys.children) button.disabled = true;
    try {
      const run = { ...withLanguages(await post("/api/toys", { task })), announceEnd: true };
      runs = [...runs, run];
      content.hidden = false;
      set({ run: run.name, checkpoint: -1 });
    } catch (error) {
      showStatus(error);
      for (const button of toys.children) button.disabled = false;
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

/** Add the languages of the model; a toy still in training is announced when it ends. */
function withLanguages(run) {
  const modelCard = card(run.name);
  return { ...run, announceEnd: run.toy && run.progress.state === "running",
    languages: modelCard ? [modelCard.source_language, modelCard.target_language] : ["en", "hi"] };
}
