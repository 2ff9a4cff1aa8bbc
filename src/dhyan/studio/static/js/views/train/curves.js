/** A run's course as curves: the loss, and how good its translations are. */

import { el } from "../../dom.js";
import { chart } from "../../chart.js";
import { formatNumber } from "../../numbers.js";
import { addMessages, message } from "../../messages.js";

addMessages({
  train_loss: ["Loss", "हानि (loss)"],
  train_loss_axis: ["loss per token", "प्रति टोकन हानि"],
  train_step: ["step", "चरण"],
  train_training: ["training", "प्रशिक्षण"],
  train_validation: ["validation", "सत्यापन (validation)"],
  train_scores: ["Translations of unseen sentences", "अनदेखे वाक्यों के अनुवाद"],
  train_score: ["score, 0 to 100", "अंक, 0 से 100"],
  train_loss_is: ["The training loss goes from {0} to {1}.", "प्रशिक्षण की हानि {0} से {1} हुई।"],
  train_score_is: ["{0} goes from {1} to {2}.", "{0}: {1} से {2}।"],
  train_no_curves: ["This model came without the record of its training (metrics.jsonl).",
    "इस मॉडल के साथ उसके प्रशिक्षण का अभिलेख (metrics.jsonl) नहीं है।"],
});

const MOST_POINTS = 300;
const SCORES = { bleu: "BLEU", chrf: "chrF++" };

/**
 * Both charts; `follow(events, steps, expected)` draws all that was told, and says so if nothing
 * is to be expected; `at(step)` marks a checkpoint.
 * @param {(step: number) => void} choose called with the step of a point that is clicked
 */
export function curves(choose) {
  const missing = el("p", { class: "quiet", hidden: true }, message("train_no_curves"));
  const node = el("div", { class: "train-curves" }, missing);
  const drawn = new Map();

  function place(key, spec) {
    const shown = spec.series.length > 0;
    if (!drawn.has(key) && shown) {
      const made = chart({ ...spec, height: 240, legend: "top", choose: (_, point) => choose(point.x) });
      drawn.set(key, { made, block: el("div", { class: "train-curve" }, el("h2", {}, spec.label), made) });
      node.append(drawn.get(key).block);
    } else if (drawn.has(key)) {
      drawn.get(key).made.update(spec);
    }
    if (drawn.has(key)) drawn.get(key).block.hidden = !shown;
  }

  return {
    node,
    follow(events, steps, expected) {
      const x = { title: message("train_step"), from: 0, ...(steps ? { to: steps } : {}) };
      const validated = events.filter((one) => one.event === "validated");
      missing.hidden = expected;
      place("loss", lossOf(events.filter((one) => one.event === "stepped"), validated, x));
      place("scores", scoresOf(validated, x));
    },
    at(step) {
      for (const { made } of drawn.values()) made.update({ chosen: step });
    },
    picture: () => drawn.get("loss")?.made.picture ?? null,
  };
}

function lossOf(stepped, validated, x) {
  const training = thinned(stepped.map((one) => ({ x: one.step, y: one.loss })));
  const unseen = validated.filter((one) => Number.isFinite(one.scores.loss))
    .map((one) => ({ x: one.step, y: one.scores.loss }));
  const series = [{ name: message("train_training"), points: training, tone: 1, dots: false },
    { name: message("train_validation"), points: unseen, tone: 2, dots: true }]
    .filter((one) => one.points.length);
  return { label: message("train_loss"), x, y: { title: message("train_loss_axis"), from: 0 }, series,
    summary: training.length ? message("train_loss_is", formatNumber(training[0].y, 2), formatNumber(training.at(-1).y, 2)) : "" };
}

/** A score that is nought throughout is of a task it cannot measure: BLEU of single words. */
function scoresOf(validated, x) {
  const series = Object.entries(SCORES).map(([key, name], at) => ({ name, tone: at ? 4 : 3, dots: true,
    points: validated.filter((one) => key in one.scores).map((one) => ({ x: one.step, y: one.scores[key] })) }))
    .filter((one) => one.points.some((point) => point.y > 0));
  const summary = series.map(({ name, points }) =>
    message("train_score_is", name, formatNumber(points[0].y, 1), formatNumber(points.at(-1).y, 1))).join(" ");
  return { label: message("train_scores"), x, y: { title: message("train_score"), from: 0, to: 100 }, series, summary };
}

/** So many points as can be told apart: means of neighbours, the first and last kept as they are. */
function thinned(points) {
  const each = Math.ceil(points.length / MOST_POINTS);
  if (each <= 1) return points;
  const found = [points[0]];
  for (let at = 1; at < points.length - 1; at += each) {
    const some = points.slice(at, Math.min(at + each, points.length - 1));
    found.push({ x: some.at(-1).x, y: some.reduce((total, one) => total + one.y, 0) / some.length });
  }
  return [...found, points.at(-1)];
}
