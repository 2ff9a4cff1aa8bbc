/** The picture of a chart: grid, lines, bands, bars and names; `axes.js` makes it alive. */

import { svg } from "./dom.js";
import { placed, writer, wide } from "./ticks.js";

const DASHES = ["", "8 4", "2 4", "10 4 2 4", "5 3", "14 4", "2 2", "6 2 2 2"];
const ROW = 20; // pixels from one line of words to the next
const MOST_DOTS = 40;

const toneOf = (spec, at) => ((spec.series[at].tone ?? at + 1) - 1) % DASHES.length + 1;

/** Whether keyboard and pointer stop at a series. */
export const walked = (series) =>
  series.walk !== false && series.points.some((point) => Number.isFinite(point.y));

/** The picture, and where its points are. @param {import("./chart.js").Chart} spec */
export function drawn(spec, width) {
  const names = spec.series.map((series) => series.name);
  const ends = (spec.legend ?? "ends") === "ends" && width >= 560;
  const top = !ends && spec.legend !== "none" && names.length > 1;
  const all = spec.series.flatMap((series) => series.points);
  const ys = all.flatMap((point) => [point.y, point.low, point.high]).filter(Number.isFinite);
  const height = spec.height ?? 320;
  const keys = top ? legend(spec, width) : null;
  const above = 12 + ROW + (keys?.height ?? 0);
  const below = height - ROW - (spec.x.title ? ROW : 4) - 6;
  const y = placed(spec.y, spec.series.some((series) => series.kind === "bars") ? [0, ...ys] : ys, [below, above], 38);
  const left = spec.left ?? Math.max(...y.ticks.map((tick) => wide(writer(spec.y)(tick))), 16) + 14;
  const right = width - (spec.right ?? (ends ? Math.max(...names.map(wide)) + 42 : 20));
  const x = placed(spec.x, all.map((point) => point.x), [left, right], 64);
  const frame = { spec, x, y, left, right, above, below, height, width };
  const shapes = spec.series.map((_, index) => shape(frame, index));
  const node = svg("svg", { class: "chart-picture", width, height, viewBox: `0 0 ${width} ${height}`,
    role: "group", "aria-label": spec.label },
  svg("g", { role: "img", "aria-label": spec.summary ?? spec.label },
    chosenAt(frame), grid(frame), ...shapes.map((shape) => shape.node), markers(frame),
    ends && endNames(frame), keys?.node));
  return { node, places: shapes.flatMap((shape) => shape.places) };
}

function grid({ spec, x, y, left, right, above, below }) {
  const every = thinned(x.ticks.map((tick) => [x.at(tick), wide(writer(spec.x)(tick)) + 8]));
  const columns = x.ticks.map((tick, index) => [
    !x.band && svg("line", { x1: x.at(tick), x2: x.at(tick), y1: above, y2: below, class: "chart-grid" }),
    index % every === 0 && svg("text", { x: x.at(tick), y: below + ROW - 3, "text-anchor": "middle",
      class: "chart-tick" },
      writer(spec.x)(tick))]);
  const rows = y.ticks.map((tick) => [
    svg("line", { x1: left, x2: right, y1: y.at(tick), y2: y.at(tick), class: "chart-grid" }),
    svg("text", { x: left - 8, y: y.at(tick) + 4, "text-anchor": "end", class: "chart-tick" },
      writer(spec.y)(tick))]);
  return svg("g", {}, ...[...columns, ...rows].flat(),
    svg("line", { x1: left, x2: right, y1: below, y2: below, class: "chart-axis" }),
    svg("text", { x: 2, y: 14, class: "chart-title" }, spec.y.title),
    svg("text", { x: (left + right) / 2, y: below + 2 * ROW, "text-anchor": "middle",
      class: "chart-title" }, spec.x.title));
}

/** Every how many words there is room for, of words with a middle and a width each. */
function thinned(places) {
  const fits = (every) => places.every(([middle, room], index) => index % every || index < every
    || middle - room / 2 >= places[index - every][0] + places[index - every][1] / 2);
  let every = 1;
  while (every < places.length && !fits(every)) every++;
  return every;
}

function chosenAt({ spec, x, above, below }) {
  if (spec.chosen === undefined || spec.chosen === null) return null;
  const half = x.band ? x.band / 2 - 2 : 3;
  return svg("rect", { x: x.at(spec.chosen) - half, y: above, width: 2 * half, height: below - above, rx: 4,
    class: "chart-chosen" });
}

function markers({ spec, x, left, right, above, below }) {
  return svg("g", {}, ...(spec.marks ?? []).map(({ x: value, text }) => {
    const place = x.at(value);
    const late = place + wide(text) + 8 > right && place - wide(text) - 8 > left;
    return svg("g", {}, svg("line", { x1: place, x2: place, y1: above, y2: below, class: "chart-mark" }),
      svg("text", { x: place + (late ? -6 : 6), y: below - 10, "text-anchor": late ? "end" : "start",
        class: "chart-tick chart-told" }, text));
  }));
}

/** One series and the places of its points. */
function shape(frame, at) {
  const series = frame.spec.series[at];
  const tone = toneOf(frame.spec, at);
  const shown = (point) => Number.isFinite(point.y) && Number.isFinite(frame.y.at(point.y)); // no log of 0
  const real = series.points.map((point, index) => ({ ...point, place: index })).filter(shown);
  const seen = walked(series);
  return series.kind === "bars" ? bars(frame, at, tone, real, seen) : lines(frame, at, tone, real, seen);
}

