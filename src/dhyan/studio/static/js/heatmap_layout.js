/** Layout of a heat map: cells, row and column labels, row sums at the right. */

import { svg } from "./dom.js";
import { fontOfSize, textWidth, truncate } from "./text_width.js";

const GAP = 8;
const STATISTIC_WIDTH = 50;
const MAX_ROW_LABEL = 180; // largest width of a row label in pixels
const MAX_COLUMN_LABEL = 190; // largest length of a slanted column label
const SLANT = Math.SQRT1_2;
const LABEL_OFFSET = 10; // pixels from the middle of a column to the start of its slanted label, and its height
const MIN_CELL_WIDTH = 6; // pixels of a cell

/** Cell width with which a map can be read, and scrolls if it must: every label of up to 60 columns, every second of more. @param {number} columns */
export const readableCellWidth = (columns) => (columns > 60 ? 12 : columns > 30 ? 20 : 18);

/** Sizes of cells and labels.
 * @param {Pick<import("./heatmap.js").Heat, "values" | "rows" | "columns" | "statistics" | "maxWidth" | "minCellWidth">} heat */
export function measure(heat) {
  const rowLabels = heat.rows.map((row) => Math.max(labelWidth(prefixOf(row) + row.text), 0.8 * labelWidth(row.subtitle ?? "")));
  const left = Math.ceil(Math.min(Math.max(...rowLabels, 24), MAX_ROW_LABEL)) + 20;
  const columnLabels = heat.columns.map((column) => (isUpright(column) ? 0 : Math.min(labelWidth(prefixOf(column) + column.text), MAX_COLUMN_LABEL)));
  const top = Math.ceil(Math.max(...columnLabels, 24) * SLANT) + 20;
  const statisticsWidth = (heat.statistics?.titles.length ?? 0) * STATISTIC_WIDTH;
  const count = heat.columns.length;
  const available = (heat.maxWidth || 720) - left - GAP;
  const minCellWidth = heat.minCellWidth ?? MIN_CELL_WIDTH;
  const overhang = (length) => LABEL_OFFSET + length * SLANT; // of a slanted label, to the right of its column's middle
  const fitting = columnLabels.map((length, index) => (available - overhang(length)) / (index + 0.5)); // widest cell with the label inside
  const cell = Math.max(minCellWidth, Math.min(56, Math.floor(Math.min((available - statisticsWidth) / count, ...fitting))));
  const hasSubtitles = heat.rows.some((row) => row.subtitle);
  const isWide = count > 60 && heat.values.length <= 40; // wide maps keep a readable row height
  const rowHeight = Math.max(Math.min(36, cell), hasSubtitles ? 38 : isWide ? 18 : minCellWidth);
  const right = left + cell * count;
  const labelEnd = Math.max(...columnLabels.map((length, index) => left + (index + 0.5) * cell + overhang(length)));
  return { left, top, cell, rowHeight, right, width: Math.ceil(Math.max(right + statisticsWidth, labelEnd) + GAP),
    height: top + rowHeight * heat.values.length + GAP };
}

const prefixOf = (label) => label.prefix ?? "";

/** Whether a column label is one letter: slanted, an "I" is taken for a "\\" and a danda for a "/". */
export const isUpright = (label) => [...new Intl.Segmenter("hi").segment(label.text)].length === 1;

export const LABEL_FONT = fontOfSize(14);

/** Width of a label in pixels. @param {string} text */
export const labelWidth = (text) => textWidth(text, LABEL_FONT);

/**
 * Sticky labels; `highlight(row, column)` emphasizes one row and one column label.
 * @param {import("./heatmap.js").Heat} heat
 */
export function labels(heat, layout) {
  const skips = [Math.ceil(17 / layout.rowHeight), Math.ceil(20 / layout.cell)];
  const columns = heat.columns.map((column, index) => {
    const upright = isUpright(column);
    const [x, y] = [layout.left + (index + 0.5) * layout.cell + (upright ? 0 : 4), layout.top - 8];
    const position = upright ? { x, y, "text-anchor": "middle" } : { x, y, transform: `rotate(-45 ${x} ${y})` };
    return labelText(column, { ...position, "data-column": index }, MAX_COLUMN_LABEL, index % skips[1]);
  });
  const rows = heat.rows.map((row, index) => {
    const y = layout.top + (index + 0.5) * layout.rowHeight + (row.subtitle ? -2 : 5);
    return svg("g", {}, labelText(row, { x: layout.left - 10, y, "text-anchor": "end", "data-row": index },
      MAX_ROW_LABEL, index % skips[0]),
    row.subtitle && svg("text", { x: layout.left - 10, y: y + 15, "text-anchor": "end", class: "label-subtitle",
      lang: `${row.lang ?? "hi"}-Latn` }, row.subtitle));
  });
  const background = (width, height) => svg("rect", { width, height, class: "label-background" });
  const [top, left] = [
    svg("g", {}, background(layout.width, layout.top - 2), ...statisticTitles(heat, layout), ...columns),
    svg("g", {}, background(layout.left - 2, layout.height), ...rows),
  ];
  const corner = background(layout.left - 2, layout.top - 2);
  const node = svg("g", { "aria-hidden": "true", class: "labels" }, top, left, corner);
  let highlighted = [];
  return {
    node,
    highlight(row, column) {
      for (const element of highlighted) element.classList.remove("selected");
      highlighted = [rows[row]?.firstElementChild, columns[column]].flatMap((element) => element ?? []);
      for (const element of highlighted) element.classList.add("selected");
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

function labelText(label, attributes, maxWidth, skipped) {
  const element = svg("text", { ...attributes, lang: label.lang,
    class: `label${skipped ? " skipped" : ""}${label.faint ? " faint" : ""}` },
  label.prefix && svg("tspan", { class: "label-prefix" }, label.prefix), truncate(label.text, maxWidth, LABEL_FONT));
  if (label.note || labelWidth(label.text) > maxWidth) element.append(svg("title", {}, label.note ?? label.text));
  return element;
}

/** Columns at the right of every row (sum, entropy). */
export function rowStatistics(heat, layout) {
  if (!heat.statistics) return null;
  return svg("g", { "aria-hidden": "true" }, ...heat.statistics.rows.flatMap((line, row) => line.map((text, index) =>
    statistic(layout, text, index, layout.top + (row + 0.5) * layout.rowHeight + 4, row))));
}

const statisticTitles = (heat, layout) =>
  (heat.statistics?.titles ?? []).map((text, index) => statistic(layout, text, index, layout.top - 10));

const statistic = (layout, text, index, y, row = null) =>
  svg("text", { "data-row": row, x: layout.right + (index + 1) * STATISTIC_WIDTH - 4, y, "text-anchor": "end", class: "row-statistic" }, text);
