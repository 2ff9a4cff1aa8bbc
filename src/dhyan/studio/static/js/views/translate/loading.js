/** Progress of a model that is loading, or of a wait for another request. */

import { el, setChildren } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";

const STAGES = { queue: 0, pytorch: 1, weights: 2 };
const LAST = 3; // the translation itself
const TICK = 200; // milliseconds

/** `show(stage, model)` shows a stage in a box, `stop()` ends it. @param {HTMLElement} box */
export function loadingProgress(box) {
  const began = performance.now();
  const seconds = el("span", { class: "number", "aria-hidden": "true" });
  const timer = setInterval(() => { seconds.textContent = message("loading_seconds", formatNumber((performance.now() - began) / 1000, 1)); }, TICK);
  return {
    show(stage, model) {
      const text = message(`loading_${stage}`, model);
      setChildren(box, el("div", { class: "loading-notice card", role: "status" },
        el("progress", { max: LAST, value: STAGES[stage] || null, "aria-label": text }), el("span", {}, text), seconds));
    },
    stop: () => clearInterval(timer),
  };
}
