/** The stages of one head for one query token; every number is the model's or recomputed. */

import { el } from "../../dom.js";
import { openSum } from "../../arithmetic.js";
import { firstIndices, matrix, indices } from "../../matrix.js";
import { add, formatNumber, softmax } from "../../numbers.js";
import { formatBrief, vectorTiles } from "../../vector_strips.js";
import { set } from "../../state.js";
import { stateLink } from "../../links.js";
import { message } from "../../messages.js";
import { agreementBadge } from "../../agreement.js";
import { withBias, equation, stage, sumLine } from "../../stage.js";

const FEW = { numbers: 4, words: 12 };
const MANY = { numbers: 24, words: 40 };
const columnOf = (table, column) => table.map((line) => line[column]);
const formatWeight = (value) => (value === 0 ? "0" : formatNumber(value, 3, { weight: true }));

/**
 * @typedef {object} HeadStep
 * @property {ReturnType<typeof import("./recompute.js").unpackHead>} head the model's values
 * @property {ReturnType<typeof import("./recompute.js").recomputeHead>} computed the page's values
 * @property {number} i query position @property {number} j key position, both from 0
 * @property {{text: string, lang: string}[]} queryTokens @property {{text: string, lang: string}[]} keyTokens
 * @property {number} number of the head @property {string | null} reads the token the decoder has just read, in cross-attention @property {boolean} expanded
 */

