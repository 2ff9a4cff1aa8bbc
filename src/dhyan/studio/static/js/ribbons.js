/**
 * Ribbon diagram of attention weights: source words, target words below them (or beside them where there is
 * no room), and bands between them whose width is the weight. Bands into a target word are stacked.
 */

import { closest, el, svg } from "./dom.js";
import { labelWidth } from "./heatmap_layout.js";

export const MIN_WEIGHT = 0.02; // weights that get a ribbon
const HUES = 8;
const HORIZONTAL = { unit: 26, gap: 18, depth: 210, edge: 34 }; // unit: pixels of a weight of one
const VERTICAL = { unit: 20, gap: 12, depth: 130, edge: 0 };

/**
 * @typedef {{text: string, lang?: string, subtitle?: string, special?: boolean, faint?: boolean}} Word
 * @param {object} ribbons
 * @param {number[][]} ribbons.values rows are target words
 * @param {Word[]} ribbons.rows
 * @param {Word[]} ribbons.columns source words
 * @param {string} ribbons.label
 * @param {(side: "row" | "column", index: number) => string} ribbons.describe a word's label
 * @param {(row: number | null, column: number | null) => void} [ribbons.onFocus]
 * @param {(row: number | null, column: number | null) => void} [ribbons.onHover] two nulls when left
 * @param {number} [ribbons.maxWidth] available width in pixels
 */