function lines({ spec, x, y }, at, tone, real, seen) {
  const series = spec.series[at];
  const dotted = series.dots ?? (seen && real.length <= MOST_DOTS);
  const places = real.map((point) => ({ x: x.at(point.x), y: y.at(point.y), at: [at, point.place], tone }));
  const drawnOn = (turn) => turn > 0 && real[turn].place === real[turn - 1].place + 1;
  const path = places.map((place, turn) =>
    `${drawnOn(turn) ? "L" : "M"}${place.x.toFixed(1)} ${place.y.toFixed(1)}`);
  const banded = real.filter((point) => Number.isFinite(point.low) && Number.isFinite(point.high));
  const edge = (key) => banded.map((point) => `${x.at(point.x).toFixed(1)} ${y.at(point[key]).toFixed(1)}`);
  const node = svg("g", { class: `chart-series tone-${tone}` },
    banded.length > 1 && svg("path", { class: "chart-band",
      d: `M${[...edge("low"), ...edge("high").reverse()].join("L")}Z` }),
    svg("path", { d: path.join(""), class: "chart-stroke", "stroke-dasharray": DASHES[tone - 1] || null }),
    ...(dotted ? places.map((place) => dot(place.x, place.y, tone)) : []));
  return { node, places: seen ? places : [] };
}

function bars({ spec, x, y, left, right }, at, tone, real, seen) {
  const groups = spec.series.flatMap((series, index) => (series.kind === "bars" ? [index] : []));
  const room = (x.band || (right - left) / Math.max(real.length, 1)) * 0.8;
  const thick = Math.max(1, Math.min(room / groups.length, 48));
  const shift = (groups.indexOf(at) - (groups.length - 1) / 2) * thick;
  const places = real.map((point) => ({ x: x.at(point.x) + shift, y: y.at(point.y), at: [at, point.place], tone,
    thick, tall: y.at(0) - y.at(point.y) }));
  const node = svg("g", { class: `chart-series chart-bars tone-${tone}` }, ...places.map((place) =>
    svg("rect", { x: place.x - thick / 2 + 0.5, y: place.y, width: Math.max(thick - 1, 0.5),
      height: Math.max(place.tall, 0) })));
  return { node, places: seen ? places : [] };
}

/** A mark whose form goes with its colour. */
function dot(x, y, tone, size = 4) {
  const half = size * 1.3;
  const forms = [
    () => svg("circle", { cx: x, cy: y, r: size }),
    () => svg("rect", { x: x - size * 0.9, y: y - size * 0.9, width: size * 1.8, height: size * 1.8 }),
    () => svg("path", { d: `M${x} ${y - size * 1.2}l${size * 1.1} ${size * 2}h${-size * 2.2}z` }),
    () => svg("path", { d: `M${x} ${y - half}l${half} ${half}l${-half} ${half}l${-half} ${-half}z` }),
  ];
  const made = forms[(tone - 1) % forms.length]();
  made.setAttribute("class", "chart-dot");
  return made;
}

/** What marks the place that is looked at. */
export function ringOf(place) {
  return place.tall === undefined ? svg("circle", { cx: place.x, cy: place.y, r: 9, class: "chart-ring" })
    : svg("rect", { x: place.x - place.thick / 2 - 1, y: place.y - 2, width: place.thick + 2,
      height: Math.max(place.tall, 0) + 3, class: "chart-ring" });
}

function sample(series, tone, x, y) {
  return svg("g", { class: `chart-series tone-${tone}${series.kind === "bars" ? " chart-bars" : ""}` },
    series.kind === "bars" ? svg("rect", { x, y: y - 5, width: 18, height: 10 })
      : svg("path", { d: `M${x} ${y}h22`, class: "chart-stroke", "stroke-dasharray": DASHES[tone - 1] || null }),
    series.kind !== "bars" && series.walk !== false && dot(x + 11, y, tone));
}

/** Names where the lines end, pushed apart where they would meet. */
function endNames({ spec, x, y, above, below }) {
  const ended = spec.series.flatMap((series, index) => {
    const last = series.points.filter((point) => Number.isFinite(point.y)).at(-1);
    if (!last || series.kind === "bars") return [];
    return [{ series, tone: toneOf(spec, index), x: x.at(last.x), y: y.at(last.y) }];
  }).sort((a, b) => a.y - b.y);
  let free = above;
  for (const one of ended) free = (one.to = Math.max(one.y, free)) + ROW - 3;
  let floor = below - 6; // a name does not lie on the axis
  for (const one of [...ended].reverse()) floor = (one.to = Math.min(one.to, floor)) - ROW + 3;
  return svg("g", {}, ...ended.map((one) => svg("g", {},
    Math.abs(one.to - one.y) > 3 && svg("path", { d: `M${one.x + 6} ${one.y}L${one.x + 14} ${one.to}`,
      class: `chart-lead tone-${one.tone}` }),
    svg("text", { x: one.x + 17, y: one.to + 4, class: "chart-name", lang: one.series.lang }, one.series.name))));
}

/** Names above the picture, as many in a row as there is room for. */
function legend(spec, width) {
  let [x, row] = [2, 0];
  const names = spec.series.map((series, index) => {
    const room = 30 + wide(series.name) + 18;
    if (x > 2 && x + room > width) [x, row] = [2, row + 1];
    const y = 12 + ROW + 4 + row * ROW;
    const made = svg("g", {}, sample(series, toneOf(spec, index), x, y),
      svg("text", { x: x + 30, y: y + 4, class: "chart-name", lang: series.lang }, series.name));
    x += room;
    return made;
  });
  return { node: svg("g", {}, ...names), height: (row + 1) * ROW + 6 };
}
