/** The stages of one head for one word that asks, every number from the model or computed again. */

import { el } from "../../dom.js";
import { openSum } from "../../arithmetic.js";
import { first, matrix, places } from "../../matrix.js";
import { formatNumber } from "../../numbers.js";
import { brief, tiles } from "../../vector_strips.js";
import { set } from "../../state.js";
import { message } from "../../messages.js";
import { above, agreed, equation, stage, sumLine } from "./stage.js";

const FEW = { numbers: 4, words: 9 };
const MANY = { numbers: 24, words: 40 };
const column = (table, at) => table.map((line) => line[at]);
const weighed = (value) => (value === 0 ? "0" : formatNumber(value, 3, { weight: true }));

/**
 * @typedef {object} Shown
 * @property {ReturnType<typeof import("./recompute.js").unpacked>} head as the model has it
 * @property {ReturnType<typeof import("./recompute.js").redone>} again as the page has it
 * @property {number} i who asks @property {number} j who is looked at, both from 0
 * @property {{text: string, lang: string}[]} asking @property {{text: string, lang: string}[]} seen
 * @property {number} number of the head @property {boolean} cross @property {boolean} many
 */

/** @param {Shown} now */
export function modelStages(now) {
  const { head, again, i, j, asking, seen } = now;
  const { numbers, words } = now.many ? MANY : FEW;
  const asker = asking[i];
  const tokens = (count) => first(count, words, j);
  const few = (count, at = 0) => first(count, numbers, at);

  /** A part of a matrix as large as there is room for. */
  function part(values, name, about, { rows, columns, down = places(values.length), across = few(values[0].length),
    write = brief, tint = "signed", ...more } = {}) {
    return matrix({ values: () => values, name, about: message(about), write, tint, rows: rows && (() => rows),
      columns: columns && (() => columns), window: [down, across], ...more });
  }

  /** An equation whose result can be pointed at: what it is made of lights up and is written below. */
  function working({ parts, sign = "=", result, light, line, at, gap }) {
    const told = el("p", { class: "work number" });
    const made = result((row, place) => {
      light(row, place);
      made.light({ row, column: place });
      told.textContent = line(row, place);
    });
    light(...at);
    made.light({ row: at[0], column: at[1] });
    told.textContent = line(...at);
    return [equation(...parts, sign, made), told, gap && el("p", { class: "verdict" }, agreed(...gap))];
  }

  /** left · right + bias, with every product to be seen. */
  function product({ left, right, bias, result, terms, title, value, model, symbols, names, at, gap }) {
    const plus = (place) => bias && [{ symbol: "b", value: bias.values[place] }];
    const sum = (row, place) => ({ title: title(row, place), terms: terms(row, place), symbols, names,
      plus: plus(place) ?? [], model: model(row, place) });
    const open = (row, place) => openSum(sum(row, place));
    return working({ at, gap,
      parts: [left, "×", bias ? above(right, bias.node) : right],
      result: (touch) => result(touch, open),
      light: (row, place) => {
        left.light({ row });
        right.light({ column: place });
        bias?.node.light({ column: place });
      },
      line: (row, place) => sumLine(title(row, place), terms(row, place), formatNumber(value(row, place), 3),
        { plus: bias ? bias.values[place] : null, write: (one) => formatNumber(one, 3) }),
    });
  }

  const biased = (values, name) => ({ values, node: part([values], name, "qkv_m_b") });

  /** x W + b for one word that asks, or for all that are seen. */
  function projected({ letter, own, key, role, x, rows, down, alone = false, at }) {
    const upper = letter.toUpperCase();
    const title = (row, place) => message("qkv_number", message(role, rows[row].text), place + 1);
    return product({ at, gap: again.gaps[key], symbols: ["x", `W_${letter}`],
      left: part(x, letter === "q" ? "x" : "X", letter === "q" ? "qkv_m_x" : "qkv_m_seen", { rows, down, alone }),
      right: part(own.weight, `W_${letter}`, `qkv_m_W${letter}`, { down: few(own.weight.length) }),
      bias: biased(own.bias, `b_${letter}`),
      result: (touch, open) => part(again[key], letter === "q" ? "q" : upper, `qkv_m_${upper}`, { rows, down, alone, touch, open, at }),
      terms: (row, place) => x[row].map((one, k) => [one, own.weight[k][place]]),
      value: (row, place) => again[key][row][place], model: (row, place) => head[key][row][place], title });
  }

  const asked = () => stage({ number: 1, title: message("qkv_ask_stage"), rule: "q = x W_q + b_q", text: message("qkv_ask_text", asker.text) },
    el("div", { class: "made made-q" }, ...projected({ letter: "q", own: head.query, key: "queries", role: "qkv_q",
      x: head.queryInputs, rows: asking, down: [i], alone: true, at: [i, 0] })));
  const all = tokens(seen.length);
  const keyed = () => stage({ number: 2, title: message("qkv_key_stage"), rule: "K = X W_k + b_k",
    text: `${message("qkv_key_text")} ${now.cross ? message("qkv_key_cross") : ""}` },
  el("div", { class: "made made-k" }, ...projected({ letter: "k", own: head.key, key: "keys", role: "qkv_k",
    x: head.memoryInputs, rows: seen, down: all, at: [j, 0] })));
  const valued = () => stage({ number: 3, title: message("qkv_value_stage"), rule: "V = X W_v + b_v", text: message("qkv_value_text") },
    el("div", { class: "made made-v" }, ...projected({ letter: "v", own: head.value, key: "values", role: "qkv_v",
      x: head.memoryInputs, rows: seen, down: all, at: [j, 0] })));

  const row = (values, name, about, more = {}) =>
    part(values, name, about, { rows: asking, down: [i], alone: true, columns: seen, across: all, ...more });
  const two = (value) => formatNumber(value, 2);

  function scored() {
    const turned = head.keys[0].map((_, at) => column(again.keys, at));
    return stage({ number: 4, title: message("qkv_scores"), rule: "s = q K^T", text: message("qkv_scores_text") },
      ...product({ at: [i, j], gap: again.gaps.scores, symbols: ["q", "k"],
        left: part(again.queries, "q", "qkv_m_Q", { rows: asking, down: [i], alone: true }),
        right: part(turned, "K^T", "qkv_m_K", { columns: seen, down: few(turned.length), across: all }),
        result: (touch, open) => row(again.scores, "s", "qkv_m_S", { write: two, touch, open, at: [i, j] }),
        terms: (own, place) => again.queries[own].map((one, k) => [one, again.keys[place][k]]),
        title: (own, place) => message("qkv_score_of", asking[own].text, seen[place].text),
        value: (own, place) => again.scores[own][place], model: (own, place) => head.scores[own][place] }));
  }

  function divided() {
    const width = head.keys[0].length;
    const about = { number: 5, title: message("qkv_divide"), rule: "s / √d_k" };
    if (head.scale === 1) return stage({ ...about, text: message("qkv_undivided") });
    const left = row(again.scores, "s", "qkv_m_S", { write: two });
    const title = (place) => message("qkv_score_of", asker.text, seen[place].text);
    return stage({ ...about, text: message("qkv_divide_text", width, formatNumber(head.scale, 3)) },
      ...working({ at: [i, j], parts: [left], sign: `÷ √${width} =`, light: (own, place) => left.light({ row: own, column: place }),
        line: (own, place) => `${title(place)} = ${formatNumber(again.scores[own][place], 3)} ÷ ${formatNumber(head.scale, 3)} = ${formatNumber(again.divided[own][place], 3)}`,
        result: (touch) => row(again.divided, "s / √d_k", "qkv_m_D", { write: two, touch, at: [i, j],
          open: (own, place) => openSum({ title: title(place), terms: [[again.scores[own][place], 1 / head.scale]],
            symbols: ["s", `1/√${width}`], model: head.scores[own][place] / head.scale }) }) }));
  }

  function masked() {
    const about = { number: 6, title: message("qkv_mask"), rule: "s + m" };
    if (again.mask[i].every((one) => one === 0)) return stage({ ...about, text: message("qkv_unhidden", asker.text) });
    return stage({ ...about, text: message("qkv_mask_text") }, equation(
      row(again.divided, head.scale === 1 ? "s" : "s / √d_k", "qkv_m_D", { write: two }), "+",
      row(again.mask, "m", "qkv_m_M", { write: (value) => formatNumber(value, 0), tint: "" }), "=",
      row(again.masked, "s + m", "qkv_m_SM", { write: two })));
  }

  function shared() {
    const left = row(again.masked, "s", "qkv_m_SM", { write: two });
    const title = (place) => message("qkv_weight_of", asker.text, seen[place].text);
    const most = Math.max(...again.masked[i]);
    const made = again.masked[i].map((one) => [Math.exp(one - most)]);
    return stage({ number: 7, title: message("qkv_softmax"), rule: "α = softmax ( s )", text: message("qkv_softmax_text") },
      ...working({ at: [i, j], gap: again.gaps.weights, parts: [left], sign: "→", light: (own) => left.light({ row: own }),
        line: (own, place) => `${title(place)} = e^(${two(again.masked[own][place])}) ÷ Σ e^s = ${weighed(again.weights[own][place])}`,
        result: (touch) => row(again.weights, "α", "qkv_m_A", { write: weighed, tint: "weights", touch, at: [i, j],
          open: (own, place) => openSum({ title: title(place), terms: made, symbols: ["e^(s − max)"],
            names: seen.map((one) => one.text), model: head.weights[own][place],
            then: { symbol: `${seen[place].text} ÷ Σ`, value: again.weights[own][place] } }) }) }));
  }

  const mixed = () => stage({ number: 8, title: message("qkv_mix"), rule: "z = Σ α v", text: message("qkv_mix_text") },
    ...product({ at: [i, 0], gap: again.gaps.mixed, symbols: ["α", "v"], names: seen.map((one) => one.text),
      left: row(again.weights, "α", "qkv_m_A", { write: weighed, tint: "weights" }),
      right: part(again.values, "V", "qkv_m_V", { rows: seen, down: all }),
      result: (touch, open) => part(again.mixed, "z", "qkv_m_Z", { rows: asking, down: [i], alone: true, touch, open, at: [i, 0] }),
      terms: (own, place) => again.weights[own].map((share, k) => [share, again.values[k][place]]),
      title: (own, place) => message("qkv_mixed_of", asking[own].text, place + 1),
      value: (own, place) => again.mixed[own][place], model: (own, place) => head.context[own][place] }));

  function joined() {
    const width = head.keys[0].length;
    const heads = head.contexts.map((context, at) => {
      const own = at === now.number - 1;
      return el("button", { type: "button", class: "head-part", "aria-pressed": own, on: { click: () => set({ head: String(at + 1) }, { quiet: true }) } },
        el("span", {}, message("qkv_head_n", at + 1)), tiles(own ? again.mixed[i] : context[i], { shown: 4 }));
    });
    return stage({ number: 9, title: message("qkv_join"), rule: "z = z_1 … z_h",
      text: message("qkv_join_text", head.contexts.length, width, head.contexts.length * width) }, el("div", { class: "head-parts" }, ...heads));
  }

  function handed() {
    const from = (now.number - 1) * head.keys[0].length;
    const inner = few(again.joined[0].length, from);
    return stage({ number: 10, title: message("qkv_final", asker.text), rule: "y = z W_O + b_O", text: message("qkv_final_text") },
      ...product({ at: [i, 0], gap: again.gaps.whole, symbols: ["z", "W_O"],
        left: part(again.joined, "z", "qkv_m_C", { rows: asking, down: [i], alone: true, across: inner }),
        right: part(head.outputWeight, "W_O", "qkv_m_Wo", { down: inner }),
        bias: biased(head.bias, "b_O"),
        result: (touch, open) => part(again.whole, "y", "qkv_m_Y", { rows: asking, down: [i], alone: true, touch, open, at: [i, 0] }),
        terms: (own, place) => again.joined[own].map((one, k) => [one, head.outputWeight[k][place]]),
        title: (own, place) => message("qkv_output_of", asking[own].text, place + 1),
        value: (own, place) => again.whole[own][place], model: (own, place) => head.layerOutput[own][place] }));
  }

  return [asked(), keyed(), valued(), scored(), divided(), masked(), shared(), mixed(), joined(), handed()];
}
