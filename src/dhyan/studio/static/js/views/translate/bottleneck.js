/** A model without attention: all words go into one vector, and every word comes out of it. */

import { el, svg } from "../../dom.js";
import { wide } from "../../heatmap_layout.js";
import { message } from "../../messages.js";

const HIGH = 26;

/** @param {object} seen @param {number} room pixels there are */
export function bottleneckDiagram(seen, room) {
  const [before, after] = [seen.columns, seen.rows].map((words) => words.filter((one) => !one.special));
  const [left, right] = [before, after].map((words) => Math.max(...words.map((one) => wide(one.text)), 24) + 14);
  const backwards = before.length > 1 && seen.values[0][0] > 0.5;
  const [gap, neck] = room < 560 ? [Math.max(32, (room - left - right - 96) / 2), 96] : [150, 120];
  const tall = Math.max(before.length, after.length, 4) * HIGH + 12;
  const [from, to] = [left + gap, left + gap + neck];
  const y = (at, count) => tall / 2 + (at - (count - 1) / 2) * HIGH;
  const label = (one, at, count, x, anchor) => svg("text", { x, y: y(at, count) + 5, "text-anchor": anchor,
    class: "label", lang: one.lang }, one.text);
  const line = (at, count, x, end) => {
    const bend = (x + end) / 2;
    return svg("path", { class: "bottle-line", d: `M${x} ${y(at, count)} C${bend} ${y(at, count)} ${bend} ${tall / 2} ${end} ${tall / 2}` });
  };
  const picture = svg("svg", { viewBox: `0 0 ${to + gap + right} ${tall}`, width: to + gap + right, height: tall,
    class: "heat-picture bottle-picture", role: "img", "aria-label": message("bottleneck") },
  ...before.map((_, at) => line(at, before.length, left, from)),
  ...after.map((_, at) => line(at, after.length, to + gap, to)),
  svg("rect", { x: from, y: tall / 2 - 22, width: neck, height: 44, rx: 8, class: "bottle-neck" }),
  svg("text", { x: from + neck / 2, y: tall / 2 + 5, "text-anchor": "middle", class: "bottle-text" }, message("translate_vector")),
  ...before.map((one, at) => label(one, at, before.length, left - 8, "end")),
  ...after.map((one, at) => label(one, at, after.length, to + gap + 8, "start")));
  return el("div", { class: "bottle card" }, el("h2", {}, message("translate_one")), el("p", {}, message("bottleneck"), backwards && ` ${message("translate_backwards")}`),
    el("p", { class: "quiet" }, message("translate_vector_text", before.length, after.length)),
    el("div", { class: "bottle-box", role: "region", tabindex: 0, "aria-label": message("translate_one") }, picture));
}
