/** The blocks of the machine from left to right: where each stands and what it draws. */

import { svg } from "../../dom.js";
import { labelWidth } from "../../heatmap_layout.js";
import { message } from "../../messages.js";
import { formatNumber, sum } from "../../numbers.js";
import { maxAbs } from "../../vector_strips.js";
import { sumOf } from "./numbers_of_word.js";
import { arrow, curve, fit, flow, label, part, shareBar, signedBar, strip, STRIP, stripWidth } from "./shapes.js";
import { distributionBlock, stackBlock } from "./result_blocks.js";
import { formatWeight, subscript } from "./symbols.js";

const ROW = 38;
const TOP = 44; // of the first row, below the title
const GAP = 56; // between blocks
const QUERY_GAP = 26; // above the query
const EDGE = 14;
const LONG = 12; // numbers of a vector that are drawn
const SHORT = 8; // where several vectors stand side by side
const MAX_LABEL = 100;
const BAR = 90;
const TEXT_WIDTH = 330;
const UNKNOWN = 72; // height of the question mark
const TITLED = 210; // least width for the title of the tokens in the whole machine

/**
 * @typedef {object} Block
 * @property {string} name
 * @property {string} title
 * @property {string} step that reveals it
 * @property {number} x @property {number} y @property {number} width @property {number} height
 * @property {{step: string, nodes: Node[]}[]} contents
 * @property {number} [unknown] the baseline of the question mark; without it, in the middle
 */

/** @param {any} numbers of a word @param {{source: string, target: string}} languages @returns {Block[]} */
export function layOut(numbers, languages) {
  const layout = measure(numbers, languages);
  const transformer = numbers.kind === "transformer";
  const makers = [textBlock, tokenBlock, embeddingBlock, numbers.selfAttention && selfAttentionBlock, stateBlock,
    transformer && keyBlock, scoreBlock, weightBlock, contextBlock, outputBlock, distribution, wordBlock];
  const blocks = [];
  let x = 0;
  for (const maker of makers.filter(Boolean)) {
    const block = maker(layout, x);
    blocks.push(block);
    if (maker === scoreBlock) blocks.push(queryBlock(layout, x, block.width));
    x += block.width + GAP;
  }
  return blocks;
}

/** What all blocks share: the rows of the source, their labels, and the limits of colours. */
function measure(numbers, languages) {
  const { shown, others, source } = numbers;
  const names = [...shown.map((row) => source[row].text), ...(others.length ? [message("tour_others", others.length)] : [])];
  const labels = Math.min(Math.max(...names.map(labelWidth), 30), MAX_LABEL);
  const count = names.length;
  const height = TOP + count * ROW + 12;
  const y = (index) => TOP + index * ROW + (ROW - STRIP) / 2;
  const limits = { embeddings: limitOf(numbers.embeddings, LONG), inputs: limitOf([...numbers.inputs, ...numbers.embeddings.map((row) => row.map((value) => value * numbers.scale))], SHORT),
    states: limitOf(numbers.states, LONG) };
  /** A group for every row of the source that is drawn: `draw(token, row, y)` gives its nodes. */
  const eachRow = (group, draw, width, x) => shown.map((row, index) => part(
    [`${group}-${row}`, ...(row === numbers.best ? [`${group}-best`] : []), ...(source[row].special ? [`${group}-end`] : []), group],
    { x, y: y(index), width, height: STRIP }, ...draw(source[row], row, y(index)).flat()));
  const rowLabel = (text, x, at, special = false) => label(x, at + 15, fit(text, labels), { lang: languages.source, ...(special ? { kind: "special" } : {}) });
  return { numbers, languages, labels, names, count, height, y, limits, eachRow, rowLabel, middle: (TOP + count * ROW) / 2 };
}

/** The largest magnitude among the numbers that are drawn. */
const limitOf = (vectors, count) => maxAbs(...vectors.map((values) => values.slice(0, count)));

const block = (name, step, x, width, height, contents, y = 0) => ({ name, title: message(`tour_block_${name}`), step, x, y, width, height, contents });

