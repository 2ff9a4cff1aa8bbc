/** Grid of the computation from top to bottom: decoder state, scores, weights, context. */

import { el, svg } from "../../dom.js";
import { weightColor, signedColor, textColor } from "../../colors.js";
import { agreement } from "../../agreement.js";
import { norm, formatNumber, sum, formatTiny } from "../../numbers.js";
import { strip, vectorTiles, maxAbs } from "../../vector_strips.js";
import { message } from "../../messages.js";
import { formula } from "./formulas.js";
import { isSingle, isVector, rowName, openCell } from "./sums.js";
import { rowsOf } from "./recompute.js";

export const WIDE_COLUMN = 116; // width in pixels of a column with numbers in its vectors
const NARROW_COLUMN = 58; // width below which numbers are shortened
export const TINY_COLUMN = 28; // smallest width of a column

/**
 * @param {object} step operands, computed, words, about, source (language), selected (word), columns (pixels
 *   per word), expandedRows, choose(word), toggleRow(row)
 */
export function computationGrid(step) {
  const groups = rowsOf(step.operands);
  const parts = [heads(step)];
  let line = 0;
  for (const [group, rows] of Object.entries(groups)) {
    parts.push(el("div", { class: "flow-group", role: "row" }, el("div", { role: "rowheader" },
      el("span", { class: "flow-stage", "aria-hidden": "true" }, String(++line)), message(`step_group_${group}`))));
    for (const row of rows) {
      if (row === "sum" || (row === "e" && !rows.includes("sum"))) parts.push(queryLines(step));
      if (row === "c") parts.push(contextLines(step));
      parts.push(isSingle(row) ? singleRow(step, row) : wordRow(step, row));
    }
  }
  const grid = el("div", { class: "flow", role: "grid", "aria-label": message("step_grid"), style: { "--columns": step.columns.map((width) => `${width}px`).join(" ") } },
    ...parts);
  bindArrowKeys(grid, step);
  return grid;
}

/** Header row: source words with their weights as bars. */
function heads(step) {
  const { computed: { page }, words, source, selected } = step;
  return el("div", { class: "flow-row flow-heads", role: "row" },
    el("div", { class: "flow-head", role: "columnheader" }, el("span", { class: "flow-description" }, message("sentence"))),
    ...words.map((word, j) => el("div", { class: `flow-word${columnClass(step, j)}`, role: "columnheader" },
      el("button", { type: "button", "aria-pressed": j === selected, on: { click: () => step.choose(j) } },
        el("span", { class: "flow-bar", "aria-hidden": "true",
          style: { "--share": page.alpha[j], "--tint": weightColor(Math.max(0.25, page.alpha[j])) } }, el("span", {})),
        el("span", { class: "number muted" }, String(j + 1)), el("span", { lang: source, title: word }, word)))));
}

function head(step, row) {
  const { about, computed, operands } = step;
  const sort = { s: about.after ? "_after" : "_before", e: `_${operands.score}` }[row] ?? "";
  const width = isVector(row) ? (isSingle(row) ? computed.page[row] : computed.page[row][0]).length : 0;
  return el("div", { class: "flow-head", role: "rowheader" },
    el("div", { class: "flow-formula", lang: "en" }, formula(row, about)),
    el("div", { class: "flow-description" }, message(`step_row_${row}${sort}`, formatNumber(sum(computed.page.alpha)))),
    el("div", { class: "flow-agreement" }, check(computed, row), !isSingle(row) && width > 8 && expandButton(step, row, width)));
}

/** Difference of a row from the model's values; the full sentence is its tooltip. */
function check({ differences, sizes }, row) {
  if (differences[row] === undefined) return null;
  const share = row === "exp"; // relative to the largest: exp has any magnitude
  const difference = share ? differences[row] / sizes[row] : differences[row];
  const { matches, text } = agreement(difference, share ? 1 : sizes[row]);
  const description = share ? message("step_share", text) : text;
  return el("span", { class: `flow-check ${matches ? "match" : "mismatch"}`, title: description },
    el("span", { "aria-hidden": "true" }, matches ? "✓ " : "≠ ", formatTiny(difference)), el("span", { class: "visually-hidden" }, description));
}

const expandButton = (step, row, width) => el("button", { type: "button", class: "strip-toggle", "aria-expanded": step.expandedRows.has(row),
  "aria-label": `${rowName(row, step.about)}: ${step.expandedRows.has(row) ? message("strip_first", 8) : message("strip_all", width)}`,
  on: { click: () => step.toggleRow(row) } }, step.expandedRows.has(row) ? message("strip_first", 8) : message("strip_all", width));

/** A row with one vector for the whole step. */
function singleRow(step, row) {
  return el("div", { class: `flow-row flow-single row-${row}`, role: "row", "data-name": row }, head(step, row),
    el("div", { class: "flow-single-vector", role: "gridcell" }, strip({ label: "", values: step.computed.page[row],
      ariaLabel: rowName(row, step.about), onOpen: (index) => openCell(step, row, 0, index) })));
}

/** A row with one cell per source word. */
function wordRow(step, row) {
  const values = step.computed.page[row];
  const largest = maxAbs(...(isVector(row) ? values : [values]));
  return el("div", { class: `flow-row row-${row}`, role: "row", "data-name": row }, head(step, row),
    ...values.map((value, j) => el("div", { class: `flow-cell${columnClass(step, j)}`, role: "gridcell" },
      (isVector(row) ? vectorCell : numberCell)(step, row, j, value, largest))));
}

