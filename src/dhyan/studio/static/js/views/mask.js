/** Mask view: causal mask, leak test and padding mask. */

import { post } from "../api.js";
import { requestBody, fetchTrace, forgetTrace } from "../traces.js";
import { controls, list, segments } from "../controls.js";
import { el, fill, text } from "../dom.js";
import { card, models } from "../header.js";
import { draw } from "../heatmap.js";
import { formatNumber, sum, vector, formatTiny } from "../numbers.js";
import { state, set, address } from "../state.js";
import { showStatus } from "../status.js";
import { heads, selectHead } from "../trace.js";
import { message } from "../messages.js";
import { leakForm, leakTable, verdict } from "./mask/leak_test.js";
import "./mask/messages.js";

const READABLE = 22; // smallest cell width for −∞, in pixels

export const lesson = {
  title: ["The causal mask", "आगे देखना मना है"],
  text: ["In training the decoder is given the whole translation at once, to save time. If a word could see the next one, it would copy it and learn nothing.\nSo every score above the diagonal is set to −∞ before the softmax: the weight there is exactly 0, and the row still sums to one.\nThe leak test proves it: change a word, and nothing before it may move by even a bit.",
    "प्रशिक्षण में समय बचाने के लिए डिकोडर को पूरा अनुवाद एक साथ दिया जाता है। कोई शब्द अगले शब्द को देख पाता तो उसे नक़ल कर लेता और कुछ न सीखता।\nइसलिए विकर्ण के ऊपर का हर अंक softmax से पहले −∞ कर दिया जाता है: वहाँ भार ठीक 0 है, और पंक्ति का योग फिर भी एक।\nरिसाव की जाँच इसका प्रमाण है: एक शब्द बदलिए, उससे पहले कुछ भी ज़रा-सा नहीं हिलना चाहिए।"],
  ask: ["Change the last word of the translation. At how many places does the output move, with the mask and without it?",
    "अनुवाद का अंतिम शब्द बदलिए। आउटपुट कितनी जगहों पर हिलता है, मास्क के साथ और उसके बिना?"],
  answer: ["With the mask at one: after the changed word itself. Without it at all of them, back to the beginning, because every word now sees the last one.",
    "मास्क के साथ एक जगह: स्वयं बदले हुए शब्द के बाद। उसके बिना सब जगह, आरंभ तक, क्योंकि अब हर शब्द अंतिम शब्द को देखता है।"],
};

