/** Word vectors of the encoder on the two principal axes, as the studio's route `/api/gravity`. */

import { principalAxes } from "./principal_axes.js";

/** @typedef {Float32Array | Float64Array} Vector */

const [MIN_WORDS, MAX_WORDS] = [3, 30]; // three span a plane
const TINY = 1e-12;

/**
 * The fields of `dhyan.studio.routes.word_vector_gravity.Projection`; a string says why there are none.
 * @param {import("./model.js").Model} model @param {number[]} ids EOS last
 * @param {{first: number, last: number, text: string}[]} words without EOS
 */
export function projectWords(model, ids, words) {
  if (words.length < MIN_WORDS || words.length > MAX_WORDS) return `${words.length} words; a plane takes from ${MIN_WORDS} to ${MAX_WORDS}`;
  const { shared, stages } = model.encoder.vectors(ids);
  const vectors = stages.map((stage) => words.map(({ first, last }) => mean(stage.slice(first, last))));
  const projected = [];
  for (const stage of vectors) {
    const origin = shared ? vectors[0] : stage;
    const axes = principalAxes(centred(origin));
    if (!axes) return "these words do not span a plane: write at least three that differ";
    projected.push(project(stage, axes, mean(origin)));
  }
  const last = vectors.at(-1);
  return { words: words.map(({ text }) => text), axes: shared ? "shared" : "separate", width: vectors[0][0].length, stages: projected,
    distances: shared ? last.map((vector, index) => norm(subtract(vector, vectors[0][index]))) : [], similarities: vectors.map(cosines) };
}

/** Positions on the axes, and the share of variance that each explains. */
function project(stage, axes, centre) {
  const rows = centred(stage);
  const total = rows.reduce((sum, row) => sum + dot(row, row), 0);
  return { positions: stage.map((vector) => axes.map((axis) => dot(subtract(vector, centre), axis))),
    explained_variance: axes.map((axis) => rows.reduce((sum, row) => sum + dot(row, axis) ** 2, 0) / Math.max(total, TINY)) };
}

/** The cosine of every pair of vectors, less their mean, which all of them share. */
function cosines(stage) {
  const unit = centred(stage).map((row) => row.map((value) => value / Math.max(norm(row), TINY)));
  return unit.map((a) => unit.map((b) => dot(a, b)));
}

const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);
const norm = (a) => Math.sqrt(dot(a, a));
const subtract = (a, b) => Float64Array.from(a, (value, index) => value - b[index]);
const mean = (rows) => Float64Array.from(rows[0], (_, index) => rows.reduce((sum, row) => sum + row[index], 0) / rows.length);

/** Vectors less their mean. @param {Vector[]} rows */
function centred(rows) {
  const centre = mean(rows);
  return rows.map((row) => subtract(row, centre));
}
