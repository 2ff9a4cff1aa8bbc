/** The notes' self-attention without parameters, in the plane: Y = softmax(X Xᵀ) X, and again. */

import { dot, matmul, scaled, softmax, sum } from "../../numbers.js";

/** The notes place money and bank; river is placed so that it lies on the other side. */
export const POINTS = { money: [2, 7], bank: [9, 3], river: [12, -3] };
export const SENTENCES = { money: ["money", "bank"], river: ["river", "bank"], both: ["money", "bank", "river"] };
/** The share the notes' drawing gives another word; the rest a word keeps. */
const DRAWN_WEIGHT = 0.2;
/** Vectors are divided by ten before they are multiplied: else every softmax is 0 or 1. */
const TENTH = 0.1;
const POINT_PATTERN = /^[a-z]+:-?\d+(\.\d)?,-?\d+(\.\d)?$/;

/** Places as the address has them: only what was moved. @param {string} text */
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

/** How much of every word goes into each. @param {number[][]} vectors @param {number} temperature */
export function weightsOf(vectors, temperature) {
  const inputs = vectors.map((vector) => scaled(vector, TENTH));
  return inputs.map((query) => softmax(inputs.map((key) => dot(query, key) / temperature)));
}

/** The weights of the notes' drawing: .8 of itself, .2 shared among the others. */
export const drawnWeights = (vectors) => vectors.map((_, row) =>
  vectors.map((_, column) => (row === column ? 1 - DRAWN_WEIGHT : DRAWN_WEIGHT / (vectors.length - 1))));

/**
 * Where the words are after each layer; the weights are computed anew from where they then are.
 * @param {number[][]} vectors @param {{layers: number, temperature: number, drawn: boolean}} how
 */
export function applyLayers(vectors, { layers, temperature, drawn }) {
  const stages = [vectors];
  const weights = [];
  for (let layer = 0; layer < layers; layer += 1) {
    const current = stages.at(-1);
    weights.push(drawn ? drawnWeights(current) : weightsOf(current, temperature));
    stages.push(matmul(weights.at(-1), current));
  }
  return { stages, weights };
}

export const distance = (a, b) => Math.sqrt(sum(a.map((value, index) => (value - b[index]) ** 2)));
