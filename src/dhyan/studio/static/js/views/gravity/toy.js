/** The notes' self-attention without parameters, in the plane: Y = softmax(X Xᵀ) X, and again. */

import { dot, matmul, scaled, softmax, sum } from "../../numbers.js";

/** The notes place money and bank; river is placed so that it lies on the other side. */
export const PLACES = { money: [2, 7], bank: [9, 3], river: [12, -3] };
export const SENTENCES = { money: ["money", "bank"], river: ["river", "bank"], both: ["money", "bank", "river"] };
/** The share the notes' drawing gives another word; the rest a word keeps. */
const DRAWN = 0.2;
/** Vectors are divided by ten before they are multiplied: else every softmax is 0 or 1. */
const TENTH = 0.1;
const WRITTEN = /^[a-z]+:-?\d+(\.\d)?,-?\d+(\.\d)?$/;

/** Places as the address has them: only what was moved. @param {string} written */
export function placesOf(written) {
  const found = { ...PLACES };
  for (const one of written.split(";").filter((part) => WRITTEN.test(part))) {
    const [word, place] = one.split(":");
    if (word in PLACES) found[word] = place.split(",").map(Number).map((value) => Math.min(Math.max(value, -20), 30));
  }
  return found;
}

export const written = (places) => Object.keys(PLACES)
  .filter((word) => places[word].some((value, axis) => value !== PLACES[word][axis]))
  .map((word) => `${word}:${places[word].join(",")}`).join(";");

/** How much of every word goes into each. @param {number[][]} vectors @param {number} temperature */
export function weightsOf(vectors, temperature) {
  const small = vectors.map((one) => scaled(one, TENTH));
  return small.map((own) => softmax(small.map((other) => dot(own, other) / temperature)));
}

/** The weights of the notes' drawing: .8 of itself, .2 shared among the others. */
export const drawnWeights = (vectors) => vectors.map((_, row) =>
  vectors.map((_, column) => (row === column ? 1 - DRAWN : DRAWN / (vectors.length - 1))));

/**
 * Where the words are after each layer; the weights are computed anew from where they then are.
 * @param {number[][]} vectors @param {{layers: number, temperature: number, drawn: boolean}} how
 */
export function pulled(vectors, { layers, temperature, drawn }) {
  const stages = [vectors];
  const weights = [];
  for (let layer = 0; layer < layers; layer += 1) {
    const now = stages.at(-1);
    weights.push(drawn ? drawnWeights(now) : weightsOf(now, temperature));
    stages.push(matmul(weights.at(-1), now));
  }
  return { stages, weights };
}

export const far = (a, b) => Math.sqrt(sum(a.map((value, at) => (value - b[at]) ** 2)));