/** The sentence, and the translation below it. */
function textBlock({ numbers, languages, height }, x) {
  const { sourceWords, targetWords, token } = numbers;
  const word = (own, place, names, lang) => part(names, place, label(place.x + 5, place.y + 21, own.text, { kind: "word", lang }));
  const sourcePlaces = flow(sourceWords, x + EDGE, 68, TEXT_WIDTH);
  const half = sourcePlaces.at(-1).y + 62;
  const targetPlaces = flow(targetWords, x + EDGE, half + 58, TEXT_WIDTH);
  const bestWord = numbers.source[numbers.best].word;
  const followed = (own) => own.tokens.includes(numbers.step);
  const end = targetPlaces.length ? targetPlaces.at(-1).y + 44 : half + 60;
  const unknown = half + 22 + UNKNOWN;
  return { ...block("text", "sentence", x, TEXT_WIDTH + 2 * EDGE, Math.max(height, end, unknown + EDGE), [
    { step: "", nodes: [label(x + EDGE, 54, message("tour_sentence_label"), { kind: "note" }),
      ...sourceWords.map((own, index) => word(own, sourcePlaces[index],
        [`source-${index}`, ...(own.tokens.some((row) => numbers.source[row].word === bestWord) ? ["source-best"] : []), "source"], languages.source)),
      arrow(x + EDGE + 20, half - 22, x + EDGE + 20, half + 22)] },
    { step: "sentence", nodes: [label(x + EDGE, half + 46, message("tour_translation_label"), { kind: "note" }),
      ...targetWords.map((own, index) => word(own, targetPlaces[index], [...(followed(own) ? ["followed"] : []), ...(index === 0 ? ["first"] : []), "translation"], languages.target)),
      ...(token.special ? [part(["followed", "translation"], { x: x + EDGE, y: end - 20, width: labelWidth(token.text), height: STRIP }, label(x + EDGE, end - 6, token.text, { kind: "special" }))] : [])] },
  ]), unknown };
}

function tokenBlock({ numbers, eachRow, rowLabel, height, names, y, labels }, x) {
  const width = Math.max(labels + 130, TITLED);
  const nodes = eachRow("tokens", (token, row, at) => [
    svg("rect", { class: token.special ? "tour-pill special" : "tour-pill", x: x + EDGE, y: at - 4, width: labels + 16, height: STRIP + 8, rx: 6 }),
    rowLabel(token.text, x + EDGE + 8, at, token.special),
    label(x + width - EDGE, at + 15, String(token.id), { kind: "number", "text-anchor": "end" })], width - 2 * EDGE, x + EDGE);
  return block("tokens", "tokens", x, width, height, [{ step: "tokens", nodes: [...nodes, ...othersLabel(numbers, names, x + EDGE, y)] }]);
}

/** The row of all source tokens that are not drawn. */
function othersLabel(numbers, names, x, y) {
  return numbers.others.length ? [label(x, y(names.length - 1) + 15, names.at(-1), { kind: "note" })] : [];
}

function embeddingBlock(layout, x) {
  const { numbers, eachRow, rowLabel, height, names, y, labels, limits } = layout;
  const start = x + EDGE + labels + 10;
  if (!numbers.selfAttention) {
    const width = EDGE + labels + 10 + stripWidth(LONG) + EDGE;
    const nodes = eachRow("embeddings", (token, row, at) => [rowLabel(token.text, x + EDGE, at, token.special),
      strip(start, at, numbers.embeddings[row], { count: LONG, limit: limits.embeddings })], width - 2 * EDGE, x + EDGE);
    return block("embedding", "embedding", x, width, height, [{ step: "embedding", nodes: [...nodes, ...othersLabel(numbers, names, x + EDGE, y)] }]);
  }
  const step = stripWidth(SHORT) + 26;
  const width = EDGE + labels + 10 + 3 * step - 14 + EDGE;
  const places = [0, 1, 2].map((index) => start + index * step);
  const nodes = eachRow("embeddings", (token, row, at) => {
    const scaled = numbers.embeddings[row].map((value) => value * numbers.scale);
    const positions = numbers.inputs[row].map((value, index) => value - scaled[index]);
    const own = (names, values, index) => part(names, { x: places[index], y: at, width: SHORT * 13, height: STRIP },
      strip(places[index], at, values, { count: SHORT, limit: limits.inputs }));
    return [rowLabel(token.text, x + EDGE, at, token.special), own(["scaled"], scaled, 0), label(places[1] - 18, at + 15, "+"), own(["positions"], positions, 1),
      label(places[2] - 18, at + 15, "="), own(["inputs"], numbers.inputs[row], 2)];
  }, width - 2 * EDGE, x + EDGE);
  const heads = ["e·√d", "p", "x"].map((text, index) => label(places[index] + SHORT * 6.5, TOP - 2, text, { kind: "symbol", "text-anchor": "middle" }));
  return block("embedding", "positions", x, width, height, [{ step: "positions", nodes: [...heads, ...nodes, ...othersLabel(numbers, names, x + EDGE, y)] }]);
}