export function drawRibbons(ribbons) {
  const layout = computeLayout(ribbons);
  const bands = stackBands(ribbons, layout);
  const paths = bands.map((band) => svg("path", { d: shape(band, layout), class: `ribbon hue-${hue(ribbons, band.column)}`,
    "data-row": band.row, "data-column": band.column, "fill-opacity": (0.3 + 0.55 * band.value).toFixed(2) }));
  const [sources, targets] = [
    ribbons.columns.map((column, index) => word(ribbons, layout, column, index, false)),
    ribbons.rows.map((row, index) => word(ribbons, layout, row, index, true)),
  ];
  const picture = svg("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height,
    class: "ribbons-picture" }, svg("g", { "aria-hidden": "true" }, ...paths), ...sources, ...targets);
  const box = el("div", { class: "ribbons", role: "group", "aria-label": ribbons.label }, picture);

  function point(row, column) {
    picture.classList.toggle("has-selection", row !== null || column !== null);
    for (const path of paths) {
      const [bandRow, bandColumn] = [Number(path.dataset.row), Number(path.dataset.column)];
      path.classList.toggle("selected", row !== null ? bandRow === row : column !== null && bandColumn === column);
    }
    targets.forEach((target, index) => target.classList.toggle("selected", index === row));
    sources.forEach((source, index) => source.classList.toggle("selected", row === null && index === column));
  }

  /** @param {Element} element @returns {[number | null, number | null]} */
  const positionOf = (element) => (element.dataset.side === "row" ? [Number(element.dataset.index), null] : [null, Number(element.dataset.index)]);
  box.addEventListener("pointerover", (event) => {
    const [element, band] = [closest(event, ".ribbon-word"), closest(event, ".ribbon")];
    if (element) ribbons.onHover?.(...positionOf(element));
    else ribbons.onHover?.(band ? Number(band.dataset.row) : null, null);
  });
  box.addEventListener("pointerleave", () => ribbons.onHover?.(null, null));
  const choose = (event) => {
    const element = closest(event, ".ribbon-word");
    if (!element) return;
    const line = sources.some((source) => source === element) ? sources : targets;
    for (const word of line) word.setAttribute("tabindex", word === element ? "0" : "-1");
    ribbons.onFocus?.(...positionOf(element));
  };
  box.addEventListener("click", choose);
  box.addEventListener("focusin", choose);
  box.addEventListener("keydown", (event) => {
    const element = closest(event, ".ribbon-word");
    const next = element && nextWord(event, positionOf(element), sources, targets, layout.vertical);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  return Object.assign(box, { setCrosshair: point });
}

/** The word an arrow key moves to: along the line, or on the other line.
 * @param {KeyboardEvent} event @param {[number | null, number | null]} position @param {SVGGElement[]} sources @param {SVGGElement[]} targets
 * @param {boolean} vertical */
function nextWord(event, [row, column], sources, targets, vertical) {
  const [sameLine, otherLine] = row !== null ? [targets, sources] : [sources, targets];
  const index = row ?? column ?? 0;
  const keys = vertical ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  switch (event.key) {
    case keys[0]: return sameLine[index - 1];
    case keys[1]: return sameLine[index + 1];
    case keys[2]: case keys[3]: return otherLine[Math.min(index, otherLine.length - 1)];
    case "Home": return sameLine[0];
    case "End": return sameLine.at(-1);
    default: return null;
  }
}

const hue = (ribbons, column) => (ribbons.columns[column].special ? "none" : column % HUES);

/** Position of every word along its line; each is at least as wide as its ribbons. */
function computeLayout(ribbons) {
  const outgoing = ribbons.columns.map((_, column) => ribbons.values.reduce((total, line) => total + visibleWeight(line[column]), 0));
  const incoming = ribbons.values.map((line) => line.reduce((total, value) => total + visibleWeight(value), 0));
  const size = (word) => Math.max(labelWidth(word.text) * 1.15, labelWidth(word.subtitle ?? "") * 0.9);
  const maxWidth = ribbons.maxWidth || 720;
  const line = (words, needs, { unit, gap }, along) => {
    const sizes = words.map((word, index) => Math.max(along(word), needs[index] * unit) + gap);
    let from = 0;
    const middles = sizes.map((size) => (from += size) - size / 2);
    return { middles, length: from };
  };
  const [above, below] = [line(ribbons.columns, outgoing, HORIZONTAL, size), line(ribbons.rows, incoming, HORIZONTAL, size)];
  const hasSubtitles = ribbons.rows.some((row) => row.subtitle);
  const length = Math.max(above.length, below.length);
  if (length <= maxWidth) {
    const centred = (line) => line.middles.map((middle) => middle + (length - line.length) / 2);
    return { vertical: false, ...HORIZONTAL, sources: centred(above), targets: centred(below), outgoing, incoming,
      from: HORIZONTAL.edge, to: HORIZONTAL.edge + HORIZONTAL.depth, width: Math.ceil(length),
      height: HORIZONTAL.edge * 2 + HORIZONTAL.depth + (hasSubtitles ? 16 : 0) };
  }
  const rowHeight = () => (hasSubtitles ? 34 : 24);
  const [left, right] = [line(ribbons.columns, outgoing, VERTICAL, rowHeight), line(ribbons.rows, incoming, VERTICAL, rowHeight)];
  const [before, after] = [ribbons.columns, ribbons.rows].map((words) => Math.max(...words.map(size)) + 16);
  const height = Math.max(left.length, right.length);
  const spread = (line) => line.middles.map((middle) => (middle * height) / line.length); // the first words stand side by side
  const depth = Math.max(VERTICAL.depth, Math.min(maxWidth - before - after, 320));
  return { vertical: true, ...VERTICAL, sources: spread(left), targets: spread(right), outgoing, incoming,
    from: before, to: before + depth, width: Math.ceil(before + depth + after), height: Math.ceil(height) };
}

const visibleWeight = (value) => (value < MIN_WEIGHT ? 0 : value);

/** The ribbons, smallest weight first, stacked at both ends. */
function stackBands(ribbons, layout) {
  const start = (middles, needs) => middles.map((middle, index) => middle - (needs[index] * layout.unit) / 2);
  const [out, into] = [start(layout.sources, layout.outgoing), start(layout.targets, layout.incoming)];
  const bands = ribbons.values.flatMap((line, row) => line.map((value, column) => ({ row, column, value })))
    .filter((band) => band.value >= MIN_WEIGHT);
  for (const band of bands) {
    band.into = into[band.row];
    into[band.row] += band.value * layout.unit;
  }
  for (const band of [...bands].sort((a, b) => a.column - b.column || a.row - b.row)) {
    band.out = out[band.column];
    out[band.column] += band.value * layout.unit;
  }
  return bands.sort((a, b) => a.value - b.value);
}

/** Path of a band, perpendicular to the lines at both ends. */
function shape(band, layout) {
  const thickness = band.value * layout.unit;
  const middle = (layout.from + layout.to) / 2;
  const point = (along, deep) => (layout.vertical ? `${formatCoordinate(deep)} ${formatCoordinate(along)}` : `${formatCoordinate(along)} ${formatCoordinate(deep)}`);
  return `M${point(band.out, layout.from)} C${point(band.out, middle)} ${point(band.into, middle)} ${point(band.into, layout.to)} `
    + `L${point(band.into + thickness, layout.to)} C${point(band.into + thickness, middle)} ${point(band.out + thickness, middle)} `
    + `${point(band.out + thickness, layout.from)} Z`;
}

const formatCoordinate = (value) => value.toFixed(1);

function word(ribbons, layout, label, index, isTarget) {
  const along = (isTarget ? layout.targets : layout.sources)[index];
  const direction = isTarget ? 1 : -1;
  const [x, y] = layout.vertical
    ? [(isTarget ? layout.to : layout.from) + 10 * direction, along + (label.subtitle ? -1 : 5)]
    : [along, isTarget ? layout.to + 22 : layout.from - 12];
  const anchor = layout.vertical ? (isTarget ? "start" : "end") : "middle";
  const half = Math.max(labelWidth(label.text) * 1.15, labelWidth(label.subtitle ?? ""), 24) / 2 + 4;
  const left = layout.vertical ? (isTarget ? x - 4 : x - 2 * half + 4) : x - half;
  return svg("g", { class: `ribbon-word${label.faint ? " faint" : ""}`, role: "button", tabindex: index ? -1 : 0,
    "data-side": isTarget ? "row" : "column", "data-index": index,
    "aria-label": ribbons.describe(isTarget ? "row" : "column", index) },
  svg("rect", { x: left, y: y - 19, width: 2 * half, height: label.subtitle ? 44 : 28, rx: 6, class: "ribbon-background" }),
  svg("text", { x, y, "text-anchor": anchor, lang: label.lang, class: "ribbon-text" }, label.text),
  label.subtitle && svg("text", { x, y: y + 17, "text-anchor": anchor, lang: "hi-Latn", class: "label-subtitle" }, label.subtitle));
}
