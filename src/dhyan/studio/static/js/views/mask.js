/** The causal mask: the mask, what leaks without it, and the other mask, over padding. */

import { post } from "../api.js";
import { requestBody, fetchTrace, forgetTrace } from "../traces.js";
import { controls, list, segments } from "../controls.js";
import { el, fill, text } from "../dom.js";
import { card, models } from "../header.js";
import { draw } from "../heatmap.js";
import { formatNumber, sum, vector, formatTiny } from "../numbers.js";
import { state, set, address } from "../state.js";
import { showStatus } from "../status.js";
import { heads, reduced } from "../trace.js";
import { message } from "../messages.js";
import { form, moved, verdict } from "./mask/leak_test.js";
import "./mask/messages.js";

const READABLE = 22; // pixels: cells that have room for −∞

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
  const choose = el("div", {});
  const map = el("div", { class: "mask-map" });
  const test = form(target);
  const found = el("div", { class: "mask-found" });
  const pads = el("div", {});
  const parts = el("div", { class: "mask-parts", hidden: true }, map,
    el("div", { class: "mask-leak" }, el("h2", {}, message("mask_leak")),
      el("p", {}, message("mask_leak_text")), test.node, found), pads);
  const node = el("section", { class: "mask", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_mask"))),
    el("p", { class: "quiet" }, message("mask_intro")), note, choose, parts, toy());
  let trace = null;
  let answer = null;
  let seen = null;
  let stop = new AbortController();
  let asking = new AbortController();

  async function ask() {
    stop.abort();
    asking.abort();
    stop = new AbortController();
    [trace, answer, seen] = [null, null, null];
    parts.hidden = true;
    fill(choose);
    fill(note, el("p", { class: "quiet" }, state.text ? message("working") : message("nothing")));
    if (!state.text || !state.model) return;
    try {
      trace = await fetchTrace({}, stop.signal);
      if (trace.decoder_input.tokens.length < 2) return void fill(note, el("p", {}, message("mask_too_short")));
      await Promise.all([leak().catch(showStatus), pad()]);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(note);
      showStatus(error);
    }
  }

  const pad = async () => fill(pads, padding(await post("/api/padding", requestBody(), stop.signal), source));

  /** The place that is changed: the one asked for, or one with words on both sides. */
  function place() {
    const last = trace.decoder_input.tokens.length - 1;
    return state.position ? Math.min(state.position, last) : Math.ceil((last + 1) / 2);
  }

  /** Tell the decoder another word, with the mask or without it. */
  async function leak() {
    asking.abort();
    asking = new AbortController();
    const switched = card()?.decoder === "transformer";
    test.follow(trace.decoder_input.tokens, place());
    const tell = (word) => post("/api/leak", { ...requestBody(), position: place(), word,
      masked: !switched || state.masked === "1" }, asking.signal);
    const told = await tell(state.word);
    const refused = "suggestions" in told;
    const first = !answer;
    answer = refused ? await tell("") : told; // the picture is the same with any word
    parts.hidden = false;
    test.offer(told);
    if (first) furnish();
    picture();
    fill(found, ...(refused ? [] : moved(told, target)));
    if (!refused) showStatus(verdict(told).words);
  }

  const again = () => leak().catch(showStatus);

  /** What there is to choose, or why there is nothing. */
  function furnish() {
    if (!answer.has_mask) {
      const other = models().find((one) => one.decoder === "transformer");
      fill(note, el("p", {}, message("mask_recurrent")), other && el("p", {}, el("a", { class: "button mask-go",
        href: address({ ...state, model: other.name }), on: { click: (event) => {
          event.preventDefault();
          set({ model: other.name });
        } } }, message("mask_take", other.name))));
      return;
    }
    fill(note);
    const layers = answer.weights.map((_, at) => [String(at + 1), String(at + 1)]);
    const count = answer.weights[0].shape[0];
    const names = Array.from({ length: count }, (_, at) => [String(at + 1), String(at + 1)]);
    fill(choose, controls(segments(message("mask_switch"), "masked", [["1", message("mask_on")], ["0", message("mask_off")]]),
      list(message("layer"), "layer", layers),
      list(message("head"), "head", [...names, ["avg", message("average")], ["max", message("largest")]])));
  }

  const shownLayer = () => Math.min(state.layer || 1, answer.weights.length);
  const shownHead = () => (Number(state.head) ? String(Math.min(Number(state.head), answer.weights[0].shape[0])) : state.head || "1");

  /** The choices as the state has them. */
  function follow() {
    for (const one of choose.querySelectorAll("[role=radio]")) {
      one.setAttribute("aria-checked", String(one.dataset.value === state.masked));
      one.setAttribute("tabindex", one.dataset.value === state.masked ? "0" : "-1");
    }
    const [layer, head] = ["layer", "head"].map((key) => choose.querySelector(`[data-key="${key}"]`));
    if (layer) layer.value = String(shownLayer());
    if (head) head.value = shownHead();
  }

  function picture() {
    if (!answer.has_mask) return void fill(map);
    follow();
    const values = reduced(heads(answer.weights[shownLayer() - 1]), shownHead());
    const words = answer.decoder_input.map((one) => ({ text: one, lang: target }));
    const later = words.map((_, row) => words.map((_, column) => column > row));
    const hidden = answer.masked ? later : undefined;
    const ahead = sum(values.map((line, row) => sum(line.slice(row + 1))));
    const live = el("p", { class: "live", "aria-live": "polite" });
    const told = (row, column) => (hidden?.[row][column] ? message("mask_cell_hidden", answer.decoder_input[row], answer.decoder_input[column])
      : message("attends", answer.decoder_input[row], answer.decoder_input[column], formatNumber(values[row][column])));
    const box = el("div", { class: "picture" });
    fill(map, el("h2", {}, message("mask_map")),
      el("p", { class: answer.masked ? "quiet" : "mask-warning" }, answer.masked
        ? message("mask_hatched", later.flat().filter(Boolean).length, later.flat().length)
        : message("mask_broken", `${Math.round((100 * ahead) / sum(values.map(sum)))} %`)), box, live);
    fill(box, draw({ values, hidden, rows: words, columns: words, label: message("mask_map_label"), says: told,
      scale: state.scale, numbers: state.numbers === "1", least: READABLE, widest: map.clientWidth || undefined,
      focus: (row, column) => fill(live, told(row, column)),
      hover: (row, column) => row !== null && column !== null && fill(live, told(row, column)),
      open: (row, column) => set({ view: "qkv", role: "decoder_self", target: row + 1, source: column + 1 }) }));
    seen = { values, rows: answer.decoder_input, columns: answer.decoder_input };
  }

  const anew = () => {
    forgetTrace();
    ask();
  };
  ask();
  document.addEventListener("again", anew);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) ask();
      else if (!trace) return;
      else if (["position", "word", "masked"].some((key) => changed.has(key))) again();
      else if (answer && ["layer", "head", "scale", "numbers"].some((key) => changed.has(key))) picture();
    },
    taken: () => ({ trace, picture: map.querySelector("svg"), table: seen ?? (answer && {
      values: vector(answer.max_change).map((one) => [one]), rows: answer.decoder_input, columns: [message("mask_column_moved")] }) }),
    close() {
      stop.abort();
      asking.abort();
      document.removeEventListener("again", anew);
    },
  };
}

