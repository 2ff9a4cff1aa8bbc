/** The stages of a toy from embeddings to context vectors, updated in place. */

import { el } from "../../dom.js";
import { matrixEditor } from "../../matrix_editor.js";
import { matrix } from "../../matrix.js";
import { maxDifference, formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { openSum } from "../../arithmetic.js";
import { equation, stage, sumLine, switchButton } from "./stage.js";
import { contextPlot } from "./context_plot.js";
import { computeToy } from "./recompute.js";

const SATURATED = 0.9995; // a weight that is written as 1.000
const columnOf = (table, column) => table.map((line) => line[column]);

/**
 * @param {{toy: import("./toy_state.js").Toy, result: ReturnType<typeof import("./recompute.js").computeToy>, digits: Record<string, number>,
 *   edited: () => void, flip: (key: string) => void}} session its `result` and `digits` are replaced at every edit
 */
export function toyStages(session) {
  const shows = [];
  const words = () => session.toy.words.map((text) => ({ text }));
  const write = (name, weight = false) => (value) => (value === 0 ? "0" : formatNumber(value, session.digits[name], { weight }));

  /** A matrix of the result. */
  function result(key, name, about, more = {}) {
    const resultMatrix = matrix({ values: () => session.result[key], rows: words, name, about: message(about),
      write: write(key, key === "weights" || key === "zeroed"), ...more });
    shows.push(resultMatrix.show);
    return resultMatrix;
  }

  /** The arithmetic of the selected cell, below an equation. */
  function withArithmetic(parts, line) {
    const arithmetic = el("p", { class: "work number" });
    let cell = [0, 0];
    const touch = (...position) => {
      cell = position;
      parts().light(...cell);
      arithmetic.textContent = line(...cell);
    };
    shows.push(() => touch(...cell));
    return { arithmetic, touch };
  }

  const product = (left, right, output) => () => ({ light: (row, column) => {
    left().light({ row });
    right().light({ column });
    output().light({ row, column });
  } });

  /** Highlight the operands and results of a cell of the right matrix. */
  function highlightUses(left, right, resultMatrix, row, column) {
    left.light({ column: row });
    right.light({ row, column });
    resultMatrix.light({ column });
  }

  /** X · W = … with an editable W. */
  function projection(letter, key, role) {
    const upper = letter.toUpperCase();
    const terms = (row, column) => session.toy.x[row].map((value, index) => [value, session.toy[letter][index][column]]);
    const title = (row, column) => message("qkv_number", message(role, session.toy.words[row]), column + 1);
    const editor = matrixEditor({ name: `W_${letter}`, about: message(`qkv_m_W${letter}`), values: session.toy[letter],
      change: (row, column, value) => { session.toy[letter][row][column] = value; session.edited(); },
      touch: (row, column) => highlightUses(x, editor, resultMatrix, row, column) });
    const { arithmetic, touch } = withArithmetic(product(() => x, () => editor, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), write(key)(session.result[key][row][column])));
    const x = inputMatrix();
    const resultMatrix = result(key, upper, `qkv_m_${upper}`, { touch, open: (row, column) => openSum({ title: title(row, column),
      terms: terms(row, column), symbols: ["x", `W_${letter}`] }) });
    return el("div", { class: `made made-${letter}` }, equation(x, "×", editor, "=", resultMatrix), arithmetic);
  }

  function inputMatrix() {
    const resultMatrix = matrix({ values: () => session.toy.x, rows: words, name: "X", about: message("qkv_m_X"),
      write: (value) => formatNumber(value, session.digits.x) });
    shows.push(resultMatrix.show);
    return resultMatrix;
  }

  const projections = () => stage({ number: 2, title: message("qkv_project"), rule: "Q = X W_q , K = X W_k , V = X W_v",
    text: message("qkv_project_text") },
  projection("q", "queries", "qkv_q"), projection("k", "keys", "qkv_k"), projection("v", "values", "qkv_v"));

  function scores() {
    const { swapped } = session.toy;
    const names = swapped ? ["K", "Q"] : ["Q", "K"];
    const terms = (row, column) => session.result.scoreQueries[row].map((value, index) => [value, session.result.scoreKeys[column][index]]);
    const title = (row, column) => message("qkv_score_of", session.toy.words[row], session.toy.words[column]);
    const { arithmetic, touch } = withArithmetic(product(() => left, () => right, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), write("scores")(session.result.scores[row][column])));
    const left = result("scoreQueries", names[0], `qkv_m_${names[0]}`);
    const right = matrix({ values: () => session.result.scoreKeys[0].map((_, index) => columnOf(session.result.scoreKeys, index)), columns: words,
      name: `${names[1]}^T`, about: message(`qkv_m_${names[1]}`), write: write("scoreKeys") });
    shows.push(right.show);
    const resultMatrix = result("scores", "S", "qkv_m_S", { columns: words, touch, tint: "signed", open: (row, column) =>
      openSum({ title: title(row, column), terms: terms(row, column), symbols: names.map((name) => name.toLowerCase()) }) });
    return stage({ number: 3, title: message("qkv_scores"), rule: `S = ${names[0]} ${names[1]}^T`, text: message("qkv_scores_text") },
      switchButton("swapped", message("qkv_swap"), swapped, () => session.flip("swapped")),
      equation(left, "×", right, "=", resultMatrix), arithmetic);
  }

  const cellwise = (key, output) => () => ({ light: (row, column) => {
    key().light({ row, column });
    output().light({ row, column });
  } });

  function divided() {
    const width = session.toy.q[0].length;
    const flip = switchButton("scaled", message("qkv_scale"), session.toy.scaled, () => session.flip("scaled"));
    const about = { number: 4, title: message("qkv_divide"), rule: "S / √d_k" };
    if (!session.toy.scaled) return stage({ ...about, text: message("qkv_undivided") }, flip);
    const title = (row, column) => message("qkv_score_of", session.toy.words[row], session.toy.words[column]);
    const { arithmetic, touch } = withArithmetic(cellwise(() => left, () => resultMatrix), (row, column) => `${title(row, column)} = ${
      write("scores")(session.result.scores[row][column])} ÷ √${width} = ${write("divided")(session.result.divided[row][column])}`);
    const left = result("scores", "S", "qkv_m_S", { columns: words, tint: "signed" });
    const resultMatrix = result("divided", "S / √d_k", "qkv_m_D", { columns: words, touch, tint: "signed",
      open: (row, column) => openSum({ title: title(row, column),
        terms: [[session.result.scores[row][column], 1 / session.result.scale]], symbols: ["s", `1/√${width}`] }) });
    return stage({ ...about, text: message("qkv_divide_text", width, formatNumber(Math.sqrt(width), 3)) }, flip,
      equation(left, `÷ √${width} =`, resultMatrix), arithmetic);
  }

  function masked() {
    const flip = switchButton("causal", message("qkv_causal"), session.toy.causal, () => session.flip("causal"));
    const about = { number: 5, title: message("qkv_mask"), rule: "S + M" };
    if (!session.toy.causal) return stage({ ...about, text: message("qkv_unmasked") }, flip);
    const left = result("divided", session.toy.scaled ? "S / √d_k" : "S", "qkv_m_D", { columns: words, tint: "signed" });
    const mask = matrix({ values: () => session.result.mask, rows: words, columns: words, name: "M", about: message("qkv_m_M"),
      write: (value) => formatNumber(value, 0) });
    const resultMatrix = result("masked", "S + M", "qkv_m_SM", { columns: words, tint: "signed" });
    shows.push(mask.show);
    return stage({ ...about, text: message("qkv_mask_text") }, flip, equation(left, "+", mask, "=", resultMatrix));
  }

  function weights() {
    const title = (row, column) => message("qkv_weight_of", session.toy.words[row], session.toy.words[column]);
    const exponentials = (row) => session.result.masked[row].map((score) => Math.exp(score - Math.max(...session.result.masked[row])));
    const { arithmetic, touch } = withArithmetic(() => ({ light: (row, column) => {
      left.light({ row });
      resultMatrix.light({ row, column });
    } }), (row, column) => `${title(row, column)} = e^(${formatNumber(session.result.masked[row][column], session.digits.masked)}) ÷ Σ e^s = ${
      write("weights", true)(session.result.weights[row][column])}`);
    const left = result("masked", "S", "qkv_m_SM", { columns: words, tint: "signed" });
    const resultMatrix = result("weights", "A", "qkv_m_A", { columns: words, tint: "weights", touch, open: (row, column) =>
      openSum({ title: title(row, column), terms: exponentials(row).map((exponential) => [exponential]), symbols: ["e^(s − max)"],
        names: session.toy.words, then: { symbol: `${session.toy.words[column]} ÷ Σ`, value: session.result.weights[row][column] } }) });
    const remark = el("p", { class: "remark" });
    shows.push(() => { remark.textContent = remarks(); });
    return stage({ number: 6, title: message("qkv_softmax"), rule: "A = softmax ( S )", text: message("qkv_softmax_text") },
      equation(left, "→", resultMatrix), arithmetic, remark, session.toy.causal && zeroed());
  }

  function remarks() {
    const notes = [];
    const { weights, scores: table } = session.result;
    if (session.toy.swapped) {
      const right = computeToy({ ...session.toy, swapped: false });
      const rows = right.weights.map((line) => `(${line.map((weight) => formatNumber(weight, session.digits.weights, { weight: true })).join(", ")})`);
      notes.push(maxDifference(right.scores, table) < 1e-9 ? message("qkv_swapped_same")
        : message("qkv_swapped_other", formatNumber(maxDifference(right.weights, weights), session.digits.weights), rows.join(" ")));
    }
    if (session.toy.scaled && weights.length > 1 && weights.some((line, row) =>
      line.some((weight) => weight >= SATURATED) && session.result.visible[row].filter(Boolean).length > 1)) notes.push(message("qkv_saturated"));
    return notes.join(" ");
  }

  function zeroed() {
    const resultMatrix = result("zeroed", "A", "qkv_m_zeroed", { columns: words, tint: "weights" });
    const text = el("p", { class: "quiet" });
    shows.push(() => { text.textContent = message("qkv_zeroed_text", session.result.sums.map((sum) => formatNumber(sum, 3, { weight: true })).join(", ")); });
    return el("div", { class: "aside" }, el("h3", {}, message("qkv_zeroed")), text, equation(resultMatrix));
  }

  function mixed() {
    const terms = (row, column) => session.result.weights[row].map((weight, index) => [weight, session.result.values[index][column]]);
    const title = (row, column) => message("qkv_mixed_of", session.toy.words[row], column + 1);
    const { arithmetic, touch } = withArithmetic(product(() => left, () => right, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), write("context")(session.result.context[row][column])));
    const left = result("weights", "A", "qkv_m_A", { columns: words, tint: "weights" });
    const right = result("values", "V", "qkv_m_V");
    const resultMatrix = result("context", "Z", "qkv_m_Z", { touch, open: (row, column) => openSum({ title: title(row, column),
      terms: terms(row, column), symbols: ["α", "v"], names: session.toy.words }) });
    const plot = session.toy.v[0].length === 2 && contextPlot(session);
    if (plot) shows.push(plot.show);
    return stage({ number: 7, title: message("qkv_mix"), rule: "Z = A V", text: message("qkv_mix_text") },
      equation(left, "×", right, "=", resultMatrix), arithmetic,
      plot && el("figure", { class: "in-plane" }, plot, el("figcaption", { class: "quiet" }, message("qkv_plane_text"))));
  }

  function output() {
    const flip = switchButton("o", message("qkv_with_o"), Boolean(session.toy.o), () => session.flip("o"));
    const about = { number: 8, title: message("qkv_out"), rule: "Y = Z W_O" };
    if (!session.toy.o) return stage({ ...about, text: message("qkv_without_o") }, flip);
    const terms = (row, column) => session.result.context[row].map((value, index) => [value, session.toy.o[index][column]]);
    const title = (row, column) => message("qkv_output_of", session.toy.words[row], column + 1);
    const editor = matrixEditor({ name: "W_O", about: message("qkv_m_Wo"), values: session.toy.o,
      change: (row, column, value) => { session.toy.o[row][column] = value; session.edited(); },
      touch: (row, column) => highlightUses(left, editor, resultMatrix, row, column) });
    const { arithmetic, touch } = withArithmetic(product(() => left, () => editor, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), write("outputs")(session.result.outputs[row][column])));
    const left = result("context", "Z", "qkv_m_Z");
    const resultMatrix = result("outputs", "Y", "qkv_m_Y", { touch, open: (row, column) => openSum({ title: title(row, column),
      terms: terms(row, column), symbols: ["z", "W_O"] }) });
    return stage({ ...about, text: message("qkv_out_text") }, flip, equation(left, "×", editor, "=", resultMatrix), arithmetic);
  }

  const nodes = [projections(), scores(), divided(), masked(), weights(), mixed(), output()];
  const show = () => shows.forEach((show) => show());
  show();
  return { nodes, show };
}
