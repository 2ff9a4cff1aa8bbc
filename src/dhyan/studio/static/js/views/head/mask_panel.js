/** Panel of the mask: the causal mask of all positions, the leak test, and the padding mask. */

import { post } from "../../api.js";
import { requestBody, fetchTrace } from "../../traces.js";
import { controls, segments } from "../../controls.js";
import { el, setChildren, text } from "../../dom.js";
import { keepFocus } from "../../focus.js";
import { card } from "../../header.js";
import { drawHeatmap } from "../../heatmap.js";
import { formatNumber, sum, vector, formatTiny } from "../../numbers.js";
import { stateLink } from "../../links.js";
import { state, set, colorScaleOf } from "../../state.js";
import { lessonParts } from "../../lesson_panel.js";
import { showStatus } from "../../status.js";
import { hasRole, heads, selectHead } from "../../trace.js";
import { message } from "../../messages.js";
import { leakForm, leakTable, verdict } from "./leak_test.js";

const MIN_READABLE_CELL = 16; // smallest cell width for −∞, in pixels
const MAX_BESIDE = 14; // words of the largest map beside the leak test

/** The panel; `load` runs the tests, `update` those that a change of the state concerns. */
export function maskPanel() {
  const languages = () => ({ source: card()?.source_language ?? "en", target: card()?.target_language ?? "hi" });
  const note = el("div", { class: "mask-note" });
  const chooser = el("div", {});
  const map = el("div", { class: "mask-map" });
  const test = leakForm();
  const leakResult = el("div", { class: "mask-result" });
  const paddingBox = el("div", {});
  const parts = el("div", { class: "mask-parts", hidden: true }, map,
    el("div", { class: "mask-leak" }, el("h3", {}, message("mask_leak")),
      el("p", {}, message("mask_leak_text")), test.node, leakResult), paddingBox);
  const node = el("div", { class: "mask" }, note, chooser, parts,
    el("div", { class: "aside" }, ...lessonParts("mask")), toyLink());
  let trace = null;
  let leakResponse = null;
  let displayedTable = null;
  let stop = new AbortController();
  let leakRequest = new AbortController();

  async function load() {
    stop.abort();
    leakRequest.abort();
    stop = new AbortController();
    [trace, leakResponse, displayedTable] = [null, null, null];
    parts.hidden = true;
    setChildren(chooser);
    setChildren(note, el("p", { class: "muted" }, state.text ? message("working") : message("empty_view")));
    if (!state.text || !state.model) return;
    try {
      trace = await fetchTrace({}, stop.signal);
      if (trace.decoder_input.tokens.length < 2) return void setChildren(note, el("p", {}, message("mask_too_short")));
      await Promise.all([runLeakTest().catch(showStatus), renderPadding()]);
      scrollToPadding();
    } catch (error) {
      if (error.name === "AbortError") return;
      setChildren(note);
      showStatus(error);
    }
  }

  const renderPadding = async () => setChildren(paddingBox, paddingSection(await post("/api/padding", requestBody(), stop.signal), languages().source));

  /** Of a long sentence, show where the padding begins. */
  function scrollToPadding() {
    const [box, first] = [".picture", ".pad"].map((kind) => /** @type {HTMLElement | null} */ (paddingBox.querySelector(kind)));
    if (box && first) box.scrollLeft += first.getBoundingClientRect().left - box.getBoundingClientRect().left - box.clientWidth / 2;
  }

  /** The changed position: from the state, or the middle. */
  function changedPosition() {
    const last = trace.decoder_input.tokens.length - 1;
    return state.position ? Math.min(state.position, last) : Math.ceil((last + 1) / 2);
  }

  /** Replace a decoder input token, with or without the mask. */
  async function runLeakTest() {
    leakRequest.abort();
    leakRequest = new AbortController();
    const hasMask = hasRole(trace, "decoder_self");
    test.setTokens(trace.decoder_input.tokens, changedPosition(), languages().target);
    const isMasked = !hasMask || state.masked === "1";
    const requestLeak = (word, masked = isMasked) => post("/api/leak", { ...requestBody(), position: changedPosition(), word, masked }, leakRequest.signal);
    const [response, reference] = await Promise.all([requestLeak(state.word), isMasked ? null : requestLeak("", true)]);
    const refused = "suggestions" in response;
    const first = !leakResponse;
    leakResponse = refused ? await requestLeak("") : response; // the attention map does not depend on the word
    parts.hidden = false;
    test.showSuggestions(response);
    if (first) renderControls();
    renderMap();
    setChildren(leakResult, ...(refused ? [] : leakTable(response, languages().target, reference?.next_tokens)));
    if (!refused) showStatus(verdict(response).text);
  }

  const rerunLeakTest = () => runLeakTest().catch(showStatus);

  /** The switch, or a notice for a decoder without a mask. */
  function renderControls() {
    if (!leakResponse.has_mask) return void setChildren(note, el("p", {}, message("mask_recurrent")));
    setChildren(note, el("p", { class: "muted" }, message("mask_intro")));
    setChildren(chooser, controls(segments(message("mask_switch"), "masked", [["1", message("mask_on")], ["0", message("mask_off")]])));
  }

  const shownLayer = () => Math.min(state.layer || Infinity, leakResponse.weights.length);
  const shownHead = () => (Number(state.head) ? String(Math.min(Number(state.head), leakResponse.weights[0].shape[0])) : "1");

  /** Show the state in the controls. */
  function syncControls() {
    for (const radio of chooser.querySelectorAll("[role=radio]")) {
      radio.setAttribute("aria-checked", String(radio.dataset.value === state.masked));
      radio.setAttribute("tabindex", radio.dataset.value === state.masked ? "0" : "-1");
    }
  }

  function renderMap() {
    if (!leakResponse.has_mask) return void setChildren(map);
    syncControls();
    const values = selectHead(heads(leakResponse.weights[shownLayer() - 1]), shownHead());
    const words = leakResponse.decoder_input.map((token) => ({ text: token, lang: languages().target }));
    const later = words.map((_, row) => words.map((_, column) => column > row));
    const hidden = leakResponse.masked ? later : undefined;
    const ahead = sum(values.map((line, row) => sum(line.slice(row + 1))));
    const live = el("p", { class: "live", "aria-live": "polite" });
    const cellText = (row, column) => (hidden?.[row][column] ? message("mask_cell_hidden", leakResponse.decoder_input[row], leakResponse.decoder_input[column])
      : message("attends", leakResponse.decoder_input[row], leakResponse.decoder_input[column], formatNumber(values[row][column])));
    const box = el("div", { class: "picture" });
    parts.classList.toggle("stacked", words.length > MAX_BESIDE);
    setChildren(map, el("h3", {}, message("mask_map"), ` · ${message("heads_head", shownLayer(), shownHead())}`),
      el("p", { class: leakResponse.masked ? "muted" : "mask-warning" }, leakResponse.masked
        ? message("mask_hatched", later.flat().filter(Boolean).length, later.flat().length)
        : message("mask_removed", `${Math.round((100 * ahead) / sum(values.map(sum)))} %`)), box, live);
    setChildren(box, drawHeatmap({ values, hidden, rows: words, columns: words, label: message("mask_map_label"), describe: cellText,
      scale: colorScaleOf(words.length), numbers: state.numbers === "1", minCellWidth: MIN_READABLE_CELL, maxWidth: map.clientWidth || undefined,
      onFocus: (row, column) => setChildren(live, cellText(row, column)),
      onHover: (row, column) => row !== null && column !== null && setChildren(live, cellText(row, column)),
      onOpen: (row, column) => set({ view: "head", role: "decoder_self", layer: shownLayer(), head: shownHead(), target: row + 1, source: column + 1 }) }));
    displayedTable = { values, rows: leakResponse.decoder_input, columns: leakResponse.decoder_input };
  }

  let width = 0;
  const watcher = new ResizeObserver(() => {
    if (leakResponse && Math.abs(map.clientWidth - width) > 24) keepFocus(map, renderMap);
    width = map.clientWidth;
  });
  watcher.observe(node);
  return {
    node,
    load,
    update(changed) {
      if (!trace) return;
      if (["position", "word", "masked"].some((key) => changed.has(key))) rerunLeakTest();
      else if (leakResponse && ["layer", "head", "scale", "numbers"].some((key) => changed.has(key))) renderMap();
    },
    exportData: () => ({ picture: map.querySelector("svg"), table: displayedTable ?? (leakResponse && {
      values: vector(leakResponse.max_change).map((change) => [change]), rows: leakResponse.decoder_input, columns: [message("mask_column_change")] }) }),
    close() {
      stop.abort();
      leakRequest.abort();
      watcher.disconnect();
    },
  };
}

