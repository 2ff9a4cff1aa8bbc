/** Layout of a heat map: cells, row and column labels, row sums at the right. */

import { svg } from "./dom.js";

const GAP = 8;
const FOOT = 58;
const BESIDE = 180; // largest width of a row label in pixels
const ABOVE = 190; // largest length of a slanted column label
const SLANT = Math.SQRT1_2;
const LEAST = 6; // pixels of a cell

/** Sizes of cells and labels. @param {import("./heatmap.js").Heat} heat */
export function measure(heat) {
  const names = heat.rows.map((row) => Math.max(labelWidth(mark(row) + row.text), 0.8 * labelWidth(row.under ?? "")));
  const beside = Math.ceil(Math.min(Math.max(...names, 24), BESIDE)) + 20;
  const heads = heat.columns.map((column) => Math.min(labelWidth(mark(column) + column.text), ABOVE));
  const above = Math.ceil(Math.max(...heads, 24) * SLANT) + 20;
  const feet = (heat.feet?.heads.length ?? 0) * FOOT;
  const count = heat.columns.length;
  const available = (heat.widest || 720) - beside - GAP - Math.max(feet, 34);
  const least = heat.least ?? LEAST;
  const cell = Math.max(least, Math.min(56, Math.floor(available / count)));
  const doubled = heat.rows.some((row) => row.under);
  const few = count > 60 && heat.values.length <= 40; // wide maps keep a readable row height
  const high = Math.max(Math.min(36, cell), doubled ? 38 : few ? 18 : least);
  const right = beside + cell * count;
  const reach = Math.max(...heads.map((length, index) => beside + (index + 0.5) * cell + 10 + length * SLANT));
  return { beside, above, cell, rowHeight: high, right, width: Math.ceil(Math.max(right + feet, reach) + GAP),
    height: above + high * heat.values.length + GAP };
}

const mark = (label) => label.before ?? "";

let pen = null;
/** Width of a label in pixels. @param {string} words */
export function labelWidth(words) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = "14px 'Noto Sans Devanagari', system-ui, sans-serif";
  return pen.measureText(words).width;
}

/** Truncate a label at a grapheme boundary. */
function truncate(words, maxWidth) {
  if (labelWidth(words) <= maxWidth) return words;
  const letters = [...new Intl.Segmenter("hi").segment(words)].map((part) => part.segment);
  while (letters.length && labelWidth(`${letters.join("")}…`) > maxWidth) letters.pop();
  return `${letters.join("")}…`;
}

/**
 * Sticky labels; `highlight(row, column)` emphasizes one row and one column label.
 * @param {import("./heatmap.js").Heat} heat
 */
export function labels(heat, layout) {
  const skips = [Math.ceil(17 / layout.rowHeight), Math.ceil(20 / layout.cell)];
  const columns = heat.columns.map((column, index) => {
    const [x, y] = [layout.beside + (index + 0.5) * layout.cell + 4, layout.above - 8];
    return labelText(column, { x, y, transform: `rotate(-45 ${x} ${y})`, "data-column": index }, ABOVE, index % skips[1]);
  });
  const rows = heat.rows.map((row, index) => {
    const y = layout.above + (index + 0.5) * layout.rowHeight + (row.under ? -2 : 5);
    return svg("g", {}, labelText(row, { x: layout.beside - 10, y, "text-anchor": "end", "data-row": index },
      BESIDE, index % skips[0]),
    row.under && svg("text", { x: layout.beside - 10, y: y + 15, "text-anchor": "end", class: "label-under",
      lang: `${row.lang ?? "hi"}-Latn` }, row.under));
  });
  const background = (width, height) => svg("rect", { width, height, class: "label-ground" });
  const [top, left] = [
    svg("g", {}, background(layout.width, layout.above - 2), ...footHeads(heat, layout), ...columns),
    svg("g", {}, background(layout.beside - 2, layout.height), ...rows),
  ];
  const corner = background(layout.beside - 2, layout.above - 2);
  const node = svg("g", { "aria-hidden": "true", class: "labels" }, top, left, corner);
  let highlighted = [];
  return {
    node,
    highlight(row, column) {
      for (const element of highlighted) element.classList.remove("here");
      highlighted = [rows[row]?.firstChild, columns[column]].filter(Boolean);
      for (const element of highlighted) element.classList.add("here");
      if (columns[column]) top.append(columns[column]); // above its neighbours
    },
    /** Keep the labels in view after scrolling. */
    scroll(x, y) {
      top.setAttribute("transform", `translate(0 ${y})`);
      left.setAttribute("transform", `translate(${x} 0)`);
      corner.setAttribute("transform", `translate(${x} ${y})`);
    },
  };
}

function labelText(label, attributes, maxWidth, rare) {
  const element = svg("text", { ...attributes, lang: label.lang,
    class: `label${rare ? " rare" : ""}${label.faint ? " faint" : ""}` },
  label.before && svg("tspan", { class: "label-mark" }, label.before), truncate(label.text, maxWidth));
  if (label.note || labelWidth(label.text) > maxWidth) element.append(svg("title", {}, label.note ?? label.text));
  return element;
}

/** Columns at the right of every row (sum, entropy). */
export function rowFeet(heat, layout) {
  if (!heat.feet) return null;
  return svg("g", { "aria-hidden": "true" }, ...heat.feet.rows.flatMap((line, row) => line.map((words, index) =>
    foot(layout, words, index, layout.above + (row + 0.5) * layout.rowHeight + 4))));
}

const footHeads = (heat, layout) =>
  (heat.feet?.heads ?? []).map((words, index) => foot(layout, words, index, layout.above - 10));

const foot = (layout, words, index, y) =>
  svg("text", { x: layout.right + (index + 1) * FOOT - 4, y, "text-anchor": "end", class: "foot" }, words);
