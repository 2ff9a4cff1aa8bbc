/**
 * Words as points of a plane, and where each of them goes: circles, trails and arrows. Points may
 * be drawn about with the pointer, or moved with the arrow keys when they have the focus.
 */

import { svg, fill } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { wide } from "./ticks.js";

/**
 * @typedef {object} Star
 * @property {string} id
 * @property {string} text
 * @property {string | null} [lang]
 * @property {[number, number]} at
 * @property {[number, number][]} [trail] where it is after each layer
 * @property {number} [tone] 1 … 8
 * @property {boolean} [free] may be moved
 * @property {boolean} [faint]
 * @property {string} label for readers
 *
 * @typedef {object} Sky
 * @property {string} label
 * @property {Star[]} stars
 * @property {{x: [number, number], y: [number, number]}} [range] else all that is there, with room
 * @property {(id: string, at: [number, number]) => void} [moved]
 * @property {[string, string]} [axes] titles
 */

const STEP = 0.5;
const MARGIN = { left: 36, right: 14, top: 14, bottom: 30 };

/** Letters and points are drawn in about their own size, on a telephone too. */
const size = () => (innerWidth < 700 ? { width: 350, height: 360 } : { width: 560, height: 420 });

/** The picture; `update(sky)` draws it anew. @param {Sky} first */
export function plane(first, { width, height } = size()) {
  let sky = first;
  let scale = null;
  let held = null;
  const node = svg("svg", { class: "plane", viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": sky.label, on: { pointerdown, pointermove, pointerup: release, pointercancel: release, keydown } });

  function render() {
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    scale = scaled(sky, width, height);
    const ends = sky.stars.map((star) => ({ star, from: scale.place(star.at),
      path: (star.trail ?? []).map((one) => scale.place(one)) }));
    const written = labelled(ends, width, height);
    fill(node, grid(scale, sky.axes, width, height), ...ends.map(trail), ...ends.map(tip),
      ...written.map(({ x, y, words, star, tip: at }) => svg("text", { x, y, class: `plane-word tone-${star.tone ?? 1}${
        at ? " moved" : ""}${star.faint ? " faint" : ""}`, lang: star.lang, "aria-hidden": "true" }, words)),
      ...ends.map(point));
    if (focused) node.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  function pointerdown(event) {
    const found = event.target.closest("[data-id].free");
    if (!found) return;
    held = found.dataset.id;
    node.setPointerCapture(event.pointerId);
    found.focus({ preventScroll: true });
    event.preventDefault();
  }

  function pointermove(event) {
    if (held === null) return;
    const box = node.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) * (width / box.width), (event.clientY - box.top) * (height / box.height)];
    sky.moved(held, within(scale.back([x, y])));
  }

  function release() {
    held = null;
  }

  function keydown(event) {
    const star = sky.stars.find((star) => star.free && star.id === event.target.dataset?.id);
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!star || !by) return;
    event.preventDefault();
    event.stopPropagation();
    const far = event.shiftKey ? STEP / 5 : STEP;
    sky.moved(star.id, within([star.at[0] + far * by[0], star.at[1] + far * by[1]]));
  }

  /** Inside the picture, in tenths. */
  function within(at) {
    return at.map((value, axis) => {
      const [least, most] = axis ? scale.y : scale.x;
      return Math.round(Math.min(Math.max(value, least), most) * 10) / 10;
    });
  }

  render();
  return Object.assign(node, { update(next) {
    sky = { ...sky, ...next };
    render();
  } });
}

/** One length for both axes, so that distances are what they look like. */
function scaled(sky, width, height) {
  const all = sky.stars.flatMap((star) => [star.at, ...(star.trail ?? [])]);
  const span = (axis) => {
    const values = all.map((one) => one[axis]);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const room = (most - least || 1) * 0.14;
    return [least - room, most + room];
  };
  const [x, y] = [sky.range?.x ?? span(0), sky.range?.y ?? span(1)];
  const [inner, tall] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const unit = Math.min(inner / (x[1] - x[0]), tall / (y[1] - y[0]));
  const [extraX, extraY] = [inner / unit - (x[1] - x[0]), tall / unit - (y[1] - y[0])];
  const [left, right] = [x[0] - extraX / 2, x[1] + extraX / 2];
  const [low, high] = [y[0] - extraY / 2, y[1] + extraY / 2];
  return { unit, x: [left, right], y: [low, high],
    place: ([a, b]) => [MARGIN.left + (a - left) * unit, MARGIN.top + (high - b) * unit],
    back: ([a, b]) => [left + (a - MARGIN.left) / unit, high - (b - MARGIN.top) / unit] };
}

