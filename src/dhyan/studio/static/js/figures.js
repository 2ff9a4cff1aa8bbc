/** Figures of tasks by name, as in `dhyan.insight.task_figures`: what the page draws of a trace beside its heat map. */

import { drawCellGrid } from "./figures/cell_grid.js";
import { drawEntitySpans } from "./figures/entity_spans.js";
import { drawImageOverlay } from "./figures/image_overlay.js";
import { drawShadedWords } from "./figures/shaded_words.js";
import { drawWaveform } from "./figures/waveform.js";

/** @type {Record<string, (options: FigureOptions) => TaskFigure>} */
const FIGURES = {
  shaded_words: drawShadedWords,
  entity_spans: drawEntitySpans,
  image_overlay: drawImageOverlay,
  cell_grid: drawCellGrid,
  waveform: drawWaveform,
};

/** The figure of a trace's task; undefined for the heat map, and for a name that the page does not know. @param {Trace} trace */
export const figureOf = (trace) => FIGURES[trace.figure ?? ""];