/** One row of an encoder head: how much a token takes from every token. */
function selfAttentionBlock(layout, x) {
  const { numbers, rowLabel, height, names, y, labels } = layout;
  const { selfAttention: { query, weights, best }, shown } = numbers;
  const width = EDGE + labels + 60 + 120 + labels + EDGE;
  const from = x + EDGE + labels + 62;
  const to = x + width - EDGE - labels - 10;
  const target = y(shown.indexOf(query)) + STRIP / 2;
  const nodes = shown.map((row, index) => part(
    [`links-${row}`, ...(row === best ? ["links-best"] : []), ...(row === query ? ["links-query"] : []), "links"],
    { x: x + EDGE, y: y(index), width: labels + 50, height: STRIP },
    rowLabel(numbers.source[row].text, x + EDGE, y(index), numbers.source[row].special),
    label(from - 8, y(index) + 15, formatWeight(weights[row]), { kind: "number", "text-anchor": "end", "data-self-weight": weights[row] }),
    curve(from, y(index) + STRIP / 2, to, target, { weight: weights[row] })));
  const own = part(["query-token"], { x: to + 4, y: target - STRIP / 2, width: labels + 6, height: STRIP }, rowLabel(numbers.source[query].text, to + 10, target - STRIP / 2));
  const rest = numbers.others.length ? [label(from - 8, y(names.length - 1) + 15, formatNumber(sumOf(weights, numbers.others)), { kind: "number", "text-anchor": "end" })] : [];
  return block("self_attention", "self_attention", x, width, height,
    [{ step: "self_attention", nodes: [...nodes, own, ...othersLabel(numbers, names, x + EDGE, y), ...rest] }]);
}

/** The encoder states; a recurrent encoder reads along the arrows. */
function stateBlock(layout, x) {
  const { numbers, eachRow, rowLabel, height, names, y, labels, limits } = layout;
  const recurrent = !numbers.selfAttention;
  const gutter = recurrent ? 34 : 0;
  const step = recurrent ? "states" : "states_transformer";
  const width = EDGE + gutter + labels + 10 + stripWidth(LONG) + EDGE;
  const nodes = eachRow("states", (token, row, at) => [rowLabel(token.text, x + EDGE + gutter, at, token.special),
    strip(x + EDGE + gutter + labels + 10, at, numbers.states[row], { count: LONG, limit: limits.states })], width - 2 * EDGE - gutter, x + EDGE + gutter);
  const [first, last] = [y(0) + 2, y(numbers.shown.length - 1) + STRIP - 2];
  const reading = recurrent ? [part(["forward"], { x: x + EDGE - 2, y: first, width: 12, height: last - first }, arrow(x + EDGE + 4, first, x + EDGE + 4, last)),
    numbers.bidirectional && part(["backward"], { x: x + EDGE + 16, y: first, width: 12, height: last - first }, arrow(x + EDGE + 22, last, x + EDGE + 22, first))] : [];
  return block("states", step, x, width, height, [{ step, nodes: [...reading.filter(Boolean), ...nodes, ...othersLabel(numbers, names, x + EDGE, y)] }]);
}

