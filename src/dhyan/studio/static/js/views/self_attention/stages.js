/** The stages of a toy from embeddings to context vectors, updated in place. */

import { el } from "../../dom.js";
import { matrixEditor } from "../../matrix_editor.js";
import { matrix } from "../../matrix.js";
import { maxDifference, formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { openSum } from "../../arithmetic.js";
import { equation, stage, sumLine, switchButton } from "../../stage.js";
import { contextPlot } from "./context_plot.js";
import { computeToy } from "../head/recompute.js";

const SATURATED = 0.9995; // a weight that is written as 1.000
const columnOf = (table, column) => table.map((line) => line[column]);

/**
 * @param {{toy: import("./toy.js").Toy, result: ReturnType<typeof import("../head/recompute.js").computeToy>, digits: Record<string, number>,
 *   edited: () => void, toggle: (key: string) => void}} session its `result` and `digits` are replaced at every edit
 */
export function toyStages(session) {
  const updates = [];
  const words = () => session.toy.words.map((text) => ({ text }));
  const format = (name, weight = false) => (value) => (value === 0 ? "0" : formatNumber(value, session.digits[name], { weight }));

  /** A matrix of the result. */
  function result(key, name, about, more = {}) {
    const resultMatrix = matrix({ values: () => session.result[key], rows: words, name, ariaLabel: message(about),
      format: format(key, key === "weights" || key === "zeroed"), ...more });
    updates.push(resultMatrix.show);
    return resultMatrix;
  }

  /** The arithmetic of the selected cell, below an equation. */
  function withArithmetic(parts, line) {
    const arithmetic = el("p", { class: "arithmetic-line number" });
    let cell = [0, 0];
    const selectCell = (...position) => {
      cell = position;
      parts().highlight(...cell);
      arithmetic.textContent = line(...cell);
    };
    updates.push(() => selectCell(...cell));
    return { arithmetic, selectCell };
  }

  const product = (left, right, output) => () => ({ highlight: (row, column) => {
    left().highlight({ row });
    right().highlight({ column });
    output().highlight({ row, column });
  } });

  /** Highlight the operands and results of a cell of the right matrix. */
  function highlightUses(left, right, resultMatrix, row, column) {
    left.highlight({ column: row });
    right.highlight({ row, column });
    resultMatrix.highlight({ column });
  }

  /** X · W = … with an editable W. */
  function projection(letter, key, role) {
    const upper = letter.toUpperCase();
    const terms = (row, column) => session.toy.x[row].map((value, index) => [value, session.toy[letter][index][column]]);
    const title = (row, column) => message("qkv_number", message(role, session.toy.words[row]), column + 1);
    const editor = matrixEditor({ name: `W_${letter}`, ariaLabel: message(`qkv_m_W${letter}`), values: session.toy[letter],
      onChange: (row, column, value) => { session.toy[letter][row][column] = value; session.edited(); },
      onHover: (row, column) => highlightUses(x, editor, resultMatrix, row, column) });
    const { arithmetic, selectCell } = withArithmetic(product(() => x, () => editor, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), format(key)(session.result[key][row][column])));
    const x = inputMatrix();
    const resultMatrix = result(key, upper, `qkv_m_${upper}`, { onHover: selectCell, onOpen: (row, column) => openSum({ title: title(row, column),
      terms: terms(row, column), symbols: ["x", `W_${letter}`] }) });
    return el("div", { class: `projection projection-${letter}` }, equation(x, "×", editor, "=", resultMatrix), arithmetic);
  }

  function inputMatrix() {
    const resultMatrix = matrix({ values: () => session.toy.x, rows: words, name: "X", ariaLabel: message("qkv_m_X"),
      format: (value) => formatNumber(value, session.digits.x) });
    updates.push(resultMatrix.show);
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
    const { arithmetic, selectCell } = withArithmetic(product(() => left, () => right, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), format("scores")(session.result.scores[row][column])));
    const left = result("scoreQueries", names[0], `qkv_m_${names[0]}`);
    const right = matrix({ values: () => session.result.scoreKeys[0].map((_, index) => columnOf(session.result.scoreKeys, index)), columns: words,
      name: `${names[1]}^T`, ariaLabel: message(`qkv_m_${names[1]}`), format: format("scoreKeys") });
    updates.push(right.show);
    const resultMatrix = result("scores", "S", "qkv_m_S", { columns: words, onHover: selectCell, tint: "signed", onOpen: (row, column) =>
      openSum({ title: title(row, column), terms: terms(row, column), symbols: names.map((name) => name.toLowerCase()) }) });
    return stage({ number: 3, title: message("qkv_scores"), rule: `S = ${names[0]} ${names[1]}^T`, text: message("qkv_scores_text") },
      switchButton("swapped", message("qkv_swap"), swapped, () => session.toggle("swapped")),
      equation(left, "×", right, "=", resultMatrix), arithmetic);
  }

  const cellwise = (key, output) => () => ({ highlight: (row, column) => {
    key().highlight({ row, column });
    output().highlight({ row, column });
  } });

  function divided() {
    const width = session.toy.q[0].length;
    const toggleButton = switchButton("scaled", message("qkv_scale"), session.toy.scaled, () => session.toggle("scaled"));
    const about = { number: 4, title: message("qkv_divide"), rule: "S / √d_k" };
    if (!session.toy.scaled) return stage({ ...about, text: message("qkv_undivided") }, toggleButton);
    const title = (row, column) => message("qkv_score_of", session.toy.words[row], session.toy.words[column]);
    const { arithmetic, selectCell } = withArithmetic(cellwise(() => left, () => resultMatrix), (row, column) => `${title(row, column)} = ${
      format("scores")(session.result.scores[row][column])} ÷ √${width} = ${format("divided")(session.result.divided[row][column])}`);
    const left = result("scores", "S", "qkv_m_S", { columns: words, tint: "signed" });
    const resultMatrix = result("divided", "S / √d_k", "qkv_m_D", { columns: words, onHover: selectCell, tint: "signed",
      onOpen: (row, column) => openSum({ title: title(row, column),
        terms: [[session.result.scores[row][column], 1 / session.result.scale]], symbols: ["s", `1/√${width}`] }) });
    return stage({ ...about, text: message("qkv_divide_text", width, formatNumber(Math.sqrt(width), 3)) }, toggleButton,
      equation(left, `÷ √${width} =`, resultMatrix), arithmetic);
  }

  function masked() {
    const toggleButton = switchButton("causal", message("qkv_causal"), session.toy.causal, () => session.toggle("causal"));
    const about = { number: 5, title: message("qkv_mask"), rule: "S + M" };
    if (!session.toy.causal) return stage({ ...about, text: message("qkv_unmasked") }, toggleButton);
    const left = result("divided", session.toy.scaled ? "S / √d_k" : "S", "qkv_m_D", { columns: words, tint: "signed" });
    const mask = matrix({ values: () => session.result.mask, rows: words, columns: words, name: "M", ariaLabel: message("qkv_m_M"),
      format: (value) => formatNumber(value, 0) });
    const resultMatrix = result("masked", "S + M", "qkv_m_SM", { columns: words, tint: "signed" });
    updates.push(mask.show);
    return stage({ ...about, text: message("qkv_mask_text") }, toggleButton, equation(left, "+", mask, "=", resultMatrix));
  }

  function weights() {
    const title = (row, column) => message("qkv_weight_of", session.toy.words[row], session.toy.words[column]);
    const exponentials = (row) => session.result.masked[row].map((score) => Math.exp(score - Math.max(...session.result.masked[row])));
    const { arithmetic, selectCell } = withArithmetic(() => ({ highlight: (row, column) => {
      left.highlight({ row });
      resultMatrix.highlight({ row, column });
    } }), (row, column) => `${title(row, column)} = e^(${formatNumber(session.result.masked[row][column], session.digits.masked)}) ÷ Σ e^s = ${
      format("weights", true)(session.result.weights[row][column])}`);
    const left = result("masked", "S", "qkv_m_SM", { columns: words, tint: "signed" });
    const resultMatrix = result("weights", "A", "qkv_m_A", { columns: words, tint: "weights", onHover: selectCell, onOpen: (row, column) =>
      openSum({ title: title(row, column), terms: exponentials(row).map((exponential) => [exponential]), symbols: ["e^(s − max)"],
        termLabels: session.toy.words, transform: { symbol: `${session.toy.words[column]} ÷ Σ`, value: session.result.weights[row][column] } }) });
    const remark = el("p", { class: "remark" });
    updates.push(() => { remark.textContent = remarks(); });
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
    const text = el("p", { class: "muted" });
    updates.push(() => { text.textContent = message("qkv_zeroed_text", session.result.sums.map((sum) => formatNumber(sum, 3, { weight: true })).join(", ")); });
    return el("div", { class: "aside" }, el("h3", {}, message("qkv_zeroed")), text, equation(resultMatrix));
  }

  function mixed() {
    const terms = (row, column) => session.result.weights[row].map((weight, index) => [weight, session.result.values[index][column]]);
    const title = (row, column) => message("qkv_context_of", session.toy.words[row], column + 1);
    const { arithmetic, selectCell } = withArithmetic(product(() => left, () => right, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), format("context")(session.result.context[row][column])));
    const left = result("weights", "A", "qkv_m_A", { columns: words, tint: "weights" });
    const right = result("values", "V", "qkv_m_V");
    const resultMatrix = result("context", "Z", "qkv_m_Z", { onHover: selectCell, onOpen: (row, column) => openSum({ title: title(row, column),
      terms: terms(row, column), symbols: ["α", "v"], termLabels: session.toy.words }) });
    const plot = session.toy.v[0].length === 2 && contextPlot(session);
    if (plot) updates.push(plot.show);
    return stage({ number: 7, title: message("qkv_context"), rule: "Z = A V", text: message("qkv_context_text") },
      equation(left, "×", right, "=", resultMatrix), arithmetic,
      plot && el("figure", { class: "context-figure" }, plot, el("figcaption", { class: "muted" }, message("qkv_plot_text"))));
  }

  function output() {
    const toggleButton = switchButton("o", message("qkv_with_o"), Boolean(session.toy.o), () => session.toggle("o"));
    const about = { number: 8, title: message("qkv_out"), rule: "Y = Z W_O" };
    const { o } = session.toy;
    if (!o) return stage({ ...about, text: message("qkv_without_o") }, toggleButton);
    const terms = (row, column) => session.result.context[row].map((value, index) => [value, o[index][column]]);
    const title = (row, column) => message("qkv_output_of", session.toy.words[row], column + 1);
    const editor = matrixEditor({ name: "W_O", ariaLabel: message("qkv_m_Wo"), values: o,
      onChange: (row, column, value) => { o[row][column] = value; session.edited(); },
      onHover: (row, column) => highlightUses(left, editor, resultMatrix, row, column) });
    const { arithmetic, selectCell } = withArithmetic(product(() => left, () => editor, () => resultMatrix),
      (row, column) => sumLine(title(row, column), terms(row, column), format("outputs")(session.result.outputs[row][column])));
    const left = result("context", "Z", "qkv_m_Z");
    const resultMatrix = result("outputs", "Y", "qkv_m_Y", { onHover: selectCell, onOpen: (row, column) => openSum({ title: title(row, column),
      terms: terms(row, column), symbols: ["z", "W_O"] }) });
    return stage({ ...about, text: message("qkv_out_text") }, toggleButton, equation(left, "×", editor, "=", resultMatrix), arithmetic);
  }

  const nodes = [projections(), scores(), divided(), masked(), weights(), mixed(), output()];
  const show = () => updates.forEach((update) => update());
  show();
  return { nodes, show };
}