/** @param {HeadStep} step */
export function modelStages(step) {
  const { head, computed, i, j, queryTokens, keyTokens } = step;
  const { numbers, words } = step.expanded ? MANY : FEW;
  const queryToken = queryTokens[i];
  const tokens = (count) => firstIndices(count, words, j);
  const few = (count, start = 0) => firstIndices(count, numbers, start);

  /**
   * The visible part of a matrix.
   * @typedef {Omit<import("../../matrix.js").Matrix, "values" | "name" | "ariaLabel" | "visible" | "rows" | "columns" | "format">} MatrixOptions
   * @typedef {{text: string, lang?: string}[]} Labels
   * @param {number[][]} values @param {string} name @param {string} about
   * @param {MatrixOptions & {rows?: Labels, columns?: Labels, down?: number[], across?: number[], format?: (value: number) => string}} [options]
   */
  function part(values, name, about, { rows, columns, down = indices(values.length), across = few(values[0].length),
    format = formatBrief, tint = "signed", ...more } = {}) {
    return matrix({ values: () => values, name, ariaLabel: message(about), format, tint, rows: rows && (() => rows),
      columns: columns && (() => columns), visible: [down, across], ...more });
  }

  /** An equation with a selectable result: its operands are highlighted and its arithmetic is shown below.
   * @param {{parts: (Node | string)[], sign?: string, result: (onHover: CellListener) => MatrixNode, highlight: CellListener,
   *   line: (row: number, column: number) => string, selected: [number, number], difference?: [number, number]}} about */
  function interactiveEquation({ parts, sign = "=", result, highlight, line, selected: start, difference }) {
    const arithmetic = el("p", { class: "arithmetic-line number" });
    const resultMatrix = result((row, column) => {
      highlight(row, column);
      resultMatrix.highlight({ row, column });
      arithmetic.textContent = line(row, column);
    });
    highlight(...start);
    resultMatrix.highlight({ row: start[0], column: start[1] });
    arithmetic.textContent = line(...start);
    return [equation(...parts, sign, resultMatrix), arithmetic, difference && el("p", { class: "check-result" }, agreementBadge(...difference))];
  }

  /** left · right + bias; every cell opens its sum of products.
   * @typedef {ReturnType<typeof matrix>} MatrixNode
   * @typedef {(row: number, column: number) => void} CellListener
   * @param {{left: MatrixNode, right: MatrixNode, bias?: {values: number[], node: MatrixNode}, result: (onHover: CellListener, onOpen: CellListener) => MatrixNode,
   *   terms: (row: number, column: number) => number[][], title: (row: number, column: number) => string, value: (row: number, column: number) => number,
   *   model: (row: number, column: number) => number, symbols: string[], termLabels?: string[], selected: [number, number], difference?: [number, number], largest?: boolean}} about `largest`: the line shows the largest terms */
  function product({ left, right, bias, result, terms, title, value, model, symbols, termLabels, selected: start, difference, largest = false }) {
    const plus = (column) => bias && [{ symbol: "b", value: bias.values[column] }];
    const sum = (row, column) => ({ title: title(row, column), terms: terms(row, column), symbols, termLabels,
      addends: plus(column) ?? [], modelValue: model(row, column) });
    const onOpen = (row, column) => openSum(sum(row, column));
    return interactiveEquation({ selected: start, difference,
      parts: [left, "×", bias ? withBias(right, bias.node) : right],
      result: (onHover) => result(onHover, onOpen),
      highlight: (row, column) => {
        left.highlight({ row });
        right.highlight({ column });
        bias?.node.highlight({ column });
      },
      line: (row, column) => sumLine(title(row, column), terms(row, column), formatNumber(value(row, column), 3),
        { plus: bias ? bias.values[column] : null, format: (value) => formatNumber(value, 3), largest }),
    });
  }

  const biasOf = (values, name) => ({ values, node: part([values], name, "qkv_m_b") });

  /** x W + b for the query token, or for all key tokens. */
  function projection({ letter, layer, key, role, x, rows, down, isVector = false, selected: start }) {
    const upper = letter.toUpperCase();
    const title = (row, column) => message("qkv_number", message(role, rows[row].text), column + 1);
    return product({ selected: start, difference: computed.differences[key], symbols: ["x", `W_${letter}`],
      left: part(x, letter === "q" ? "x" : "X", letter === "q" ? "qkv_m_x" : "qkv_m_memory", { rows, down, isVector }),
      right: part(layer.weight, `W_${letter}`, `qkv_m_W${letter}`, { down: few(layer.weight.length) }),
      bias: biasOf(layer.bias, `b_${letter}`),
      result: (onHover, onOpen) => part(computed[key], letter === "q" ? "q" : upper, `qkv_m_${upper}`, { rows, down, isVector, onHover, onOpen, selected: start }),
      terms: (row, column) => x[row].map((value, k) => [value, layer.weight[k][column]]),
      value: (row, column) => computed[key][row][column], model: (row, column) => head[key][row][column], title });
  }

  const queryStage = () => stage({ number: 1, title: message("qkv_query_stage"), rule: "q = x W_q + b_q", text: step.reads === null ? message("qkv_query_text", queryToken.text) : message("qkv_query_cross", queryToken.text, step.reads) },
    el("div", { class: "projection projection-q" }, ...projection({ letter: "q", layer: head.query, key: "queries", role: "qkv_q",
      x: head.queryInputs, rows: queryTokens, down: [i], isVector: true, selected: [i, 0] })));
  const keyColumns = tokens(keyTokens.length);
  const keyStage = () => stage({ number: 2, title: message("qkv_key_stage"), rule: "K = X W_k + b_k",
    text: `${message("qkv_key_text")} ${step.reads !== null ? message("qkv_key_cross") : ""}` },
  el("div", { class: "projection projection-k" }, ...projection({ letter: "k", layer: head.key, key: "keys", role: "qkv_k",
    x: head.memoryInputs, rows: keyTokens, down: keyColumns, selected: [j, 0] })));
  const valueStage = () => stage({ number: 3, title: message("qkv_value_stage"), rule: "V = X W_v + b_v", text: message("qkv_value_text") },
    el("div", { class: "projection projection-v" }, ...projection({ letter: "v", layer: head.value, key: "values", role: "qkv_v",
      x: head.memoryInputs, rows: keyTokens, down: keyColumns, selected: [j, 0] })));

  const queryRow = (values, name, about, more = {}) =>
    part(values, name, about, { rows: queryTokens, down: [i], isVector: true, columns: keyTokens, across: keyColumns, selected: [i, j], ...more });
  const twoDigits = (value) => formatNumber(value, 2);

  function scoreStage() {
    const transposedKeys = head.keys[0].map((_, index) => columnOf(computed.keys, index));
    return stage({ number: 4, title: message("qkv_scores"), rule: "s = q K^T", text: message("qkv_scores_text") },
      ...product({ selected: [i, j], difference: computed.differences.scores, symbols: ["q", "k"],
        left: part(computed.queries, "q", "qkv_m_Q", { rows: queryTokens, down: [i], isVector: true }),
        right: part(transposedKeys, "K^T", "qkv_m_K", { columns: keyTokens, down: few(transposedKeys.length), across: keyColumns, selected: [0, j] }),
        result: (onHover, onOpen) => queryRow(computed.scores, "s", "qkv_m_S", { format: twoDigits, onHover, onOpen, selected: [i, j] }),
        terms: (row, column) => computed.queries[row].map((query, k) => [query, computed.keys[column][k]]),
        title: (row, column) => message("qkv_score_of", queryTokens[row].text, keyTokens[column].text),
        value: (row, column) => computed.scores[row][column], model: (row, column) => head.scores[row][column] }));
  }

  function scaleStage() {
    const width = head.keys[0].length;
    const about = { number: 5, title: message("qkv_divide"), rule: "s / √d_k" };
    if (head.scale === 1) return stage({ ...about, text: message("qkv_undivided") });
    const left = queryRow(computed.scores, "s", "qkv_m_S", { format: twoDigits });
    const title = (column) => message("qkv_score_of", queryToken.text, keyTokens[column].text);
    return stage({ ...about, text: message("qkv_divide_text", width, formatNumber(head.scale, 3)) },
      ...interactiveEquation({ selected: [i, j], parts: [left], sign: `÷ √${width} =`, highlight: (row, column) => left.highlight({ row, column }),
        line: (row, column) => `${title(column)} = ${formatNumber(computed.scores[row][column], 3)} ÷ ${formatNumber(head.scale, 3)} = ${formatNumber(computed.divided[row][column], 3)}`,
        result: (touch) => queryRow(computed.divided, "s / √d_k", "qkv_m_D", { format: twoDigits, onHover: touch, selected: [i, j],
          onOpen: (row, column) => openSum({ title: title(column), terms: [[computed.scores[row][column], 1 / head.scale]],
            symbols: ["s", `1/√${width}`], modelValue: head.scores[row][column] / head.scale }) }) }), ...undivided());
  }

  /** The weights of this row if the scores were not divided. */
  function undivided() {
    const weights = softmax(add(computed.scores[i], computed.mask[i]));
    const [before, after] = [weights, computed.weights[i]].map((row) => formatWeight(Math.max(...row)));
    return [el("p", { class: "remark" }, message("inside_undivided", before, after)),
      equation(queryRow([weights], "softmax(s)", "inside_m_undivided", { down: [0], selected: [0, j], rows: [queryToken], format: formatWeight, tint: "weights" }),
        queryRow(computed.weights, "α", "qkv_m_A", { format: formatWeight, tint: "weights" })),
      el("p", { class: "links" }, stateLink({ view: "scaling" }, message("inside_scaling")))];
  }

  function maskStage() {
    const about = { number: 6, title: message("qkv_mask"), rule: "s + m" };
    if (computed.mask[i].every((value) => value === 0)) return stage({ ...about, text: message("qkv_no_mask", queryToken.text) });
    return stage({ ...about, text: message("qkv_mask_text") }, equation(
      queryRow(computed.divided, head.scale === 1 ? "s" : "s / √d_k", "qkv_m_D", { format: twoDigits }), "+",
      queryRow(computed.mask, "m", "qkv_m_M", { format: (value) => formatNumber(value, 0), tint: "" }), "=",
      queryRow(computed.masked, "s + m", "qkv_m_SM", { format: twoDigits })));
  }

  function softmaxStage() {
    const left = queryRow(computed.masked, "s", "qkv_m_SM", { format: twoDigits });
    const title = (column) => message("qkv_weight_of", queryToken.text, keyTokens[column].text);
    const largest = Math.max(...computed.masked[i]);
    const exponentials = computed.masked[i].map((score) => [Math.exp(score - largest)]);
    return stage({ number: 7, title: message("qkv_softmax"), rule: "α = softmax ( s )", text: message("qkv_softmax_text") },
      ...interactiveEquation({ selected: [i, j], difference: computed.differences.weights, parts: [left], sign: "→", highlight: (row) => left.highlight({ row }),
        line: (row, column) => `${title(column)} = e^(${twoDigits(computed.masked[row][column])}) ÷ Σ e^s = ${formatWeight(computed.weights[row][column])}`,
        result: (touch) => queryRow(computed.weights, "α", "qkv_m_A", { format: formatWeight, tint: "weights", onHover: touch, selected: [i, j],
          onOpen: (row, column) => openSum({ title: title(column), terms: exponentials, symbols: ["e^(s − max)"],
            termLabels: keyTokens.map((token) => token.text), modelValue: head.weights[row][column],
            transform: { symbol: `${keyTokens[column].text} ÷ Σ`, value: computed.weights[row][column] } }) }) }));
  }

  const contextStage = () => stage({ number: 8, title: message("qkv_context"), rule: "z = Σ α v", text: message("qkv_context_text") },
    ...product({ selected: [i, 0], largest: true, difference: computed.differences.context, symbols: ["α", "v"], termLabels: keyTokens.map((token) => token.text),
      left: queryRow(computed.weights, "α", "qkv_m_A", { format: formatWeight, tint: "weights" }),
      right: part(computed.values, "V", "qkv_m_V", { rows: keyTokens, down: keyColumns }),
      result: (onHover, onOpen) => part(computed.context, "z", "qkv_m_Z", { rows: queryTokens, down: [i], isVector: true, onHover, onOpen, selected: [i, 0] }),
      terms: (row, column) => computed.weights[row].map((weight, k) => [weight, computed.values[k][column]]),
      title: (row, column) => message("qkv_context_of", queryTokens[row].text, column + 1),
      value: (row, column) => computed.context[row][column], model: (row, column) => head.context[row][column] }));

  function concatStage() {
    const width = head.keys[0].length;
    const heads = head.contexts.map((context, index) => {
      const selected = index === step.number - 1;
      return el("button", { type: "button", class: "head-part", "aria-pressed": selected, on: { click: () => set({ head: String(index + 1) }, { replace: true }) } },
        el("span", {}, message("qkv_head_n", index + 1)), vectorTiles(selected ? computed.context[i] : context[i], { visibleCount: 4 }));
    });
    return stage({ number: 9, title: message("qkv_join"), rule: "z = z_1 … z_h",
      text: message("qkv_join_text", head.contexts.length, width, head.contexts.length * width) }, el("div", { class: "head-parts" }, ...heads));
  }

  function outputStage() {
    const from = (step.number - 1) * head.keys[0].length;
    const inner = few(computed.concatenated[0].length, from);
    return stage({ number: 10, title: message(step.reads === null ? "qkv_final" : "qkv_final_cross", queryToken.text), rule: "y = z W_O + b_O", text: message("qkv_final_text") },
      ...product({ selected: [i, 0], difference: computed.differences.layerOutput, symbols: ["z", "W_O"],
        left: part(computed.concatenated, "z", "qkv_m_C", { rows: queryTokens, down: [i], isVector: true, across: inner }),
        right: part(head.outputWeight, "W_O", "qkv_m_Wo", { down: inner }),
        bias: biasOf(head.bias, "b_O"),
        result: (onHover, onOpen) => part(computed.layerOutput, "y", "qkv_m_Y", { rows: queryTokens, down: [i], isVector: true, onHover, onOpen, selected: [i, 0] }),
        terms: (row, column) => computed.concatenated[row].map((value, k) => [value, head.outputWeight[k][column]]),
        title: (row, column) => message("qkv_output_of", queryTokens[row].text, column + 1),
        value: (row, column) => computed.layerOutput[row][column], model: (row, column) => head.layerOutput[row][column] }));
  }

  return [queryStage(), keyStage(), valueStage(), scoreStage(), scaleStage(), maskStage(), softmaxStage(), contextStage(), concatStage(), outputStage()];
}
