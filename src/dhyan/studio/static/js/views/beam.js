/** Beam view: the tree of a beam search, and why its winner won. */

import { post } from "../api.js";
import { controls, segments, toggle } from "../controls.js";
import { weightColor, textColor } from "../colors.js";
import { el, setChildren, text } from "../dom.js";
import { card } from "../header.js";
import { message } from "../messages.js";
import { formatNumber } from "../numbers.js";
import { state, set, colorScaleOf } from "../state.js";
import { failureNote, showStatus } from "../status.js";
import { requestBody } from "../traces.js";
import { explainWinner, finished, labelOf, pathTo, winnerOf } from "./beam/explain.js";
import { drawTree, lengthPower } from "./beam/tree.js";

const DEFAULT_WIDTH = 4; // where the header has greedy search, which has no tree

/** Hypotheses kept at each step. */
const width = () => state.beam_width || (state.beam > 1 ? state.beam : DEFAULT_WIDTH);

/** @returns {View} */
export function open() {
  const widths = el("div", { class: "segments", role: "radiogroup", "aria-label": message("beam_width_label"), on: { keydown: moveWidth } });
  const tabs = segments(message("beam_picture"), "display", [["map", message("beam_tree")], ["table", message("table")]], { current: () => (state.display === "table" ? "table" : "map") });
  const droppedToggle = toggle(message("beam_dropped_toggle"), "dropped");
  const [answer, results, picture, details, legend] = ["answer", "results", "scroll", "details", "legend"].map((name) => el("div", { class: `beam-${name}` }));
  const content = el("div", { class: "beam-content", hidden: true }, answer, picture, legend, details, results);
  const note = el("div", { class: "beam-note" });
  const node = el("section", { class: "beam", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("beam_title")), tabs),
    controls(el("span", { class: "field" }, el("span", { "aria-hidden": "true" }, message("beam_width_label")), widths), droppedToggle), note, content);
  let tree = null;
  let drawn = null;
  let stop = new AbortController();

  const language = () => card()?.target_language ?? "hi";
  const selected = () => (state.node >= 0 && state.node < tree.nodes.length ? state.node : winnerOf(tree));
  const quoted = (index) => tree.nodes[index].text;

  async function load() {
    stop.abort();
    stop = new AbortController();
    renderWidths();
    const began = performance.now();
    if (!state.text || !state.model) return showNote(muted(message("empty_view")));
    content.classList.add("loading");
    if (!tree) showNote(muted(message("beam_working")));
    showStatus(message("beam_working"));
    try {
      tree = await post("/api/beam", requestBody({ beam: width() }), stop.signal);
      render();
      showStatus(message("beam_done", state.model, tree.beam, tree.nodes.length - 1, Math.round(performance.now() - began)));
    } catch (error) {
      if (error.name === "AbortError") return null;
      showNote(failureNote(error));
      showStatus(error);
    }
    return null;
  }

  /** @param {Node} explanation of why there is no tree */
  function showNote(explanation) {
    [tree, drawn, content.hidden] = [null, null, true];
    setChildren(note, explanation);
  }

  const muted = (words) => el("p", { class: "muted" }, words);

  function renderWidths() {
    setChildren(widths, ...Array.from({ length: 8 }, (_, index) => index + 1).map((value) => el("button", { type: "button", role: "radio",
      "aria-checked": value === width(), tabindex: value === width() ? 0 : -1, on: { click: () => chooseWidth(value) } }, String(value))));
  }

  function chooseWidth(value) {
    set({ beam_width: value, node: -1 }, { replace: true });
    widths.querySelector("[aria-checked=true]")?.focus();
  }

  function moveWidth(event) {
    const offset = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!offset) return;
    event.preventDefault();
    chooseWidth(((width() - 1 + offset + 8) % 8) + 1);
  }

  function render() {
    setChildren(note, state.prefix && forcedNotice());
    content.hidden = false;
    content.classList.remove("loading");
    setChildren(answer, el("h2", {}, message("beam_why_title")), el("p", { class: "beam-winner", lang: language() }, quoted(winnerOf(tree))),
      el("p", {}, reasons().join(" ")));
    renderPicture();
    renderDetails();
    renderResults();
  }

  /** Sentences that answer why the winner won. */
  function reasons() {
    const { winner, second, greedy, finished: ended } = explainWinner(tree);
    const [score, probability] = [(value) => formatNumber(value), (item) => formatNumber(Math.exp(item.logprob), 2)];
    const token = (item) => `“${item.token}”`;
    if (tree.beam === 1) return [message("beam_why_only")];
    const sentences = ended ? [message("beam_why_won", score(winner.score_by_length))] : [message("beam_why_unfinished")];
    if (second) {
      sentences.push(message("beam_why_second", second.node.text, score(second.node.score_by_length)),
        message("beam_why_part", second.step, token(second.token), probability(second.token), token(second.otherToken), probability(second.otherToken)));
      if (second.byLength) sentences.push(message("beam_why_length", score(second.node.score), score(winner.score), second.node.step, winner.step));
    } else if (ended) {
      sentences.push(message("beam_why_alone"));
    }
    if (!greedy) return [...sentences, message("beam_greedy_same")];
    if (second && greedy.text === second.node.text) return [...sentences, message("beam_greedy_second", greedy.step)];
    sentences.push(message("beam_greedy_differs", greedy.text, score(greedy.score), greedy.step, token(greedy.token), probability(greedy.token),
      token(greedy.winnerToken), probability(greedy.winnerToken)));
    if (greedy.dropped) sentences.push(message(greedy.better ? "beam_greedy_better" : "beam_greedy_dropped", greedy.dropped.step, greedy.dropped.rank));
    return sentences;
  }

  const shownNodes = () => tree.nodes.map((_, index) => index).filter((index) => state.dropped === "1" || tree.nodes[index].fate !== "dropped" || index === selected());

  function renderPicture() {
    drawn = null;
    const asTable = state.display === "table";
    if (asTable) {
      setChildren(picture, nodeTable());
    } else {
      drawn = drawTree({ tree, shown: shownNodes(), selected: selected(), lang: language(), describe, onSelect: choose });
      setChildren(picture, drawn);
      reveal();
    }
    setChildren(legend, !asTable && el("p", { class: "muted" }, `${message("beam_legend", tree.beam)} ${message("beam_legend_end", tree.length_penalty)} ${message("beam_hint")}`));
  }

  /** Scroll the selected box into the picture, without moving the page. */
  function reveal() {
    const selected = picture.querySelector("[aria-selected=true]");
    if (!(selected instanceof SVGGraphicsElement)) return;
    const box = selected.getBBox();
    const inside = box.x - 20 >= picture.scrollLeft && box.x + box.width + 20 <= picture.scrollLeft + picture.clientWidth;
    if (state.node >= 0 && !inside) picture.scrollLeft = box.x + box.width / 2 - picture.clientWidth / 2;
    if (state.node >= 0 && (box.y < picture.scrollTop || box.y + box.height > picture.scrollTop + picture.clientHeight)) picture.scrollTop = box.y - picture.clientHeight / 2;
  }

  function choose(index) {
    set({ node: index === winnerOf(tree) ? -1 : index }, { replace: true });
  }

  function fate(index) {
    const item = tree.nodes[index];
    const own = message(`beam_fate_${item.fate}`, formatNumber(item.score_by_length));
    return pathTo(tree.nodes, winnerOf(tree)).includes(index) ? `${own}, ${message("beam_fate_winner")}` : own;
  }

  function describe(index) {
    const item = tree.nodes[index];
    return index === 0 ? message("beam_node_start")
      : message("beam_node", item.step, item.token, formatNumber(item.logprob, 2), formatNumber(item.score, 2), item.rank, fate(index));
  }

  /** Why a hypothesis was kept or dropped. */
  function reason(index) {
    const item = tree.nodes[index];
    if (index === 0) return message("beam_reason_start");
    if (item.fate === "dropped") return message(item.special ? "beam_reason_dropped_end" : "beam_reason_dropped", item.rank, item.step, tree.beam);
    const place = tree.results.indexOf(index);
    if (finished(item)) return place < 0 ? message("beam_reason_beaten", tree.results.length) : message("beam_reason_place", place + 1, tree.results.length);
    if (tree.nodes.some((child) => child.parent === index)) return message("beam_reason_kept", item.rank, item.step, tree.beam);
    if (item.step < tree.nodes.at(-1).step) return message("beam_reason_ended", item.rank, item.step, 2 * tree.beam);
    return place < 0 ? message("beam_reason_stopped", tree.results.length) : message("beam_why_unfinished");
  }

  /** Panel of the selected hypothesis: its text, its score as a sum, and its attention. */
  function renderDetails() {
    const index = selected();
    const item = tree.nodes[index];
    const path = pathTo(tree.nodes, index);
    setChildren(details, el("h2", {}, message("beam_prefix")), el("p", { class: "beam-prefix", lang: language() }, item.text || "·"),
      el("p", {}, reason(index)), index > 0 && arithmetic(item, path), index > 0 && attention(tree.nodes[item.parent].attention), item.text && !item.special && continueButton(item));
  }

  const continueButton = (item) => el("p", { class: "beam-continue" },
    el("button", { type: "button", on: { click: () => set({ view: "translate", prefix: item.text, beam: 1 }) } }, message("beam_continue")));

  const forcedNotice = () => el("p", { class: "card" }, message("beam_forced", state.prefix), " ",
    el("button", { type: "button", on: { click: () => set({ prefix: "" }) } }, message("beam_remove_prefix")));

  /** The score as the sum of the log-probabilities, divided by the length if it is finished. */
  function arithmetic(item, path) {
    const terms = path.map((index) => el("span", { class: "beam-term" }, text(labelOf(tree.nodes, index), language()), el("span", { class: "number" }, formatNumber(tree.nodes[index].logprob))));
    return el("div", { class: "beam-arithmetic" }, el("h3", {}, message("beam_arithmetic")),
      el("p", { class: "beam-terms" }, ...terms.flatMap((term, index) => (index ? [el("span", { class: "beam-plus", "aria-hidden": "true" }, "+"), term] : [term]))),
      el("p", { class: "number beam-sum" }, `Σ = ${formatNumber(item.score)}`, finished(item)
        && ` ÷ ${lengthPower(item.step, tree.length_penalty)} = ${formatNumber(item.score_by_length)}`),
      el("p", { class: "muted" }, message("beam_probability", formatNumber(Math.exp(item.logprob)), formatProbability(Math.exp(item.score)))));
  }

  function attention(weights) {
    if (!weights.length) return el("p", { class: "muted" }, message("beam_no_attention"));
    return el("div", {}, el("h3", {}, message("beam_attention")), el("ul", { class: "beam-attention", lang: card()?.source_language ?? "en" }, ...tree.source.map((word, index) => {
      const background = weightColor(weights[index], colorScaleOf(tree.source.length));
      return el("li", { style: { "background-color": background, color: textColor(background) } }, el("span", {}, word),
        el("span", { class: "number" }, formatNumber(weights[index], 2, { weight: true })));
    })));
  }

  function renderResults() {
    const row = (index, place) => {
      const item = tree.nodes[index];
      return el("tr", { class: place ? "" : "winning" }, el("th", { scope: "row" }, String(place + 1)),
        el("td", { class: "words" }, el("button", { type: "button", class: "beam-link-button", lang: language(), on: { click: () => {
          choose(index);
          drawn?.mark(index);
          reveal();
        } } }, item.text || item.token), !finished(item) && ` (${message("beam_unfinished")})`),
        el("td", { class: "number" }, formatNumber(item.score)), el("td", { class: "number" }, String(item.step)),
        el("td", { class: "number" }, el("b", {}, formatNumber(item.score_by_length))));
    };
    setChildren(results, el("h2", {}, message("beam_results")), el("div", { class: "beam-rows", tabindex: 0, role: "region", "aria-label": message("beam_results") },
      el("table", { class: "numbers" }, headings("beam_place", "beam_hypothesis", "beam_sum", "beam_length", "beam_score"), el("tbody", {}, ...tree.results.map(row)))));
  }

  const headings = (...keys) => el("thead", {}, el("tr", {}, ...keys.map((key) => el("th", { scope: "col" }, message(key)))));

  /** The same as a table, a row for each hypothesis. */
  function nodeTable() {
    const rows = shownNodes().slice(1).map((index) => {
      const item = tree.nodes[index];
      return el("tr", { class: item.fate, "data-node": index }, el("th", { scope: "row" }, String(item.step)), el("td", { class: "words", lang: language() }, labelOf(tree.nodes, index)),
        el("td", { class: "words", lang: language() }, item.text), ...[formatNumber(item.logprob), formatNumber(item.score), String(item.rank)].map((number) => el("td", { class: "number" }, number)),
        el("td", { class: "words" }, fate(index)));
    });
    return el("div", { class: "beam-rows tall", tabindex: 0, role: "region", "aria-label": message("beam_table") }, el("table", { class: "numbers" },
      headings("beam_col_step", "beam_col_token", "beam_hypothesis", "beam_log_probability", "beam_sum", "beam_col_rank", "beam_col_fate"), el("tbody", {}, ...rows)));
  }

  load();
  document.addEventListener("retranslate", load);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix", "beam_width"].some((key) => changed.has(key))) load();
      else if (!tree) return;
      else if (changed.has("display") || changed.has("dropped")) renderPicture();
      else if (changed.has("node") || changed.has("scale")) {
        drawn?.mark(selected());
        renderDetails();
      }
    },
    exportData: () => ({ trace: null, picture: tree && picture.querySelector("svg, table"), table: tree && { columns: ["beam_col_step", "beam_log_probability", "beam_sum", "beam_score", "beam_col_rank"].map((key) => message(key)),
      rows: tree.nodes.slice(1).map((item) => item.text || item.token),
      values: tree.nodes.slice(1).map((item) => [item.step, item.logprob, item.score, item.score_by_length, item.rank]) } }),
    close() {
      stop.abort();
      document.removeEventListener("retranslate", load);
    },
  };
}

/** A probability in decimals, or with an exponent if it is small. */
const formatProbability = (value) => (value < 0.001 ? value.toExponential(1).replace("-", "−") : formatNumber(value));
