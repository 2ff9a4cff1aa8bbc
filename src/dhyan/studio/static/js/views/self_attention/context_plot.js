/** Plot of two-dimensional values and context vectors; a context lies in the convex hull of the values. */

import { setChildren, svg } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { planeScale } from "../../scales.js";

const [WIDTH, HEIGHT, PADDING] = [460, 300, 54];
const BOX = { left: PADDING, right: WIDTH - PADDING, above: PADDING, below: HEIGHT - PADDING };
const LINE = 16; // distance between overlapping labels

/** The plot; `show()` redraws it. @param {{toy: {words: string[]}, result: {values: number[][], context: number[][]}}} session */
export function contextPlot(session) {
  const node = svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img" });

  function show() {
    const { values, context } = session.result;
    const { place: project } = planeScale([...values, ...context], BOX, { largestUnit: WIDTH }); // nearly equal points stay in the middle
    const words = session.toy.words;
    node.setAttribute("aria-label", `${message("qkv_plot")} ${words.map((word, index) =>
      `${word} (${context[index].map((value) => formatNumber(value, 2)).join(", ")})`).join("; ")}`);
    const labels = [];
    const label = (point, word, kind) => {
      const [x, y] = labelPosition(project(point), labels, kind);
      return svg("text", { x, y, class: `plot-label ${kind}`, "text-anchor": "middle" }, word);
    };
    setChildren(node,
      values.length <= 3 && svg("polygon", { class: "plot-hull", points: values.map((point) => project(point).join(",")).join(" ") }),
      ...values.map((point, index) => line("plot-connection", project(point), project(context[index]))),
      ...values.map((point) => dot("plot-value", project(point), 5)),
      ...context.map((point) => dot("plot-context", project(point), 7)),
      ...values.map((point, index) => label(point, `v ${words[index]}`, "value-label")),
      ...context.map((point, index) => label(point, `z ${words[index]}`, "context-label")));
  }

  return Object.assign(node, { show });
}

/** @param {string} kind @param {number[]} from @param {number[]} to */
const line = (kind, [x1, y1], [x2, y2]) => svg("line", { class: kind, x1, y1, x2, y2 });
/** @param {string} kind @param {number[]} centre @param {number} r */
const dot = (kind, [cx, cy], r) => svg("circle", { class: kind, cx, cy, r });

/** Label position below or above a point that avoids other labels. */
function labelPosition([x, y], labels, kind) {
  const step = kind === "value-label" ? LINE : -LINE;
  let labelY = y + (kind === "value-label" ? 20 : -12);
  while (labels.some(([a, b]) => Math.abs(a - x) < 60 && Math.abs(b - labelY) < LINE)) labelY += step;
  labels.push([x, labelY]);
  return [x, labelY];
}
