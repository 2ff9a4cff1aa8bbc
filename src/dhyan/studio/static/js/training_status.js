/** Models that are still in training when the page opens: how far they are, until they are here. */

import { el, fill } from "./dom.js";
import { get } from "./api.js";
import { addMessages, message } from "./messages.js";
import { updateModels } from "./header.js";
import { state, set, subscribe } from "./state.js";

const EVERY = 1500; // milliseconds

addMessages({
  coming_title: ["The demo models are being trained, once; each is listed when it is done.",
    "डेमो मॉडल प्रशिक्षित हो रहे हैं, बस इसी बार; हर मॉडल पूरा होते ही सूची में आ जाएगा।"],
  coming_meanwhile: ["Meanwhile, without a model:", "तब तक, बिना मॉडल के:"],
  coming_waiting: ["queued", "बारी की प्रतीक्षा में"],
  coming_begins: ["starting", "शुरू हो रहा है"],
  coming_left: ["{0} s left", "{0} सेकंड शेष"],
  coming_done: ["ready", "तैयार"],
  coming_failed: ["failed: {0}", "विफल: {0}"],
});

const place = document.querySelector("#coming");
let told = [];

/** Look now and then, until all are here. */
export async function pollTrainingStatus() {
  subscribe((changed) => changed.has("language") && draw());
  for (;;) {
    const before = told.filter((one) => one.state === "done").length;
    told = await get("/api/models/pending").catch(() => []);
    draw();
    if (told.filter((one) => one.state === "done").length > before) await welcome();
    if (!told.some((one) => one.state === "waiting" || one.state === "running")) return;
    await new Promise((go) => setTimeout(go, EVERY));
  }
}

/** Take the new ones up; the first of all is asked at once. */
async function welcome() {
  const models = await get("/api/models").catch(() => null);
  if (!models) return;
  updateModels(models);
  if (!state.model && models.length) set({ model: models[0].name }, { quiet: true });
}

function draw() {
  const open = told.some((one) => one.state !== "done");
  place.hidden = !open;
  if (!open) return fill(place);
  const link = (view) => el("a", { href: `/${view}`, on: { click: (event) => {
    event.preventDefault();
    set({ view });
  } } }, message(`view_${view}`));
  return fill(place, el("p", {}, message("coming_title")),
    el("ul", {}, ...told.map((one) => el("li", {}, el("b", {}, one.name),
      el("progress", { max: one.steps || 1, value: one.state === "done" ? one.steps : one.step,
        "aria-label": one.name }),
      el("span", { class: one.state === "failed" ? "problem" : "quiet" }, words(one))))),
    state.model ? null : el("p", {}, message("coming_meanwhile"), " ", link("qkv"), " · ", link("scale"), " · ",
      link("gravity")));
}

function words(one) {
  if (one.state === "waiting") return message("coming_waiting");
  if (one.state === "done") return message("coming_done");
  if (one.state === "failed") return message("coming_failed", one.error);
  return one.seconds_left === null ? message("coming_begins")
    : message("coming_left", Math.ceil(one.seconds_left));
}
