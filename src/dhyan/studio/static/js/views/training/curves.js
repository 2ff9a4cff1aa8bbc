/** Training curves: loss and validation scores. */

import { el } from "../../dom.js";
import { chart } from "../../chart.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";

const MAX_POINTS = 300;
const SCORE_COLORS = [3, 4, 5, 6, 7, 8];

/**
 * Both charts; `update(events, steps, expected)` draws the events, with a notice if none
 * are expected; `markStep(step)` marks a checkpoint.
 * @param {(step: number) => void} choose called with the step of a point that is clicked
 * @param {(metric: string) => string} label the label of a metric
 */
export function curves(choose, label) {
  const emptyNotice = el("p", { class: "muted", hidden: true }, message("train_no_curves"));
  const node = el("div", { class: "train-curves" }, emptyNotice);
  const charts = new Map();

  function renderChart(key, spec) {
    const visible = spec.series.length > 0;
    if (!charts.has(key) && visible) {
      const figure = chart({ ...spec, height: 240, legend: "top", onSelect: (_, point) => choose(point.x) });
      charts.set(key, { figure, block: el("div", { class: "train-curve" }, el("h2", {}, spec.label), figure) });
      node.append(charts.get(key).block);
    } else if (charts.has(key)) {
      charts.get(key).figure.update(spec);
    }
    if (charts.has(key)) charts.get(key).block.hidden = !visible;
  }

  return {
    node,
    update(events, steps, expected) {
      const x = { title: message("train_step"), from: 0, ...(steps ? { to: steps } : {}) };
      const validationEvents = events.filter((event) => event.event === "validated");
      emptyNotice.hidden = expected;
      renderChart("loss", lossOf(events.filter((event) => event.event === "stepped"), validationEvents, x));
      renderChart("scores", scoresOf(validationEvents, x, label));
    },
    markStep(step) {
      for (const { figure } of charts.values()) figure.update({ selectedX: step });
    },
    picture: () => charts.get("loss")?.figure.picture ?? null,
  };
}

function lossOf(stepEvents, validationEvents, x) {
  const training = downsample(stepEvents.map((event) => ({ x: event.step, y: event.loss })));
  const validation = validationEvents.filter((event) => Number.isFinite(event.scores.loss))
    .map((event) => ({ x: event.step, y: event.scores.loss }));
  const series = [{ name: message("train_training"), points: training, colorIndex: 1, dots: false },
    { name: message("train_validation"), points: validation, colorIndex: 2, dots: true }]
    .filter((line) => line.points.length);
  return { label: message("train_loss"), x, y: { title: message("train_loss_axis"), from: 0 }, series,
    summary: training.length ? message("train_loss_is", formatNumber(training[0].y, 2), formatNumber(training.at(-1).y, 2)) : "" };
}

/** A score that is always 0 does not fit the task (BLEU of single words) and is not drawn. */
function scoresOf(validationEvents, x, label) {
  const keys = [...new Set(validationEvents.flatMap((event) => Object.keys(event.scores)))].filter((key) => key !== "loss");
  const series = keys.map((key, index) => ({ name: label(key), colorIndex: SCORE_COLORS[index % SCORE_COLORS.length], dots: true,
    points: validationEvents.filter((event) => key in event.scores).map((event) => ({ x: event.step, y: event.scores[key] })) }))
    .filter((line) => line.points.some((point) => point.y > 0));
  const summary = series.map(({ name, points }) =>
    message("train_score_is", name, formatNumber(points[0].y, 1), formatNumber(points.at(-1).y, 1))).join(" ");
  const highest = Math.max(100, ...series.flatMap((line) => line.points.map((point) => point.y)));  // an error rate may exceed 100
  return { label: message("train_scores"), x, y: { title: message("train_score"), from: 0, to: highest }, series, summary };
}

/** Downsample by averaging neighbours; the first and last point are kept. */
function downsample(points) {
  const groupSize = Math.ceil(points.length / MAX_POINTS);
  if (groupSize <= 1) return points;
  const averaged = [points[0]];
  for (let start = 1; start < points.length - 1; start += groupSize) {
    const neighbours = points.slice(start, Math.min(start + groupSize, points.length - 1));
    averaged.push({ x: neighbours.at(-1).x, y: neighbours.reduce((total, point) => total + point.y, 0) / neighbours.length });
  }
  return [...averaged, points.at(-1)];
}
