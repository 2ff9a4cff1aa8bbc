/** Where everything in a map of weights stands: cells, labels beside and above, feet at the right. */

import { svg } from "./dom.js";

const GAP = 8;
const FOOT = 58;
const BESIDE = 180; // pixels a row's label may take
const ABOVE = 190; // the same along a column's slanted one
const SLANT = Math.SQRT1_2;
const LEAST = 6; // pixels of a cell

/** How large cells and labels are. @param {import("./heatmap.js").Heat} heat */
export function measure(heat) {
  const names = heat.rows.map((row) => Math.max(wide(mark(row) + row.text), 0.8 * wide(row.under ?? "")));
  const beside = Math.ceil(Math.min(Math.max(...names, 24), BESIDE)) + 20;
  const heads = heat.columns.map((column) => Math.min(wide(mark(column) + column.text), ABOVE));
  const above = Math.ceil(Math.max(...heads, 24) * SLANT) + 20;
  const feet = (heat.feet?.heads.length ?? 0) * FOOT;
  const count = heat.columns.length;
  const room = (heat.widest || 720) - beside - GAP - Math.max(feet, 34);
  const least = heat.least ?? LEAST;
  const cell = Math.max(least, Math.min(56, Math.floor(room / count)));
  const doubled = heat.rows.some((row) => row.under);
  const few = count > 60 && heat.values.length <= 40; // a wide map need not be a flat one
  const high = Math.max(Math.min(36, cell), doubled ? 38 : few ? 18 : least);
  const right = beside + cell * count;
  const reach = Math.max(...heads.map((length, index) => beside + (index + 0.5) * cell + 10 + length * SLANT));
  return { beside, above, cell, high, right, wide: Math.ceil(Math.max(right + feet, reach) + GAP),
    tall: above + high * heat.values.length + GAP };
}

const mark = (one) => one.before ?? "";

let pen = null;
/** How wide a label is. @param {string} words */
export function wide(words) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = "14px 'Noto Sans Devanagari', system-ui, sans-serif";
  return pen.measureText(words).width;
}

/** A label that fits, cut between whole letters. */
function cut(words, most) {
  if (wide(words) <= most) return words;
  const letters = [...new Intl.Segmenter("hi").segment(words)].map((one) => one.segment);
  while (letters.length && wide(`${letters.join("")}…`) > most) letters.pop();
  return `${letters.join("")}…`;
}

/**
 * Labels that stay in sight while the map is scrolled; `light(row, column)` stresses one of each.
 * @param {import("./heatmap.js").Heat} heat
 */
export function labels(heat, layout) {
  const skips = [Math.ceil(17 / layout.high), Math.ceil(20 / layout.cell)];
  const columns = heat.columns.map((column, index) => {
    const [x, y] = [layout.beside + (index + 0.5) * layout.cell + 4, layout.above - 8];
    return written(column, { x, y, transform: `rotate(-45 ${x} ${y})`, "data-column": index }, ABOVE, index % skips[1]);
  });
  const rows = heat.rows.map((row, index) => {
    const y = layout.above + (index + 0.5) * layout.high + (row.under ? -2 : 5);
    return svg("g", {}, written(row, { x: layout.beside - 10, y, "text-anchor": "end", "data-row": index },
      BESIDE, index % skips[0]),
    row.under && svg("text", { x: layout.beside - 10, y: y + 15, "text-anchor": "end", class: "label-under",
      lang: `${row.lang ?? "hi"}-Latn` }, row.under));
  });
  const ground = (width, height) => svg("rect", { width, height, class: "label-ground" });
  const [top, left] = [
    svg("g", {}, ground(layout.wide, layout.above - 2), ...footHeads(heat, layout), ...columns),
    svg("g", {}, ground(layout.beside - 2, layout.tall), ...rows),
  ];
  const corner = ground(layout.beside - 2, layout.above - 2);
  const node = svg("g", { "aria-hidden": "true", class: "labels" }, top, left, corner);
  let lit = [];
  return {
    node,
    light(row, column) {
      for (const one of lit) one.classList.remove("here");
      lit = [rows[row]?.firstChild, columns[column]].filter(Boolean);
      for (const one of lit) one.classList.add("here");
      if (columns[column]) top.append(columns[column]); // above its neighbours
    },
    /** Follow the scrolled box. */
    follow(x, y) {
      top.setAttribute("transform", `translate(0 ${y})`);
      left.setAttribute("transform", `translate(${x} 0)`);
      corner.setAttribute("transform", `translate(${x} ${y})`);
    },
  };
}

function written(one, place, most, rare) {
  const made = svg("text", { ...place, lang: one.lang,
    class: `label${rare ? " rare" : ""}${one.faint ? " faint" : ""}` },
  one.before && svg("tspan", { class: "label-mark" }, one.before), cut(one.text, most));
  if (one.note || wide(one.text) > most) made.append(svg("title", {}, one.note ?? one.text));
  return made;
}

/** What stands at the right of every row. */
export function feet(heat, layout) {
  if (!heat.feet) return null;
  return svg("g", { "aria-hidden": "true" }, ...heat.feet.rows.flatMap((line, row) => line.map((words, index) =>
    foot(layout, words, index, layout.above + (row + 0.5) * layout.high + 4))));
}

const footHeads = (heat, layout) =>
  (heat.feet?.heads ?? []).map((words, index) => foot(layout, words, index, layout.above - 10));

const foot = (layout, words, at, y) =>
  svg("text", { x: layout.right + (at + 1) * FOOT - 4, y, "text-anchor": "end", class: "foot" }, words);