/** Link to the toy with a causal mask. */
const toyLink = () => el("p", { class: "mask-toy" }, stateLink({ view: "self_attention", toy: "how" }, message("mask_toy")));

const ROUNDING = 1e-3; // logits differ by tens; a different order of summation changes less

/** @param {{tokens: string[], padded_tokens: string[], padding_weight: number | null, max_change: number}} result @param {string} lang of the sentences */
function paddingSection(result, lang) {
  const empty = result.tokens.length - result.padded_tokens.length;
  const line = (words) => el("div", { class: "mask-sentence" },
    ...words.map((word) => el("span", { class: "mask-token" }, text(word, lang))),
    ...Array.from({ length: result.tokens.length - words.length }, () =>
      el("span", { class: "mask-token pad" }, el("span", {}, "<pad>"))));
  return el("div", { class: "mask-padding" },
    el("h3", {}, message("mask_padding")),
    el("p", {}, message("mask_padding_text")),
    el("div", { class: "picture", role: "region", tabindex: "0", "aria-label": message("mask_padding") },
      el("div", { class: `mask-batch${result.tokens.length > MAX_BESIDE ? " long" : ""}`, role: "img", style: { "--count": String(result.tokens.length) },
        "aria-label": message("mask_padding_label", result.padded_tokens.length, empty) }, line(result.tokens), line(result.padded_tokens))),
    el("p", {}, result.padding_weight === null ? message("no_attention")
      : message("mask_padding_weight", result.padding_weight === 0 ? "0.0" : formatNumber(result.padding_weight, 4)), " ", paddingChange(result.max_change)));
}

function paddingChange(change) {
  if (change === 0) return message("mask_padding_same");
  return message(change < ROUNDING ? "mask_padding_rounding" : "mask_padding_changed", formatTiny(change));
}
