/** Training: the curves of a run, its attention at every checkpoint, and toys that learn at once. */

import { el, fill } from "../dom.js";
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
  train_now_text: ["A small model with additive attention learns one of these while you watch, in less than a minute.",
    "योगात्मक अवधान वाला एक छोटा मॉडल आपके देखते-देखते इनमें से कोई एक सीखता है, एक मिनट से कम में।"],
  train_copy: ["Copy letters", "अक्षरों की नक़ल"],
  train_reverse: ["Reverse letters", "अक्षर उलटना"],
  train_dates: ["Write dates", "तारीख़ें लिखना"],
  train_hindi: ["English → Hindi", "अंग्रेज़ी → हिंदी"],
  train_cancel: ["Cancel", "रद्द करें"],
  train_starting: ["{0}: making its sentences …", "{0}: वाक्य बनाए जा रहे हैं …"],
  train_going: ["{0}: step {1} of {2}, loss {3}", "{0}: चरण {1} / {2}, हानि {3}"],
  train_left: ["about {0} s left", "लगभग {0} से॰ शेष"],
  train_done: ["{0} is trained for {1} steps and is in the list of models now.",
    "{0} ने {1} चरणों तक सीखा। वह अब मॉडलों में है।"],
  train_cancelled: ["{0} was stopped at step {1}.", "{0} चरण {1} पर रोक दिया गया।"],
  train_failed: ["{0} failed: {1}", "{0} विफल रहा: {1}"],
  train_open: ["Open it in Translate", "अनुवाद में खोलिए"],
  train_gone: ["There is no run {0} here any more.", "यहाँ {0} नाम का रन अब नहीं है।"],
  train_none: ["There is no run yet: train a toy.", "अभी कोई रन नहीं है: कोई खिलौना-कार्य सिखाइए।"],
});

export const lesson = {
  title: ["Attention during training", "अवधान सीखा जाता है"],
  text: ["At step 0 the weights are random numbers and every row is nearly even. Attention is not supervised: only the loss of the predicted words is minimised.\nThe strip shows the same sentence at each checkpoint. Train a toy and watch the map fill in while the loss falls.",
    "चरण 0 पर भार यादृच्छिक संख्याएँ हैं और हर पंक्ति लगभग बराबर बँटी है। मॉडल को कभी नहीं बताया जाता कि कहाँ देखना है: केवल उसके शब्दों की हानि घटाई जाती है।\nपट्टी में वही वाक्य हर चेकपॉइंट पर दिखता है। कोई खिलौना-कार्य सिखाइए और देखिए कि हानि घटते-घटते मानचित्र कैसे बनता है।"],
  ask: ["A model learns to reverse letters. Which way will the dark cells run when it can?",
    "एक मॉडल अक्षर उलटना सीखता है। सीख लेने पर गहरे ख़ाने किस दिशा में जाएँगे?"],
  answer: ["From the upper right to the lower left: the first letter said is the last one read.",
    "ऊपर दाएँ से नीचे बाएँ: जो अक्षर पहले कहा जाता है वही अंत में पढ़ा गया था।"],
};

