/** The stages of a toy, from its words to their mixtures; numbers follow in place as one edits. */

import { el } from "../../dom.js";
import { matrixEditor } from "../../matrix_editor.js";
import { matrix } from "../../matrix.js";
import { maxDifference, formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { openSum } from "../../arithmetic.js";
import { equation, stage, sumLine, switched } from "./stage.js";
import { plane } from "./context_plot.js";
import { computeToy } from "./recompute.js";

const SATURATED = 0.9995; // a weight that is written as 1.000
const column = (table, at) => table.map((line) => line[at]);

/**
 * @param {{toy: import("./toy_state.js").Toy, found: ReturnType<typeof worked>, digits: Record<string, number>,
 *   edited: () => void, flip: (key: string) => void}} now its `found` and `digits` are replaced at every edit
 */
export function toyStages(now) {
  const shows = [];
  const words = () => now.toy.words.map((text) => ({ text }));
  const write = (name, weight = false) => (value) => (value === 0 ? "0" : formatNumber(value, now.digits[name], { weight }));

  /** A matrix of what was found. */
  function result(key, name, about, more = {}) {
    const made = matrix({ values: () => now.found[key], rows: words, name, about: message(about),
      write: write(key, key === "weights" || key === "zeroed"), ...more });
    shows.push(made.show);
    return made;
  }

  /** A line under an equation that follows the cell one looks at. */
  function follow(parts, line) {
    const told = el("p", { class: "work number" });
    let at = [0, 0];
    const touch = (...place) => {
      at = place;
      parts().light(...at);
      told.textContent = line(...at);
    };
    shows.push(() => touch(...at));
    return { told, touch };
  }

  const product = (left, right, made) => () => ({ light: (row, at) => {
    left().light({ row });
    right().light({ column: at });
    made().light({ row, column: at });
  } });

  /** What a number of the right matrix is multiplied with, and what it goes into. */
  function used(left, right, made, row, at) {
    left.light({ column: row });
    right.light({ row, column: at });
    made.light({ column: at });
  }

  /** X · W = …, the matrix W to be edited. */
  function projection(letter, key, role) {
    const upper = letter.toUpperCase();
    const terms = (row, at) => now.toy.x[row].map((one, place) => [one, now.toy[letter][place][at]]);
    const title = (row, at) => message("qkv_number", message(role, now.toy.words[row]), at + 1);
    const editor = matrixEditor({ name: `W_${letter}`, about: message(`qkv_m_W${letter}`), values: now.toy[letter],
      change: (row, at, value) => { now.toy[letter][row][at] = value; now.edited(); },
      touch: (row, at) => used(x, editor, made, row, at) });
    const { told, touch } = follow(product(() => x, () => editor, () => made),
      (row, at) => sumLine(title(row, at), terms(row, at), write(key)(now.found[key][row][at])));
    const x = echo();
    const made = result(key, upper, `qkv_m_${upper}`, { touch, open: (row, at) => openSum({ title: title(row, at),
      terms: terms(row, at), symbols: ["x", `W_${letter}`] }) });
    return el("div", { class: `made made-${letter}` }, equation(x, "×", editor, "=", made), told);
  }

  function echo() {
    const made = matrix({ values: () => now.toy.x, rows: words, name: "X", about: message("qkv_m_X"),
      write: (value) => formatNumber(value, now.digits.x) });
    shows.push(made.show);
    return made;
  }

  const projections = () => stage({ number: 2, title: message("qkv_project"), rule: "Q = X W_q , K = X W_k , V = X W_v",
    text: message("qkv_project_text") },
  projection("q", "queries", "qkv_q"), projection("k", "keys", "qkv_k"), projection("v", "values", "qkv_v"));

  function scores() {
    const { swapped } = now.toy;
    const names = swapped ? ["K", "Q"] : ["Q", "K"];
    const terms = (row, at) => now.found.asking[row].map((one, place) => [one, now.found.asked[at][place]]);
    const title = (row, at) => message("qkv_score_of", now.toy.words[row], now.toy.words[at]);
    const { told, touch } = follow(product(() => left, () => right, () => made),
      (row, at) => sumLine(title(row, at), terms(row, at), write("scores")(now.found.scores[row][at])));
    const left = result("asking", names[0], `qkv_m_${names[0]}`);
    const right = matrix({ values: () => now.found.asked[0].map((_, at) => column(now.found.asked, at)), columns: words,
      name: `${names[1]}^T`, about: message(`qkv_m_${names[1]}`), write: write("asked") });
    shows.push(right.show);
    const made = result("scores", "S", "qkv_m_S", { columns: words, touch, tint: "signed", open: (row, at) =>
      openSum({ title: title(row, at), terms: terms(row, at), symbols: names.map((name) => name.toLowerCase()) }) });
    return stage({ number: 3, title: message("qkv_scores"), rule: `S = ${names[0]} ${names[1]}^T`, text: message("qkv_scores_text") },
      switched("swapped", message("qkv_swap"), swapped, () => now.flip("swapped")),
      equation(left, "×", right, "=", made), told);
  }

  const cellwise = (key, made) => () => ({ light: (row, at) => {
    key().light({ row, column: at });
    made().light({ row, column: at });
  } });

  function divided() {
    const width = now.toy.q[0].length;
    const flip = switched("scaled", message("qkv_scale"), now.toy.scaled, () => now.flip("scaled"));
    const about = { number: 4, title: message("qkv_divide"), rule: "S / √d_k" };
    if (!now.toy.scaled) return stage({ ...about, text: message("qkv_undivided") }, flip);
    const title = (row, at) => message("qkv_score_of", now.toy.words[row], now.toy.words[at]);
    const { told, touch } = follow(cellwise(() => left, () => made), (row, at) => `${title(row, at)} = ${
      write("scores")(now.found.scores[row][at])} ÷ √${width} = ${write("divided")(now.found.divided[row][at])}`);
    const left = result("scores", "S", "qkv_m_S", { columns: words, tint: "signed" });
    const made = result("divided", "S / √d_k", "qkv_m_D", { columns: words, touch, tint: "signed",
      open: (row, at) => openSum({ title: title(row, at),
        terms: [[now.found.scores[row][at], 1 / now.found.scale]], symbols: ["s", `1/√${width}`] }) });
    return stage({ ...about, text: message("qkv_divide_text", width, formatNumber(Math.sqrt(width), 3)) }, flip,
      equation(left, `÷ √${width} =`, made), told);
  }

  function masked() {
    const flip = switched("causal", message("qkv_causal"), now.toy.causal, () => now.flip("causal"));
    const about = { number: 5, title: message("qkv_mask"), rule: "S + M" };
    if (!now.toy.causal) return stage({ ...about, text: message("qkv_unmasked") }, flip);
    const left = result("divided", now.toy.scaled ? "S / √d_k" : "S", "qkv_m_D", { columns: words, tint: "signed" });
    const mask = matrix({ values: () => now.found.mask, rows: words, columns: words, name: "M", about: message("qkv_m_M"),
      write: (value) => formatNumber(value, 0) });
    const made = result("masked", "S + M", "qkv_m_SM", { columns: words, tint: "signed" });
    shows.push(mask.show);
    return stage({ ...about, text: message("qkv_mask_text") }, flip, equation(left, "+", mask, "=", made));
  }

  function weights() {
    const title = (row, at) => message("qkv_weight_of", now.toy.words[row], now.toy.words[at]);
    const grown = (row) => now.found.masked[row].map((one) => Math.exp(one - Math.max(...now.found.masked[row])));
    const { told, touch } = follow(() => ({ light: (row, at) => {
      left.light({ row });
      made.light({ row, column: at });
    } }), (row, at) => `${title(row, at)} = e^(${formatNumber(now.found.masked[row][at], now.digits.masked)}) ÷ Σ e^s = ${
      write("weights", true)(now.found.weights[row][at])}`);
    const left = result("masked", "S", "qkv_m_SM", { columns: words, tint: "signed" });
    const made = result("weights", "A", "qkv_m_A", { columns: words, tint: "weights", touch, open: (row, at) =>
      openSum({ title: title(row, at), terms: grown(row).map((one) => [one]), symbols: ["e^(s − max)"],
        names: now.toy.words, then: { symbol: `${now.toy.words[at]} ÷ Σ`, value: now.found.weights[row][at] } }) });
    const remark = el("p", { class: "remark" });
    shows.push(() => { remark.textContent = remarks(); });
    return stage({ number: 6, title: message("qkv_softmax"), rule: "A = softmax ( S )", text: message("qkv_softmax_text") },
      equation(left, "→", made), told, remark, now.toy.causal && zeroed());
  }

  function remarks() {
    const told = [];
    const { weights: own, scores: table } = now.found;
    if (now.toy.swapped) {
      const right = computeToy({ ...now.toy, swapped: false });
      const rows = right.weights.map((line) => `(${line.map((one) => formatNumber(one, now.digits.weights, { weight: true })).join(", ")})`);
      told.push(maxDifference(right.scores, table) < 1e-9 ? message("qkv_swapped_same")
        : message("qkv_swapped_other", formatNumber(maxDifference(right.weights, own), now.digits.weights), rows.join(" ")));
    }
    if (now.toy.scaled && own.length > 1 && own.some((line, row) =>
      line.some((one) => one >= SATURATED) && now.found.visible[row].filter(Boolean).length > 1)) told.push(message("qkv_saturated"));
    return told.join(" ");
  }

  function zeroed() {
    const made = result("zeroed", "A", "qkv_m_zeroed", { columns: words, tint: "weights" });
    const text = el("p", { class: "quiet" });
    shows.push(() => { text.textContent = message("qkv_zeroed_text", now.found.sums.map((one) => formatNumber(one, 3, { weight: true })).join(", ")); });
    return el("div", { class: "aside" }, el("h3", {}, message("qkv_zeroed")), text, equation(made));
  }

  function mixed() {
    const terms = (row, at) => now.found.weights[row].map((share, place) => [share, now.found.values[place][at]]);
    const title = (row, at) => message("qkv_mixed_of", now.toy.words[row], at + 1);
    const { told, touch } = follow(product(() => left, () => right, () => made),
      (row, at) => sumLine(title(row, at), terms(row, at), write("mixed")(now.found.mixed[row][at])));
    const left = result("weights", "A", "qkv_m_A", { columns: words, tint: "weights" });
    const right = result("values", "V", "qkv_m_V");
    const made = result("mixed", "Z", "qkv_m_Z", { touch, open: (row, at) => openSum({ title: title(row, at),
      terms: terms(row, at), symbols: ["α", "v"], names: now.toy.words }) });
    const flat = now.toy.v[0].length === 2 && plane(now);
    if (flat) shows.push(flat.show);
    return stage({ number: 7, title: message("qkv_mix"), rule: "Z = A V", text: message("qkv_mix_text") },
      equation(left, "×", right, "=", made), told,
      flat && el("figure", { class: "in-plane" }, flat, el("figcaption", { class: "quiet" }, message("qkv_plane_text"))));
  }

  function output() {
    const flip = switched("o", message("qkv_with_o"), Boolean(now.toy.o), () => now.flip("o"));
    const about = { number: 8, title: message("qkv_out"), rule: "Y = Z W_O" };
    if (!now.toy.o) return stage({ ...about, text: message("qkv_without_o") }, flip);
    const terms = (row, at) => now.found.mixed[row].map((one, place) => [one, now.toy.o[place][at]]);
    const title = (row, at) => message("qkv_output_of", now.toy.words[row], at + 1);
    const editor = matrixEditor({ name: "W_O", about: message("qkv_m_Wo"), values: now.toy.o,
      change: (row, at, value) => { now.toy.o[row][at] = value; now.edited(); },
      touch: (row, at) => used(left, editor, made, row, at) });
    const { told, touch } = follow(product(() => left, () => editor, () => made),
      (row, at) => sumLine(title(row, at), terms(row, at), write("outputs")(now.found.outputs[row][at])));
    const left = result("mixed", "Z", "qkv_m_Z");
    const made = result("outputs", "Y", "qkv_m_Y", { touch, open: (row, at) => openSum({ title: title(row, at),
      terms: terms(row, at), symbols: ["z", "W_O"] }) });
    return stage({ ...about, text: message("qkv_out_text") }, flip, equation(left, "×", editor, "=", made), told);
  }

  const nodes = [projections(), scores(), divided(), masked(), weights(), mixed(), output()];
  const show = () => shows.forEach((one) => one());
  show();
  return { nodes, show };
}