/** Whether a column is wide enough for numbers in its vectors, or so small that numbers are shortened. */
const isWide = (step, j) => step.columns[j] >= WIDE_COLUMN;
const isTiny = (step, j) => step.columns[j] < NARROW_COLUMN;
const columnClass = (step, j) => `${j === step.selected ? " selected" : ""}${isWide(step, j) ? "" : " narrow"}${isTiny(step, j) ? " tiny" : ""}`;

function vectorCell(step, row, j, values, largest) {
  const expanded = step.expandedRows.has(row);
  return el("button", { type: "button", class: "flow-vector", tabindex: -1, "data-word": j, "data-name": row,
    "aria-label": message("step_vector", rowName(row, step.about), step.words[j], values.length, formatNumber(norm(values))),
    on: { click: (event) => {
      const index = Number(event.target.closest("[data-index]")?.dataset.index ?? 0);
      openCell(step, row, j, index);
    } } },
  vectorTiles(values, expanded ? { colorLimit: largest, visibleCount: values.length, size: "small" } : { colorLimit: largest, size: isWide(step, j) ? "numbers" : "plain" }),
  el("span", { class: "flow-norm number" }, isWide(step, j) ? `‖·‖ ${formatNumber(norm(values), 2)}` : formatNumber(norm(values), isTiny(step, j) && norm(values) >= 99.5 ? 0 : 1)));
}

function numberCell(step, row, j, value, largest) {
  const hidden = step.computed.page.visibility[j] === 0 && (row === "exp" || row === "alpha" || row === "visibility");
  const background = hidden ? null : row === "e" ? signedColor(value, largest) : row === "exp" ? null : weightColor(value);
  const tiny = isTiny(step, j);
  const digits = row === "e" ? (isWide(step, j) ? 3 : 1) : tiny ? 2 : 3;
  const formatted = row === "exp" ? formatPositive(value, tiny) : formatNumber(value, digits, { weight: tiny && row !== "e" });
  return el("button", { type: "button", class: `flow-number${hidden ? " hidden" : ""}`, tabindex: -1, "data-word": j,
    "data-name": row, "data-value": value, style: background ? { background, color: textColor(background) } : {},
    "aria-label": message("step_cell", rowName(row, step.about), step.words[j], hidden ? `${formatted}, ${message("step_masked")}` : formatted),
    on: { click: () => openCell(step, row, j) } },
  el("span", { class: "number" }, formatted),
  row === "alpha" && !tiny && el("span", { class: "flow-caption", lang: step.source }, step.words[j]),
  hidden && row === "visibility" && el("span", { class: "flow-caption" }, message("step_masked")));
}

/** A positive number of any size: 0.00312, 12.4, 6650, 3.1e5; in at most four characters if short. */
function formatPositive(value, short = false) {
  if (value === 0) return "0";
  if (short && (value >= 9999.5 || value < 0.0095)) return value.toExponential(0).replace("-", "−").replace("+", "");
  if (short) return formatNumber(value, value < 0.995 ? 2 : value < 9.95 ? 1 : 0, { weight: true });
  if (value >= 1e5 || value < 1e-3) return value.toExponential(1).replace("-", "−").replace("+", "");
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

const LINES_HEIGHT = 44;
const MANY_LINES = 12; // more lines from one point are fainter
const STRIP_CENTRE = 178; // pixels from the left end to the middle of a strip of eight

/** Curves between the word columns and a single vector at the left. */
function connections(name, { columns }, attributes) {
  const width = sum(columns);
  const centre = Math.min(STRIP_CENTRE, width / 2);
  let left = 0;
  const paths = columns.map((column, j) => {
    const middle = left + column / 2;
    left += column;
    const [from, to] = name === "fan" ? [centre, middle] : [middle, centre];
    return svg("path", { d: `M ${from} 0 C ${from} ${LINES_HEIGHT * 0.6}, ${to} ${LINES_HEIGHT * 0.4}, ${to} ${LINES_HEIGHT}`, ...attributes(j) });
  });
  return el("div", { class: `flow-row flow-lines flow-${name}`, role: "presentation", "aria-hidden": "true" },
    el("div", { class: "flow-head" }), svg("svg", { width, height: LINES_HEIGHT }, ...paths));
}

/** The query goes to every word. */
const queryLines = (step) => connections("fan", step, () => ({ "stroke-width": 1.25, "stroke-opacity": 0.4 * Math.min(1, MANY_LINES / step.columns.length) }));

/** The weighted states are summed; width and opacity of a line show the weight, so that many small ones do not look like a large one. */
const contextLines = (step) => connections("funnel", step, (j) => {
  const share = step.computed.page.alpha[j];
  return { "stroke-width": (0.75 + 15 * share).toFixed(2), "stroke-opacity": (0.9 * Math.sqrt(share)).toFixed(2) };
});

/** Arrow keys move between cells; one cell is the tab stop. */
function bindArrowKeys(grid, step) {
  const cells = () => [...grid.querySelectorAll(".flow-row")].map((row) => [...row.querySelectorAll("[data-word]")])
    .filter((line) => line.length);
  grid.querySelector(`.row-alpha [data-word="${step.selected}"]`)?.setAttribute("tabindex", "0");
  grid.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-word]");
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -999], End: [0, 999] }[event.key];
    if (!cell || !by) return;
    event.preventDefault();
    const connections = cells();
    const row = connections.findIndex((line) => line.includes(cell));
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
    const line = connections[within(row + by[0], connections.length)];
    const next = line[within(connections[row].indexOf(cell) + by[1], line.length)];
    cell.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
    step.choose(Number(next.dataset.word));
  });
}
