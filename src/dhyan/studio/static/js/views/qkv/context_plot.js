/** Values and mixtures of two numbers each, drawn as points: a mixture lies between the values. */

import { fill, svg } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";

const [WIDE, TALL, EDGE] = [460, 300, 54];
const LINE = 16; // between words that would stand on one another

/** The picture; `show()` draws it anew. @param {{toy: {words: string[]}, found: {values: number[][], mixed: number[][]}}} now */
export function plane(now) {
  const node = svg("svg", { class: "plane", viewBox: `0 0 ${WIDE} ${TALL}`, width: WIDE, height: TALL, role: "img" });

  function show() {
    const { values, mixed } = now.found;
    const at = scales([...values, ...mixed]);
    const words = now.toy.words;
    node.setAttribute("aria-label", `${message("qkv_plane")} ${words.map((word, place) =>
      `${word} (${mixed[place].map((one) => formatNumber(one, 2)).join(", ")})`).join("; ")}`);
    const taken = [];
    const label = (point, word, kind) => {
      const [x, y] = clear(at(point), taken, kind);
      return svg("text", { x, y, class: `plane-word ${kind}`, "text-anchor": "middle" }, word);
    };
    fill(node,
      values.length <= 3 && svg("polygon", { class: "plane-between", points: values.map((point) => at(point).join(",")).join(" ") }),
      ...values.map((point, place) => line("plane-way", at(point), at(mixed[place]))),
      ...values.map((point) => dot("plane-value", at(point), 5)),
      ...mixed.map((point) => dot("plane-mixed", at(point), 7)),
      ...values.map((point, place) => label(point, `v ${words[place]}`, "below")),
      ...mixed.map((point, place) => label(point, `z ${words[place]}`, "over")));
  }

  return Object.assign(node, { show });
}

const line = (kind, [x1, y1], [x2, y2]) => svg("line", { class: kind, x1, y1, x2, y2 });
const dot = (kind, [cx, cy], r) => svg("circle", { class: kind, cx, cy, r });

/** From numbers to places: one measure for both directions, all points inside. */
function scales(points) {
  const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
  const middle = [xs, ys].map((all) => (Math.min(...all) + Math.max(...all)) / 2);
  const spread = [xs, ys].map((all) => Math.max(...all) - Math.min(...all));
  const by = Math.min((WIDE - 2 * EDGE) / (spread[0] || 1e-9), (TALL - 2 * EDGE) / (spread[1] || 1e-9));
  const far = Math.min(by, WIDE); // points that are all but one stay in the middle
  return ([x, y]) => [WIDE / 2 + (x - middle[0]) * far, TALL / 2 - (y - middle[1]) * far];
}

/** Where a word can be read: below or over its point, past the words that stand there already. */
function clear([x, y], taken, kind) {
  const step = kind === "below" ? LINE : -LINE;
  let place = y + (kind === "below" ? 20 : -12);
  while (taken.some(([a, b]) => Math.abs(a - x) < 60 && Math.abs(b - place) < LINE)) place += step;
  taken.push([x, place]);
  return [x, place];
}