export function open() {
  const { source_language: source = "en", target_language: target = "hi" } = card() ?? {};
  const note = el("div", { class: "mask-note" });
  const chooser = el("div", {});
  const map = el("div", { class: "mask-map" });
  const test = leakForm(target);
  const leakResult = el("div", { class: "mask-found" });
  const paddingBox = el("div", {});
  const parts = el("div", { class: "mask-parts", hidden: true }, map,
    el("div", { class: "mask-leak" }, el("h2", {}, message("mask_leak")),
      el("p", {}, message("mask_leak_text")), test.node, leakResult), paddingBox);
  const node = el("section", { class: "mask", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_mask"))),
    el("p", { class: "quiet" }, message("mask_intro")), note, chooser, parts, toy());
  let trace = null;
  let leakResponse = null;
  let shownTable = null;
  let stop = new AbortController();
  let leakRequest = new AbortController();

  async function load() {
    stop.abort();
    leakRequest.abort();
    stop = new AbortController();
    [trace, leakResponse, shownTable] = [null, null, null];
    parts.hidden = true;
    fill(chooser);
    fill(note, el("p", { class: "quiet" }, state.text ? message("working") : message("nothing")));
    if (!state.text || !state.model) return;
    try {
      trace = await fetchTrace({}, stop.signal);
      if (trace.decoder_input.tokens.length < 2) return void fill(note, el("p", {}, message("mask_too_short")));
      await Promise.all([runLeakTest().catch(showStatus), renderPadding()]);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(note);
      showStatus(error);
    }
  }

  const renderPadding = async () => fill(paddingBox, paddingSection(await post("/api/padding", requestBody(), stop.signal), source));

  /** The changed position: from the state, or the middle. */
  function changedPosition() {
    const last = trace.decoder_input.tokens.length - 1;
    return state.position ? Math.min(state.position, last) : Math.ceil((last + 1) / 2);
  }

  /** Replace a decoder input token, with or without the mask. */
  async function runLeakTest() {
    leakRequest.abort();
    leakRequest = new AbortController();
    const hasMask = card()?.decoder === "transformer";
    test.setTokens(trace.decoder_input.tokens, changedPosition());
    const requestLeak = (word) => post("/api/leak", { ...requestBody(), position: changedPosition(), word,
      masked: !hasMask || state.masked === "1" }, leakRequest.signal);
    const response = await requestLeak(state.word);
    const refused = "suggestions" in response;
    const first = !leakResponse;
    leakResponse = refused ? await requestLeak("") : response; // the attention map does not depend on the word
    parts.hidden = false;
    test.showSuggestions(response);
    if (first) renderControls();
    renderMap();
    fill(leakResult, ...(refused ? [] : leakTable(response, target)));
    if (!refused) showStatus(verdict(response).words);
  }

  const rerunLeakTest = () => runLeakTest().catch(showStatus);

  /** Controls, or a notice for a model without a mask. */
  function renderControls() {
    if (!leakResponse.has_mask) {
      const other = models().find((model) => model.decoder === "transformer");
      fill(note, el("p", {}, message("mask_recurrent")), other && el("p", {}, el("a", { class: "button mask-go",
        href: address({ ...state, model: other.name }), on: { click: (event) => {
          event.preventDefault();
          set({ model: other.name });
        } } }, message("mask_take", other.name))));
      return;
    }
    fill(note);
    const layers = leakResponse.weights.map((_, index) => [String(index + 1), String(index + 1)]);
    const count = leakResponse.weights[0].shape[0];
    const names = Array.from({ length: count }, (_, index) => [String(index + 1), String(index + 1)]);
    fill(chooser, controls(segments(message("mask_switch"), "masked", [["1", message("mask_on")], ["0", message("mask_off")]]),
      list(message("layer"), "layer", layers),
      list(message("head"), "head", [...names, ["avg", message("average")], ["max", message("largest")]])));
  }

  const shownLayer = () => Math.min(state.layer || 1, leakResponse.weights.length);
  const shownHead = () => (Number(state.head) ? String(Math.min(Number(state.head), leakResponse.weights[0].shape[0])) : state.head || "1");

  /** Show the state in the controls. */
  function syncControls() {
    for (const radio of chooser.querySelectorAll("[role=radio]")) {
      radio.setAttribute("aria-checked", String(radio.dataset.value === state.masked));
      radio.setAttribute("tabindex", radio.dataset.value === state.masked ? "0" : "-1");
    }
    const [layer, head] = ["layer", "head"].map((key) => chooser.querySelector(`[data-key="${key}"]`));
    if (layer) layer.value = String(shownLayer());
    if (head) head.value = shownHead();
  }

  function renderMap() {
    if (!leakResponse.has_mask) return void fill(map);
    syncControls();
    const values = selectHead(heads(leakResponse.weights[shownLayer() - 1]), shownHead());
    const words = leakResponse.decoder_input.map((token) => ({ text: token, lang: target }));
    const later = words.map((_, row) => words.map((_, column) => column > row));
    const hidden = leakResponse.masked ? later : undefined;
    const ahead = sum(values.map((line, row) => sum(line.slice(row + 1))));
    const live = el("p", { class: "live", "aria-live": "polite" });
    const cellText = (row, column) => (hidden?.[row][column] ? message("mask_cell_hidden", leakResponse.decoder_input[row], leakResponse.decoder_input[column])
      : message("attends", leakResponse.decoder_input[row], leakResponse.decoder_input[column], formatNumber(values[row][column])));
    const box = el("div", { class: "picture" });
    fill(map, el("h2", {}, message("mask_map")),
      el("p", { class: leakResponse.masked ? "quiet" : "mask-warning" }, leakResponse.masked
        ? message("mask_hatched", later.flat().filter(Boolean).length, later.flat().length)
        : message("mask_broken", `${Math.round((100 * ahead) / sum(values.map(sum)))} %`)), box, live);
    fill(box, draw({ values, hidden, rows: words, columns: words, label: message("mask_map_label"), says: cellText,
      scale: state.scale, numbers: state.numbers === "1", least: READABLE, widest: map.clientWidth || undefined,
      focus: (row, column) => fill(live, cellText(row, column)),
      hover: (row, column) => row !== null && column !== null && fill(live, cellText(row, column)),
      open: (row, column) => set({ view: "qkv", role: "decoder_self", target: row + 1, source: column + 1 }) }));
    shownTable = { values, rows: leakResponse.decoder_input, columns: leakResponse.decoder_input };
  }

  const reload = () => {
    forgetTrace();
    load();
  };
  load();
  document.addEventListener("again", reload);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) load();
      else if (!trace) return;
      else if (["position", "word", "masked"].some((key) => changed.has(key))) rerunLeakTest();
      else if (leakResponse && ["layer", "head", "scale", "numbers"].some((key) => changed.has(key))) renderMap();
    },
    exportData: () => ({ trace, picture: map.querySelector("svg"), table: shownTable ?? (leakResponse && {
      values: vector(leakResponse.max_change).map((change) => [change]), rows: leakResponse.decoder_input, columns: [message("mask_column_moved")] }) }),
    close() {
      stop.abort();
      leakRequest.abort();
      document.removeEventListener("again", reload);
    },
  };
}

/** Link to the toy with a causal mask. */
function toy() {
  const target = { ...state, view: "qkv", toy: "how" };
  return el("p", { class: "mask-toy" }, el("a", { href: address(target), on: { click: (event) => {
    event.preventDefault();
    set({ view: "qkv", toy: "how" });
  } } }, message("mask_toy")));
}

const ROUNDING = 1e-3; // logits differ by tens; a different order of summation changes less

/** @param {{tokens: string[], padded_tokens: string[], padding_weight: number, max_change: number}} result @param {string} lang of the sentences */
function paddingSection(result, lang) {
  const empty = result.tokens.length - result.padded_tokens.length;
  const line = (words) => el("div", { class: "mask-sentence" },
    ...words.map((word) => el("span", { class: "mask-token" }, text(word, lang))),
    ...Array.from({ length: result.tokens.length - words.length }, () =>
      el("span", { class: "mask-token pad" }, el("span", {}, "<pad>"))));
  return el("div", { class: "mask-padding" },
    el("h2", {}, message("mask_padding")),
    el("p", {}, message("mask_padding_text")),
    el("div", { class: "picture", role: "region", tabindex: "0", "aria-label": message("mask_padding") },
      el("div", { class: "mask-batch", role: "img", style: { "--count": result.tokens.length },
        "aria-label": message("mask_padding_label", result.padded_tokens.length, empty) }, line(result.tokens), line(result.padded_tokens))),
    el("p", {}, message("mask_padding_weight", result.padding_weight === 0 ? "0.0" : formatNumber(result.padding_weight, 4)), " ", paddingChange(result.max_change)));
}

function paddingChange(change) {
  if (change === 0) return message("mask_padding_same");
  return message(change < ROUNDING ? "mask_padding_rounding" : "mask_padding_moved", formatTiny(change));
}
