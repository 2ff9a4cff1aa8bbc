/** Waveform: the sound of an output with a player, above the attention of its frames over the characters of the text. */

import { contextOf, el, svg } from "../dom.js";
import { weightColor } from "../colors.js";
import { formatNumber } from "../numbers.js";
import { message } from "../messages.js";
import { blockAt, groups, heads, selectHead } from "../trace.js";

const [WAVE, ROW] = [72, 20]; // pixels
const WIDE = 1000; // units of the wave's outline

/** @param {FigureOptions} options @returns {TaskFigure} */
export function drawWaveform({ trace, card, onHover }) {
  const block = blockAt(trace, "cross", 99);
  const table = block ? selectHead(heads(block), "avg") : [];
  const characters = groups(trace.source, "token");
  const frames = groups(trace.target, "token", false).flatMap((unit) => unit.tokens);
  const canvas = el("canvas", { class: "frame-map", width: Math.max(1, frames.length), height: Math.max(1, characters.length), role: "img",
    "aria-label": message("figure_frames", frames.length, characters.length), style: { height: `${ROW * characters.length}px` } });
  const context = contextOf(canvas);
  characters.forEach(({ tokens: [token] }, row) => frames.forEach((frame, column) => {
    context.fillStyle = weightColor(table[frame]?.[token] ?? 0);
    context.fillRect(column, row, 1, 1);
  }));
  const labels = el("ol", { class: "frame-labels", "aria-hidden": "true" }, ...characters.map(({ text }) => el("li", { lang: card.source_language, style: { height: `${ROW}px` } }, text === " " ? "␣" : text)));
  const cursor = el("span", { class: "frame-cursor", hidden: true });
  const { sound } = trace;
  const player = sound && el("audio", { controls: true, src: sound.uri, preload: "auto", "aria-label": message("figure_sound"), on: { timeupdate: place, seeked: place } });
  const plot = el("div", { class: "frame-plot" }, sound && wave(sound), canvas, cursor);

  /** The line at the time of the player. */
  function place() {
    if (!player || !sound) return;
    cursor.hidden = false;
    cursor.style.setProperty("left", `${(100 * player.currentTime) / sound.seconds}%`);
  }

  canvas.addEventListener("pointermove", (event) => onHover(Math.min(frames.length - 1, Math.floor((event.offsetX / canvas.clientWidth) * frames.length)), null));
  canvas.addEventListener("pointerleave", () => onHover(null, null));
  const time = sound ? message("figure_seconds", formatNumber(sound.seconds, 2)) : message("figure_no_sound");
  const node = el("div", { class: "task-figure" }, player, el("div", { class: "frame-picture" }, labels, plot),
    el("p", { class: "muted" }, `${message("figure_frames", frames.length, characters.length)} ${time}`));
  return Object.assign(node, { summary: () => `${message("figure_frames", frames.length, characters.length)} ${time}` });
}

/** The outline of a sound. @param {TracedSound} sound */
function wave({ outline }) {
  const largest = Math.max(...outline.flat().map(Math.abs), 1e-6);
  const point = (value, at) => `${((at + 0.5) * WIDE / outline.length).toFixed(1)} ${(WAVE / 2 - (value / largest) * (WAVE / 2 - 2)).toFixed(1)}`;
  const upper = outline.map(([, high], at) => point(high, at));
  const lower = outline.map(([low], at) => point(low, at)).reverse();
  return svg("svg", { viewBox: `0 0 ${WIDE} ${WAVE}`, class: "wave", preserveAspectRatio: "none", role: "img", "aria-label": message("figure_wave") },
    svg("path", { d: `M${[...upper, ...lower].join(" L")} Z`, class: "wave-shape" }));
}
