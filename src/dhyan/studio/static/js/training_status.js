/** Progress of the demo models that are still in training. */

import { el, setChildren } from "./dom.js";
import { get } from "./api.js";
import { addMessages, message } from "./messages.js";
import { updateModels } from "./header.js";
import { state, set, subscribe } from "./state.js";

const POLL_INTERVAL = 1500; // milliseconds

addMessages({
  pending_title: ["The demo models are being trained, once; each is listed when it is done.",
    "डेमो मॉडल प्रशिक्षित हो रहे हैं, बस इसी बार; हर मॉडल पूरा होते ही सूची में आ जाएगा।"],
  pending_meanwhile: ["Meanwhile, without a model:", "तब तक, बिना मॉडल के:"],
  pending_queued: ["queued", "बारी की प्रतीक्षा में"],
  pending_starting: ["starting", "शुरू हो रहा है"],
  pending_left: ["{0} s left", "{0} सेकंड शेष"],
  pending_done: ["ready", "तैयार"],
  pending_failed: ["failed: {0}", "विफल: {0}"],
});

const container = document.querySelector("#training-status");
let pending = [];

/** Poll until no model is in training. */
export async function pollTrainingStatus() {
  subscribe((changed) => changed.has("language") && draw());
  for (;;) {
    const finishedBefore = pending.filter((model) => model.state === "done").length;
    pending = await get("/api/models/pending").catch(() => []);
    draw();
    if (pending.filter((model) => model.state === "done").length > finishedBefore) await updateFinished();
    if (!pending.some((model) => model.state === "waiting" || model.state === "running")) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
  }
}

/** Add finished models to the list; the first one is selected at once. */
async function updateFinished() {
  const models = await get("/api/models").catch(() => null);
  if (!models) return;
  updateModels(models);
  if (!state.model && models.length) set({ model: models[0].name }, { replace: true });
}

function draw() {
  const open = pending.some((model) => model.state !== "done");
  container.hidden = !open;
  if (!open) return setChildren(container);
  const link = (view) => el("a", { href: `/${view}`, on: { click: (event) => {
    event.preventDefault();
    set({ view });
  } } }, message(`view_${view}`));
  return setChildren(container, el("p", {}, message("pending_title")),
    el("ul", {}, ...pending.map((model) => el("li", {}, el("b", {}, model.name),
      el("progress", { max: model.steps || 1, value: model.state === "done" ? model.steps : model.step,
        "aria-label": model.name }),
      el("span", { class: model.state === "failed" ? "error" : "muted" }, describeProgress(model))))),
    state.model ? null : el("p", {}, message("pending_meanwhile"), " ", link("qkv"), " · ", link("scale"), " · ",
      link("gravity")));
}

function describeProgress(model) {
  if (model.state === "waiting") return message("pending_queued");
  if (model.state === "done") return message("pending_done");
  if (model.state === "failed") return message("pending_failed", model.error);
  return model.seconds_left === null ? message("pending_starting")
    : message("pending_left", Math.ceil(model.seconds_left));
}