/** Keys and values of one head. */
function keyBlock(layout, x) {
  const { numbers, eachRow, rowLabel, height, names, y, labels } = layout;
  const step = stripWidth(SHORT) + 16;
  const width = EDGE + labels + 10 + 2 * step + EDGE - 10;
  const places = [0, 1].map((index) => x + EDGE + labels + 10 + index * step);
  const limits = [limitOf(numbers.keys, SHORT), limitOf(numbers.values, SHORT)];
  const nodes = eachRow("pairs", (token, row, at) => [rowLabel(token.text, x + EDGE, at, token.special),
    ...[numbers.keys, numbers.values].map((table, index) => {
      const name = ["keys", "values"][index];
      return part([...(row === numbers.best ? [`${name}-best`] : []), name], { x: places[index], y: at, width: SHORT * 13, height: STRIP },
        strip(places[index], at, table[row], { count: SHORT, limit: limits[index] }));
    })], width - 2 * EDGE, x + EDGE);
  const heads = ["k", "v"].map((text, index) => label(places[index] + SHORT * 6.5, TOP - 2, text, { kind: "symbol", "text-anchor": "middle" }));
  return block("keys", "query_heads", x, width, height, [{ step: "query_heads", nodes: [...heads, ...nodes, ...othersLabel(numbers, names, x + EDGE, y)] }]);
}

function scoreBlock(layout, x) {
  const { numbers, eachRow, rowLabel, height, names, y, labels } = layout;
  const { scores, products } = numbers;
  const extra = products ? 66 : 0;
  const width = EDGE + labels + 10 + extra + 2 * 46 + 66 + EDGE;
  const start = x + EDGE + labels + 10 + extra;
  const largest = maxAbs(scores);
  const nodes = eachRow("scores", (token, row, at) => [rowLabel(token.text, x + EDGE, at, token.special),
    products && part(["products"], { x: start - extra, y: at, width: 56, height: STRIP }, label(start - 14, at + 15, formatNumber(products[row], 2), { kind: "number", "text-anchor": "end" })),
    signedBar(start, at, scores[row], largest, 46),
    label(x + width - EDGE, at + 15, formatNumber(scores[row], 2), { kind: "number", "text-anchor": "end", "data-score": scores[row] })], width - 2 * EDGE, x + EDGE);
  const heads = products ? [label(start - 14, TOP - 2, "q·k", { kind: "symbol", "text-anchor": "end" }),
    label(x + width - EDGE, TOP - 2, numbers.divisor > 1 ? `÷ ${formatNumber(numbers.divisor, Number.isInteger(numbers.divisor) ? 0 : 2)}` : "", { kind: "symbol", "text-anchor": "end" })]
    : [label(x + width - EDGE, TOP - 2, "e", { kind: "symbol", "text-anchor": "end" })];
  return block("scores", "scores", x, width, height, [{ step: "scores", nodes: [...heads, ...nodes, ...othersLabel(numbers, names, x + EDGE, y)] }]);
}

/** Lines from the query, up between states and scores, which it meets one by one. */
function comparison({ y, names }, x, from, step) {
  const middles = names.map((_, index) => y(index) + STRIP / 2);
  const bus = x - GAP / 2;
  return [{ step, nodes: [part(["comparison"], { x: bus - 2, y: middles[0], width: 4, height: from - middles[0] }, svg("path", { class: "tour-bus", d: `M${x} ${from} L${bus} ${from} L${bus} ${middles[0]}` }))] },
    { step: "scores", nodes: middles.flatMap((middle) => [svg("path", { class: "tour-bus", d: `M${x - GAP} ${middle} L${x} ${middle}` }), svg("circle", { class: "tour-junction", cx: bus, cy: middle, r: 3.5 })]) }];
}

