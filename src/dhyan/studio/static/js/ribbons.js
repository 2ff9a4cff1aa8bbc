/**
 * Weights as ribbons: one line of words, another below it (or beside it where there is no room), and
 * between them bands whose width is the weight. What enters a word of the second line is stacked.
 */

import { el, svg } from "./dom.js";
import { wide } from "./heatmap_layout.js";

export const LEAST = 0.02; // weights that get a ribbon
const HUES = 8;
const ACROSS = { unit: 26, gap: 18, depth: 210, edge: 34 }; // unit: pixels of a weight of one
const DOWN = { unit: 20, gap: 12, depth: 130, edge: 0 };

/**
 * @typedef {{text: string, lang?: string, under?: string, special?: boolean, faint?: boolean}} Word
 * @param {object} ribbons
 * @param {number[][]} ribbons.values rows are words of the second line
 * @param {Word[]} ribbons.rows
 * @param {Word[]} ribbons.columns words of the first line
 * @param {string} ribbons.label
 * @param {(row: number | null, column: number | null) => string} ribbons.says a word's label
 * @param {(row: number | null, column: number | null) => void} [ribbons.focus]
 * @param {(row: number | null, column: number | null) => void} [ribbons.hover] two nulls when left
 * @param {number} [ribbons.widest] pixels there are
 */
export function drawRibbons(ribbons) {
  const plan = planned(ribbons);
  const bands = stacked(ribbons, plan);
  const paths = bands.map((band) => svg("path", { d: shape(band, plan), class: `ribbon hue-${hue(ribbons, band.column)}`,
    "data-row": band.row, "data-column": band.column, "fill-opacity": (0.3 + 0.55 * band.value).toFixed(2) }));
  const [sources, targets] = [
    ribbons.columns.map((column, index) => word(ribbons, plan, column, index, false)),
    ribbons.rows.map((row, index) => word(ribbons, plan, row, index, true)),
  ];
  const picture = svg("svg", { viewBox: `0 0 ${plan.wide} ${plan.tall}`, width: plan.wide, height: plan.tall,
    class: "ribbons-picture" }, svg("g", { "aria-hidden": "true" }, ...paths), ...sources, ...targets);
  const box = el("div", { class: "ribbons", role: "group", "aria-label": ribbons.label }, picture);

  function point(row, column) {
    picture.classList.toggle("choosing", row !== null || column !== null);
    for (const path of paths) {
      const [own, seen] = [Number(path.dataset.row), Number(path.dataset.column)];
      path.classList.toggle("here", row !== null ? own === row : column !== null && seen === column);
    }
    targets.forEach((target, index) => target.classList.toggle("here", index === row));
    sources.forEach((source, index) => source.classList.toggle("here", row === null && index === column));
  }

  const placeOf = (found) => (found.dataset.side === "row" ? [Number(found.dataset.at), null] : [null, Number(found.dataset.at)]);
  box.addEventListener("pointerover", (event) => {
    const [found, band] = [event.target.closest(".ribbon-word"), event.target.closest(".ribbon")];
    const place = found ? placeOf(found) : band ? [Number(band.dataset.row), null] : [null, null];
    ribbons.hover?.(...place);
  });
  box.addEventListener("pointerleave", () => ribbons.hover?.(null, null));
  const choose = (event) => {
    const found = event.target.closest(".ribbon-word");
    if (found) ribbons.focus?.(...placeOf(found));
  };
  box.addEventListener("click", choose);
  box.addEventListener("focusin", choose);
  box.addEventListener("keydown", (event) => {
    const found = event.target.closest(".ribbon-word");
    const next = found && walked(event, placeOf(found), sources, targets, plan.down);
    if (!next) return;
    event.preventDefault();
    const line = sources.includes(next) ? sources : targets;
    for (const one of line) one.setAttribute("tabindex", one === next ? "0" : "-1");
    next.focus();
  });
  return Object.assign(box, { point });
}

/** Where an arrow leads: along a line, or to the word across. */
function walked(event, [row, column], sources, targets, down) {
  const [own, other] = row !== null ? [targets, sources] : [sources, targets];
  const at = row ?? column;
  const keys = down ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  switch (event.key) {
    case keys[0]: return own[at - 1];
    case keys[1]: return own[at + 1];
    case keys[2]: case keys[3]: return other[Math.min(at, other.length - 1)];
    case "Home": return own[0];
    case "End": return own.at(-1);
    default: return null;
  }
}

const hue = (ribbons, column) => (ribbons.columns[column].special ? "none" : column % HUES);