export function open() {
  const choice = el("select", { on: { change: () => set({ run: choice.value, checkpoint: -1 }) } });
  const field = el("label", { class: "field" }, el("span", {}, message("train_run")), choice);
  const toys = el("div", { class: "toy-buttons" });
  const going = el("div", { class: "toy-going" });
  const seen = probe((step) => lines.at(step));
  const lines = curves((step) => seen.choose(seen.near(step)));
  const both = el("div", { class: "train-both" }, seen.top, seen.node, lines.node);
  const node = el("section", { class: "train", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_train")), field),
    el("section", { class: "card toys", "aria-labelledby": "toys-title" },
      el("h2", { id: "toys-title" }, message("train_now")), el("p", { class: "quiet" }, message("train_now_text")), toys, going),
    both);
  let runs = [];
  let shown = null;
  let events = [];
  let stop = new AbortController();
  let drawing = 0;

  async function begin() {
    try {
      const found = await get("/api/runs", stop.signal);
      runs = found.runs.map(spoken);
      fill(toys, found.toys.map((kind) => el("button", { type: "button", "data-toy": kind,
        on: { click: () => train(kind) } }, message(`train_${kind}`))));
      pick();
    } catch (error) {
      showStatus(error);
    }
  }

  /** The run the address names; else one in training, the model that is asked, or the first. */
  function pick() {
    const named = runs.find((one) => one.name === state.run);
    if (state.run && !named) showStatus(message("train_gone", state.run));
    const next = named ?? runs.find((one) => one.toy && one.progress.state === "running")
      ?? runs.find((one) => one.name === state.model) ?? runs[0];
    options(next);
    both.hidden = !next;
    if (!next) return fill(going, message("train_none"));
    return follow(next);
  }

  function options(chosen) {
    const group = (label, some) => some.length > 0 && el("optgroup", { label }, ...some.map((one) =>
      el("option", { value: one.name, selected: one === chosen }, one.name)));
    fill(choice, group(message("train_models"), runs.filter((one) => !one.toy)),
      group(message("train_toys"), runs.filter((one) => one.toy)));
  }

  /** Hear a run from its first line on, until it has ended. */
  async function follow(run) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    [shown, events] = [run, []];
    lines.follow([], 0, run.curves || run.progress.state === "running");
    seen.about(run);
    progress(run.progress);
    try {
      await stream(`/api/runs/${encodeURIComponent(run.name)}/events`, null, (kind, data) => hear(kind, data), signal);
      await ended(run, signal);
    } catch (error) {
      showStatus(error);
    }
  }

  function hear(kind, data) {
    if (kind === "metrics") {
      events = data.rewritten ? data.events : [...events, ...data.events];
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(() => lines.follow(events, shown.progress.steps, true));
    } else if (kind === "progress") {
      const more = data.checkpoints.length !== shown.checkpoints.length;
      [shown.progress, shown.checkpoints] = [data, data.checkpoints];
      progress(data);
      if (more) seen.checkpoints(data.checkpoints);
    }
  }

  function progress(now) {
    const running = shown.toy && now.state === "running";
    for (const one of toys.children) one.disabled = runs.some((run) => run.toy && run.progress.state === "running");
    if (!running) return fill(going, ...(shown.toy ? outcome(now) : []));
    const words = now.loss === null ? message("train_starting", shown.name)
      : message("train_going", shown.name, now.step, now.steps, formatNumber(now.loss, 3))
        + (now.seconds_left === null ? "" : ` · ${message("train_left", Math.ceil(now.seconds_left))}`);
    const bar = going.querySelector("progress");
    if (!bar) {
      fill(going, el("progress", { max: now.steps, value: now.step, "aria-label": shown.name }),
        el("span", { class: "number" }, words), el("button", { type: "button", class: "cancel",
          on: { click: cancel } }, message("train_cancel")));
    } else {
      bar.value = now.step;
      going.querySelector("span").textContent = words;
    }
    return going;
  }

  /** How a toy's training came out, and where to go with it. */
  function outcome(now) {
    if (now.state === "failed") return [el("span", { class: "problem" }, message("train_failed", shown.name, now.error))];
    const words = now.state === "done" ? message("train_done", shown.name, now.step) : message("train_cancelled", shown.name, now.step);
    return [el("span", {}, words), now.step > 0 && el("button", { type: "button",
      on: { click: () => set({ view: "translate", model: shown.name, text: shown.probe, target: 1, source: 1, prefix: "" }) } }, message("train_open"))];
  }

  async function ended(run, signal) {
    lines.follow(events, shown.progress.steps, events.length > 0);
    seen.checkpoints(run.checkpoints);
    if (!run.fresh) return;
    run.fresh = false;
    updateModels(await get("/api/models", signal));
    const { state: how, step, error: problem } = run.progress;
    showStatus(how === "failed" ? message("train_failed", run.name, problem)
      : message(how === "done" ? "train_done" : "train_cancelled", run.name, step));
  }

  async function train(kind) {
    for (const one of toys.children) one.disabled = true;
    try {
      const run = { ...spoken(await post("/api/toys", { kind })), fresh: true };
      runs = [...runs, run];
      both.hidden = false;
      set({ run: run.name, checkpoint: -1 });
    } catch (error) {
      showStatus(error);
      for (const one of toys.children) one.disabled = false;
    }
  }

  async function cancel() {
    try {
      await post(`/api/toys/${encodeURIComponent(shown.name)}/cancel`, {});
    } catch (error) {
      showStatus(error);
    }
  }

  begin();
  return {
    node,
    update(changed) {
      if (changed.has("run")) pick();
      else if (["text", "unit", "specials"].some((key) => changed.has(key)) && shown) seen.about(shown);
      else if (["checkpoint", "scale"].some((key) => changed.has(key))) seen.see();
    },
    taken() {
      const now = seen.seen();
      return { picture: seen.picture(), trace: now?.trace ?? null,
        table: now && { values: now.values, rows: now.rows.map((one) => one.text), columns: now.columns.map((one) => one.text) } };
    },
    close() {
      stop.abort();
      seen.close();
      cancelAnimationFrame(drawing);
    },
  };
}

/** A run with the languages of its model; one in training when the page finds it is news at its end. */
function spoken(run) {
  const known = card(run.name);
  return { ...run, fresh: run.toy && run.progress.state === "running",
    languages: known ? [known.source_language, known.target_language] : ["en", "hi"] };
}