/** The vector that asks, below the scores. */
function queryBlock(layout, x, least) {
  const { numbers, height } = layout;
  const { kind, previous, step, query } = numbers;
  const [before, after] = [`s${subscript(step)}`, `s${subscript(step + 1)}`];
  const input = { symbol: "y", text: message("tour_embedding_of", previous.text), values: numbers.previousEmbedding, names: ["input"] };
  const lines = {
    bahdanau: [{ symbol: before, text: step ? message("tour_state_wrote", numbers.trace.target.tokens[step - 1].text) : message("tour_state_first"), values: query, names: ["query"] }],
    luong: [{ symbol: before, text: message("tour_state_before"), values: numbers.stateBefore, names: ["state-before"] }, input,
      { symbol: after, text: message("tour_state_now"), values: query, names: ["query"], result: true }],
    transformer: [{ symbol: "x", text: message("tour_vector_reading", previous.text), values: numbers.queryInput, names: ["input"] },
      { symbol: "q", text: message("tour_query_of_head", numbers.head, numbers.layer), values: query, names: ["query"], result: true }],
  }[kind];
  const stepName = { bahdanau: "query_before", luong: "query_after", transformer: "query_heads" }[kind];
  const own = stackBlock({ name: "query", title: message("tour_block_query"), step: stepName, lines, x, y: height + QUERY_GAP, least, count: LONG });
  return { ...own, contents: [...comparison(layout, x, own.y + 30, stepName), ...own.contents] };
}

function weightBlock(layout, x) {
  const { numbers, eachRow, rowLabel, height, names, y, labels } = layout;
  const { weights, others } = numbers;
  const width = EDGE + labels + 10 + BAR + 64 + EDGE;
  const start = x + EDGE + labels + 10;
  const row = (weight, at, name) => [shareBar(start, at, weight, BAR),
    label(x + width - EDGE, at + 15, formatWeight(weight), { kind: "number", "text-anchor": "end", ...(name === null ? {} : { "data-weight": weight, "data-row": name }) })];
  const nodes = eachRow("weights", (token, index, at) => [rowLabel(token.text, x + EDGE, at, token.special), ...row(weights[index], at, index)], width - 2 * EDGE, x + EDGE);
  const rest = others.length ? row(sumOf(weights, others), y(names.length - 1), null) : [];
  const total = part(["weight-sum"], { x: x + width - 84, y: 12, width: 74, height: STRIP }, label(x + width - EDGE, 27, `Σ ${formatNumber(sum(weights))}`, { kind: "number", "text-anchor": "end" }));
  return block("weights", "softmax", x, width, height, [{ step: "softmax", nodes: [total, ...nodes, ...othersLabel(numbers, names, x + EDGE, y), ...rest] }]);
}

/** The context: all states, or values, mixed by their weights. */
function contextBlock(layout, x) {
  const { numbers, height, y, middle, count } = layout;
  const transformer = numbers.kind === "transformer";
  const fan = 120;
  const width = fan + stripWidth(LONG) + 2 * EDGE + 14;
  const at = middle - STRIP / 2 + 20;
  const left = x + fan + EDGE + 10;
  const shares = [...numbers.shown.map((row) => numbers.weights[row]), ...(numbers.others.length ? [sumOf(numbers.weights, numbers.others)] : [])];
  const links = part(["mix"], { x: x + 8, y: TOP, width: fan - 10, height: count * ROW - 10 },
    ...shares.map((weight, index) => curve(x - GAP + 4, y(index) + STRIP / 2, left - 6, at + STRIP / 2, { weight })));
  const symbol = transformer ? "z" : `c${subscript(numbers.step + 1)}`;
  const own = part(["context"], { x: left, y: at - 24, width: stripWidth(LONG) - 10, height: STRIP + 24 },
    label(left, at - 8, `${symbol} = Σ α·${transformer ? "v" : "h"}`, { kind: "symbol" }), strip(left, at, numbers.context, { count: LONG, limit: limitOf([numbers.context], LONG) }));
  const after = transformer ? part(["projected"], { x: left, y: at + 46, width: stripWidth(LONG) - 10, height: STRIP + 24 },
    label(left, at + 62, message("tour_all_heads", numbers.heads), { kind: "note" }), strip(left, at + 70, numbers.layerOutput, { count: LONG, limit: limitOf([numbers.layerOutput], LONG) })) : null;
  const step = transformer ? "context_heads" : "context";
  return block("context", step, x, width, Math.max(height, at + 110), [{ step, nodes: [links, own, after].filter(Boolean) }]);
}