function grid(scale, axes, width, height) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].find((one) => one * scale.unit >= 44) ?? 200;
  const along = ([from, to]) => {
    const first = Math.ceil(from / step);
    return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, at) => (first + at) * step);
  };
  const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
  const line = (x1, y1, x2, y2, value) => svg("line", { x1, y1, x2, y2,
    class: Math.abs(value) < step / 2 ? "plane-zero" : "plane-line" });
  const bottom = height - MARGIN.bottom;
  return svg("g", { "aria-hidden": "true" },
    ...along(scale.x).flatMap((value) => {
      const [x] = scale.place([value, 0]);
      return [line(x, MARGIN.top, x, bottom, value), svg("text", { x, y: bottom + 17, class: "plane-tick", "text-anchor": "middle" }, formatNumber(value, digits))];
    }),
    ...along(scale.y).flatMap((value) => {
      const [, y] = scale.place([0, value]);
      return [line(MARGIN.left, y, width - MARGIN.right, y, value), svg("text", { x: MARGIN.left - 6, y: y + 4, class: "plane-tick", "text-anchor": "end" }, formatNumber(value, digits))];
    }),
    axes && svg("text", { x: width - MARGIN.right - 4, y: bottom - 6, class: "plane-tick", "text-anchor": "end" }, axes[0]),
    axes && svg("text", { x: MARGIN.left + 6, y: MARGIN.top + 12, class: "plane-tick" }, axes[1]));
}

/** The way of a word through the layers, and an arrow from its first place to its last. */
function trail({ star, from, path }) {
  if (!path.length) return svg("g");
  const points = [from, ...path].map((one) => one.join(",")).join(" ");
  return svg("g", { class: `plane-trail tone-${star.tone ?? 1}${star.faint ? " faint" : ""}`, "aria-hidden": "true" },
    svg("polyline", { points, class: "plane-path" }),
    ...path.slice(0, -1).map(([cx, cy]) => svg("circle", { cx, cy, r: 3, class: "plane-stop" })));
}

function tip({ star, from, path }) {
  const end = path.at(-1);
  const before = path.at(-2) ?? from;
  if (!end) return svg("g");
  const [dx, dy] = [end[0] - before[0], end[1] - before[1]];
  const far = Math.hypot(dx, dy);
  const tone = `tone-${star.tone ?? 1}${star.faint ? " faint" : ""}`;
  if (far < 9) return svg("circle", { cx: end[0], cy: end[1], r: 4, class: `plane-end ${tone}` });
  const [ux, uy] = [dx / far, dy / far];
  const corner = (side) => `${end[0] - 11 * ux + 5 * side * uy},${end[1] - 11 * uy - 5 * side * ux}`;
  return svg("polygon", { points: `${end[0]},${end[1]} ${corner(1)} ${corner(-1)}`, class: `plane-end ${tone}` });
}

function point({ star, from: [cx, cy] }) {
  return svg("g", { class: `plane-point tone-${star.tone ?? 1}${star.free ? " free" : ""}${star.faint ? " faint" : ""}`,
    "data-id": star.id, tabindex: star.free ? 0 : null, role: star.free ? "button" : "img", "aria-label": star.label },
  svg("circle", { cx, cy, r: 16, class: "plane-grip" }), svg("circle", { cx, cy, r: 7, class: "plane-spot" }));
}

/** Every word beside its point and, with a mark, at its arrow's end: where it covers the least. */
function labelled(ends, width, height) {
  const taken = ends.flatMap(({ from, path }) => along([from, ...path]).map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]));
  const wanted = ends.flatMap(({ star, from, path }) => {
    const end = path.at(-1);
    const far = end ? Math.hypot(end[0] - from[0], end[1] - from[1]) : 0;
    const own = { star, at: from, words: star.text, tip: false };
    return far > 26 && !star.faint ? [own, { star, at: end, words: `${star.text}′`, tip: true }] : [own];
  });
  return wanted.map(({ star, at: [x, y], words, tip: isTip }) => {
    const [w, h] = [wide(words) * 1.25 + 2, 16];
    const choices = [[11, 5], [-w - 11, 5], [-w / 2, -13], [-w / 2, 24], [9, -9], [-w - 9, -9], [9, 20], [-w - 9, 20]];
    const boxes = choices.map(([dx, dy]) => [x + dx, y + dy - h + 3, x + dx + w, y + dy + 4]);
    const cost = (box) => taken.reduce((total, other) => total + overlap(box, other), 0)
      + 1000 * Number(box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height);
    const costs = boxes.map(cost);
    const best = boxes[costs.indexOf(Math.min(...costs))];
    taken.push(best);
    return { x: best[0], y: best[3] - 4, words, star, tip: isTip };
  });
}

/** Points of a way, near enough to each other that no word slips between them. */
const along = (way) => way.flatMap(([x, y], index) => {
  const [a, b] = way[index - 1] ?? [x, y];
  const count = Math.max(1, Math.ceil(Math.hypot(x - a, y - b) / 12));
  return Array.from({ length: count }, (_, part) => [a + ((x - a) * (part + 1)) / count, b + ((y - b) * (part + 1)) / count]);
});

const overlap = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]))
  * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