/** Where every word stands along its line: no narrower than what it gives or gets. */
function planned(ribbons) {
  const given = ribbons.columns.map((_, column) => ribbons.values.reduce((total, line) => total + kept(line[column]), 0));
  const got = ribbons.values.map((line) => line.reduce((total, value) => total + kept(value), 0));
  const size = (one) => Math.max(wide(one.text) * 1.15, wide(one.under ?? "") * 0.9);
  const widest = ribbons.widest || 720;
  const line = (words, needs, { unit, gap }, along) => {
    const sizes = words.map((word, index) => Math.max(along(word), needs[index] * unit) + gap);
    let from = 0;
    const middles = sizes.map((own) => (from += own) - own / 2);
    return { middles, length: from };
  };
  const [above, below] = [line(ribbons.columns, given, ACROSS, size), line(ribbons.rows, got, ACROSS, size)];
  const doubled = ribbons.rows.some((row) => row.under);
  const length = Math.max(above.length, below.length);
  if (length <= widest) {
    const centred = (one) => one.middles.map((at) => at + (length - one.length) / 2);
    return { down: false, ...ACROSS, sources: centred(above), targets: centred(below), given, got,
      from: ACROSS.edge, to: ACROSS.edge + ACROSS.depth, wide: Math.ceil(length),
      tall: ACROSS.edge * 2 + ACROSS.depth + (doubled ? 16 : 0) };
  }
  const high = () => (doubled ? 34 : 24);
  const [left, right] = [line(ribbons.columns, given, DOWN, high), line(ribbons.rows, got, DOWN, high)];
  const [before, after] = [ribbons.columns, ribbons.rows].map((words) => Math.max(...words.map(size)) + 16);
  const tall = Math.max(left.length, right.length);
  const centred = (one) => one.middles.map((at) => at + (tall - one.length) / 2);
  const depth = Math.max(DOWN.depth, Math.min(widest - before - after, 320));
  return { down: true, ...DOWN, sources: centred(left), targets: centred(right), given, got,
    from: before, to: before + depth, wide: Math.ceil(before + depth + after), tall: Math.ceil(tall) };
}

const kept = (value) => (value < LEAST ? 0 : value);

/** The ribbons, weakest first; side by side where they leave a word and where they enter one. */
function stacked(ribbons, plan) {
  const start = (middles, needs) => middles.map((at, index) => at - (needs[index] * plan.unit) / 2);
  const [out, into] = [start(plan.sources, plan.given), start(plan.targets, plan.got)];
  const bands = ribbons.values.flatMap((line, row) => line.map((value, column) => ({ row, column, value })))
    .filter((band) => band.value >= LEAST);
  for (const band of bands) {
    band.into = into[band.row];
    into[band.row] += band.value * plan.unit;
  }
  for (const band of [...bands].sort((a, b) => a.column - b.column || a.row - b.row)) {
    band.out = out[band.column];
    out[band.column] += band.value * plan.unit;
  }
  return bands.sort((a, b) => a.value - b.value);
}

/** A band from one line to the other, bent so that it leaves and enters straight. */
function shape(band, plan) {
  const thick = band.value * plan.unit;
  const middle = (plan.from + plan.to) / 2;
  const at = (along, deep) => (plan.down ? `${fine(deep)} ${fine(along)}` : `${fine(along)} ${fine(deep)}`);
  return `M${at(band.out, plan.from)} C${at(band.out, middle)} ${at(band.into, middle)} ${at(band.into, plan.to)} `
    + `L${at(band.into + thick, plan.to)} C${at(band.into + thick, middle)} ${at(band.out + thick, middle)} `
    + `${at(band.out + thick, plan.from)} Z`;
}

const fine = (value) => value.toFixed(1);

function word(ribbons, plan, one, at, second) {
  const along = (second ? plan.targets : plan.sources)[at];
  const away = second ? 1 : -1;
  const [x, y] = plan.down
    ? [(second ? plan.to : plan.from) + 10 * away, along + (one.under ? -1 : 5)]
    : [along, second ? plan.to + 22 : plan.from - 12];
  const anchor = plan.down ? (second ? "start" : "end") : "middle";
  const half = Math.max(wide(one.text) * 1.15, wide(one.under ?? ""), 24) / 2 + 4;
  const left = plan.down ? (second ? x - 4 : x - 2 * half + 4) : x - half;
  return svg("g", { class: `ribbon-word${one.faint ? " faint" : ""}`, role: "button", tabindex: at ? -1 : 0,
    "data-side": second ? "row" : "column", "data-at": at,
    "aria-label": second ? ribbons.says(at, null) : ribbons.says(null, at) },
  svg("rect", { x: left, y: y - 19, width: 2 * half, height: one.under ? 44 : 28, rx: 6, class: "ribbon-ground" }),
  svg("text", { x, y, "text-anchor": anchor, lang: one.lang, class: "ribbon-text" }, one.text),
  one.under && svg("text", { x, y: y + 17, "text-anchor": anchor, lang: "hi-Latn", class: "label-under" }, one.under));
}