/** A way to the worked example of the mask. */
function toy() {
  const there = { ...state, view: "qkv", toy: "how" };
  return el("p", { class: "mask-toy" }, el("a", { href: address(there), on: { click: (event) => {
    event.preventDefault();
    set({ view: "qkv", toy: "how" });
  } } }, message("mask_toy")));
}

const ROUNDING = 1e-3; // scores of words lie tens apart; sums taken in another order differ by less

/** @param {{tokens: string[], padded_tokens: string[], padding_weight: number, max_change: number}} found @param {string} lang of the sentences */
function padding(found, lang) {
  const empty = found.tokens.length - found.padded_tokens.length;
  const line = (words) => el("div", { class: "mask-sentence" },
    ...words.map((one) => el("span", { class: "mask-token" }, text(one, lang))),
    ...Array.from({ length: found.tokens.length - words.length }, () =>
      el("span", { class: "mask-token pad" }, el("span", {}, "<pad>"))));
  return el("div", { class: "mask-padding" },
    el("h2", {}, message("mask_padding")),
    el("p", {}, message("mask_padding_text")),
    el("div", { class: "picture", role: "region", tabindex: "0", "aria-label": message("mask_padding") },
      el("div", { class: "mask-batch", role: "img", style: { "--count": found.tokens.length },
        "aria-label": message("mask_padding_label", found.padded_tokens.length, empty) }, line(found.tokens), line(found.padded_tokens))),
    el("p", {}, message("mask_padding_weight", found.padding_weight === 0 ? "0.0" : formatNumber(found.padding_weight, 4)), " ", same(found.max_change)));
}

function same(by) {
  if (by === 0) return message("mask_padding_same");
  return message(by < ROUNDING ? "mask_padding_rounding" : "mask_padding_moved", formatTiny(by));
}