/** What the decoder makes of the context. */
function outputBlock(layout, x) {
  const { numbers, height } = layout;
  const { kind, previous, step, residual } = numbers;
  const i = subscript(step + 1);
  const context = { symbol: `c${i}`, text: message("tour_context_word"), values: numbers.context, names: ["context-in"] };
  const before = { symbol: `s${subscript(step)}`, text: message("tour_state_before"), values: numbers.stateBefore, names: ["state-before-in"] };
  const input = { symbol: "y", text: message("tour_embedding_of", previous.text), values: numbers.previousEmbedding, names: ["input-in"] };
  const after = { symbol: `s${i}`, text: message("tour_state_now"), values: numbers.stateAfter, names: ["state-after"], result: kind === "bahdanau" };
  const lines = {
    bahdanau: () => [before, input, context, after],
    luong: () => [context, { ...after, names: ["state-in"] }, { symbol: `s̃${i}`, text: message("tour_attentional"), values: numbers.attentional, names: ["attentional"], result: true }],
    transformer: () => [{ symbol: "x", text: message("tour_residual_input"), values: residual.input, names: ["residual-input"] },
      { symbol: "+", text: message("tour_residual_self"), values: residual.selfAttention, names: ["residual-self"] },
      { symbol: "+", text: message("tour_residual_cross"), values: residual.crossAttention, names: ["residual-cross"] },
      { symbol: "+", text: message("tour_residual_feed_forward"), values: residual.feedForward, names: ["residual-feed-forward"] },
      { symbol: "=", text: message("tour_residual_output"), values: residual.output, names: ["residual-output"], result: true }],
  }[kind]();
  const stepName = { bahdanau: "decoder_state", luong: "attentional", transformer: "residual" }[kind];
  return { ...stackBlock({ name: "state", title: message(`tour_block_${stepName}`), step: stepName, lines, x, y: 0, least: 0, count: LONG, tall: height, summed: kind === "transformer" }) };
}

const distribution = ({ numbers, languages, height }, x) => distributionBlock(numbers, languages.target, x, height);

/** The translation so far, with the new word, which is read next: the arrow runs behind later words. */
function wordBlock({ numbers, languages, height }, x) {
  const { trace, step } = numbers;
  const tokens = trace.target.tokens.map((token) => ({ text: token.text }));
  const places = flow(tokens, x + EDGE, 68, TEXT_WIDTH);
  const kindOf = (index) => (index === step ? ["written"] : index < step ? ["written-before"] : ["written-later"]);
  const nodes = (filter) => tokens.flatMap((token, index) => (filter(index) ? [part(kindOf(index), places[index],
    svg("rect", { class: `tour-pill${index === step ? " new" : ""}${index > step ? " later" : ""}`, x: places[index].x, y: places[index].y - 2, width: places[index].width, height: 34, rx: 6 }),
    label(places[index].x + 5, places[index].y + 21, token.text, { kind: "word", lang: languages.target }))] : []));
  const bottom = places.at(-1).y + 62;
  const here = places[step];
  const back = part(["read-next"], { x: x + EDGE, y: bottom - 16, width: TEXT_WIDTH - 20, height: 48 }, arrow(here.x + here.width / 2, here.y + 36, here.x + here.width / 2, bottom + 6),
    label(x + EDGE + 5, bottom + 24, message(step + 1 < tokens.length ? "tour_read_next" : "tour_finished"), { kind: "note" }));
  const unknown = here.y + 34 + UNKNOWN;
  return { ...block("word", "word", x, TEXT_WIDTH + 2 * EDGE, Math.max(height, bottom + 50, unknown + EDGE),
    [{ step: "", nodes: nodes((index) => index < step) }, { step: "word", nodes: [back, ...nodes((index) => index >= step)] }]), unknown };
}
