/** Parameter-free self-attention in the plane: Y = softmax(X Xᵀ) X, layer by layer. */

import { attend } from "../../attention.js";
import { matmul, scaleVector, sum } from "../../numbers.js";

/** Points of the lecture notes (money, bank); river lies on the other side. */
export const POINTS = { money: [2, 7], bank: [9, 3], river: [12, -3] };
export const SENTENCES = { money: ["money", "bank"], river: ["river", "bank"], both: ["money", "bank", "river"] };
/** Weight of the other words in the lecture notes' figure; the rest is the word's own. */
const FIXED_WEIGHT = 0.2;
/** Vectors are divided by ten before the dot product; otherwise the softmax saturates. */
const INPUT_SCALE = 0.1;
const POINT_PATTERN = /^[a-z]+:-?\d+(\.\d)?,-?\d+(\.\d)?$/;

/** Parse the moved points of the URL. @param {string} text */
export function parsePoints(text) {
  const points = { ...POINTS };
  for (const entry of text.split(";").filter((part) => POINT_PATTERN.test(part))) {
    const [word, coordinates] = entry.split(":");
    if (word in POINTS) points[word] = coordinates.split(",").map(Number).map((value) => Math.min(Math.max(value, -20), 30));
  }
  return points;
}

export const formatPoints = (points) => Object.keys(POINTS)
  .filter((word) => points[word].some((value, axis) => value !== POINTS[word][axis]))
  .map((word) => `${word}:${points[word].join(",")}`).join(";");

/** Attention weights: the vectors are queries, keys and values, and the temperature divides the scores.
 * @param {number[][]} vectors @param {number} temperature */
export function weightsOf(vectors, temperature) {
  const inputs = vectors.map((vector) => scaleVector(vector, INPUT_SCALE));
  return attend({ queries: inputs, keys: inputs, values: vectors, scale: temperature }).weights;
}

/** The weights of the lecture notes' figure: .8 for the word itself, .2 for the others. */
const fixedWeights = (vectors) => vectors.map((_, row) =>
  vectors.map((_, column) => (row === column ? 1 - FIXED_WEIGHT : FIXED_WEIGHT / (vectors.length - 1))));

/**
 * Positions after each layer; the weights are recomputed from the current positions.
 * @param {number[][]} vectors @param {{layers: number, temperature: number, fixed: boolean}} options
 */
export function applyLayers(vectors, { layers, temperature, fixed }) {
  const stages = [vectors];
  const weights = [];
  for (let layer = 0; layer < layers; layer += 1) {
    const current = stages.at(-1);
    weights.push(fixed ? fixedWeights(current) : weightsOf(current, temperature));
    stages.push(matmul(weights.at(-1), current));
  }
  return { stages, weights };
}

export const distance = (a, b) => Math.sqrt(sum(a.map((value, index) => (value - b[index]) ** 2)));
