/** Gravity view: attention moves every word towards the words it attends to, in a toy or in a model. */

import { el, setChildren } from "../dom.js";
import { controls, segments, slider } from "../controls.js";
import { scatterPlot } from "../scatter_plot.js";
import { formatNumber } from "../numbers.js";
import { state, set } from "../state.js";
import { addMessages, message } from "../messages.js";
import { distance, parsePoints, applyLayers, SENTENCES, formatPoints } from "./gravity/toy.js";
import { modelPlane } from "./gravity/model.js";

addMessages({
  gravity_source: ["Source of the vectors", "सदिशों का स्रोत"],
  gravity_toy: ["toy", "खिलौना"],
  gravity_model: ["this model", "यह मॉडल"],
  gravity_sentence: ["Sentence", "वाक्य"],
  gravity_weights: ["Weights", "भार"],
  gravity_softmax: ["softmax", "softmax"],
  gravity_fixed: ["fixed, as in the notes: .8 / .2", "निश्चित, नोट्स जैसे: .8 / .2"],
  gravity_temperature: ["Temperature", "तापमान"],
  gravity_layers: ["Layers", "परतें"],
  gravity_reset: ["Reset the words", "शब्द वापस रखिए"],
  gravity_plane: ["Words in the plane: circles are embeddings, arrows lead to context vectors",
    "तल में शब्द: वृत्त एम्बेडिंग हैं, तीर संदर्भ सदिशों तक जाते हैं"],
  gravity_point: ["{0} at {1}, {2}; after attention at {3}, {4}. Arrow keys move it.",
    "{0} {1}, {2} पर; अवधान के बाद {3}, {4} पर। तीर कुंजियाँ इसे खिसकाती हैं।"],
  gravity_caption: ["○ embedding, → context vector. Drag a circle, or focus it and press arrow keys (Shift: small steps).",
    "○ एम्बेडिंग, → संदर्भ सदिश। वृत्त को खींचिए, या उस पर फ़ोकस करके तीर कुंजियाँ दबाइए (Shift: थोड़ा-थोड़ा)।"],
  gravity_moves: ["bank moves from [{0}, {1}] to [{2}, {3}].", "bank [{0}, {1}] से [{2}, {3}] पर जाता है।"],
  gravity_distance: ["Its distance to {0} changes from {1} to {2}.", "{0} से उसकी दूरी {1} से {2} हो जाती है।"],
  gravity_collapsed: ["After {0} layers all words are at nearly the same point: averaging without residual connections makes them equal.",
    "{0} परतों के बाद सब शब्द लगभग एक ही जगह हैं: रेसिड्युअल जोड़ के बिना माध्य लेने से वे एक जैसे हो जाते हैं।"],
  gravity_row: ["Weights of the first layer: how much of each word (column) goes into a word (row)",
    "पहली परत के भार: हर शब्द (स्तंभ) का कितना भाग किसी शब्द (पंक्ति) में जाता है"],
  gravity_formula: ["No parameters: weights = softmax(x·y ÷ T) with the vectors ÷ 10, and every word becomes the weighted mean of all.",
    "कोई प्राचल नहीं: भार = softmax(x·y ÷ T), सदिश ÷ 10 के साथ, और हर शब्द सबका भारित माध्य बन जाता है।"],
  gravity_fixed_text: ["Fixed weights: .8 for the word itself, .2 for the others.",
    "निश्चित भार: शब्द के अपने लिए .8, दूसरों के लिए .2।"],
});

export const lesson = {
  title: ["Attention as weighted averaging", "अवधान: भारित माध्य"],
  text: ["The embedding of bank is one point, whatever the sentence. In the toy, attention replaces it by a weighted mean of the sentence: beside money it moves towards money, beside river towards river. A trained model need not follow this rule: choose “this model” and compare.\nThe temperature divides the scores: a low one lets the best match win, a high one mixes evenly. At T = 0.37 the softmax gives bank the notes' weights, .2 and .8.",
    "bank की एम्बेडिंग एक ही बिंदु है, वाक्य कोई भी हो। खिलौने में अवधान उसकी जगह वाक्य का भारित माध्य रखता है: money के साथ वह money की ओर जाता है, river के साथ river की ओर। प्रशिक्षित मॉडल में यह नियम ज़रूरी नहीं: “यह मॉडल” चुनकर तुलना कीजिए।\nतापमान स्कोरों को भाग देता है: कम हो तो सबसे अच्छा मेल जीतता है, अधिक हो तो सब बराबर मिलते हैं। T = 0.37 पर softmax से bank को नोट्स वाले भार .2 और .8 मिलते हैं।"],
  question: ["Raise the number of layers. Where do the words end up?", "परतों की संख्या बढ़ाइए। शब्द अंत में कहाँ पहुँचते हैं?"],
  answer: ["At one common point, unless the temperature is so low that each word attends to itself only: repeated averaging removes the differences. Transformers add each layer's output to its input (a residual connection), which keeps the words apart.",
    "एक ही साझे बिंदु पर, जब तक तापमान इतना कम न हो कि हर शब्द अपने तक रहे: बार-बार माध्य लेने से अंतर मिट जाते हैं। असली मॉडल हर परत को पहले वाले में जोड़ते हैं (रेसिड्युअल जोड़), जिससे शब्द अलग बने रहते हैं।"],
};

const RANGE = { x: [-1, 14], y: [-5, 9] };
const COLLAPSE_DISTANCE = 0.05;
const COLOR_INDICES = { money: 3, bank: 1, river: 2 };

export function open() {
  const container = el("div", { class: "gravity-container" });
  const node = el("section", { class: "gravity", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_gravity"))),
    controls(segments(message("gravity_source"), "gravity_mode", [["toy", message("gravity_toy")], ["model", message("gravity_model")]])), container);
  let plane = null;

  function show() {
    plane?.close();
    plane = state.gravity_mode === "toy" ? toyPlane() : modelPlane();
    setChildren(container, plane.node);
  }
  show();
  return {
    node,
    update(changed) {
      if (changed.has("gravity_mode")) show();
      else plane.update(changed);
    },
    exportData: () => plane.exportData(),
    close: () => plane.close(),
  };
}

/** The toy plane with movable words. */
function toyPlane() {
  const layers = slider(message("gravity_layers"), "gravity_layers", { min: 1, max: 8 });
  const temperature = slider(message("gravity_temperature"), "gravity_temperature", { min: 5, max: 500 }, (value) => formatNumber(value / 100, 2));
  const reset = el("button", { type: "button", on: { click: () => set({ gravity_points: "" }, { replace: true }) } }, message("gravity_reset"));
  const summary = el("p", { class: "live", "aria-live": "polite" });
  const picture = scatterPlot({ label: message("gravity_plane"), points: [], range: RANGE, onMove: (word, point) =>
    set({ gravity_points: formatPoints({ ...parsePoints(state.gravity_points), [word]: point }) }, { replace: true }) });
  const box = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("gravity_plane") }, picture);
  const table = el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": message("gravity_row") });
  const explanation = el("p", { class: "muted" });
  const node = el("div", {},
    controls(segments(message("gravity_sentence"), "gravity_sentence", Object.entries(SENTENCES).map(([key, words]) => [key, words.join(" ")])),
      segments(message("gravity_weights"), "gravity_weights", [["softmax", message("gravity_softmax")], ["fixed", message("gravity_fixed")]])),
    controls(temperature, layers, reset),
    el("div", { class: "gravity-columns" },
      el("figure", { class: "gravity-figure" }, box, el("figcaption", { class: "muted" }, message("gravity_caption"))),
      el("div", { class: "gravity-summary" }, summary, table, explanation)));
  let weightsTable = null;

  function render() {
    const words = SENTENCES[state.gravity_sentence];
    const points = parsePoints(state.gravity_points);
    const vectors = words.map((word) => points[word]);
    const { stages, weights } = applyLayers(vectors, { layers: state.gravity_layers, temperature: state.gravity_temperature / 100, fixed: state.gravity_weights === "fixed" });
    weightsTable = { values: weights[0], rows: words, columns: words };
    picture.update({ points: words.map((word, index) => plotPoint(word, stages.map((stage) => stage[index]))) });
    setChildren(summary, ...summarize(words, stages).flatMap((sentence) => [sentence, " "]));
    setChildren(table, weightTable(weightsTable));
    setChildren(explanation, message(state.gravity_weights === "fixed" ? "gravity_fixed_text" : "gravity_formula"));
    temperature.hidden = state.gravity_weights === "fixed";
    reset.disabled = state.gravity_points === "";
  }

  render();
  return {
    node,
    update(changed) {
      layers.sync();
      temperature.sync();
      if (["gravity_points", "gravity_sentence", "gravity_weights", "gravity_temperature", "gravity_layers"].some((key) => changed.has(key))) render();
    },
    exportData: () => ({ picture, table: weightsTable, trace: null }),
    close() {},
  };
}

/** A plot point for a word and its positions by layer. */
function plotPoint(word, points) {
  const [start, end] = [points[0], points.at(-1)];
  return { id: word, text: word, lang: "en", position: start, trail: points.slice(1), colorIndex: COLOR_INDICES[word], draggable: true,
    label: message("gravity_point", word, formatNumber(start[0], 1), formatNumber(start[1], 1), formatNumber(end[0], 1), formatNumber(end[1], 1)) };
}

/** Summary of how "bank" moved. */
function summarize(words, stages) {
  const bank = words.indexOf("bank");
  const [first, last] = [stages[0], stages.at(-1)];
  const numbers = [...first[bank], ...last[bank]].map((value) => formatNumber(value, 2).replace(/\.?0+$/, ""));
  const sentences = [message("gravity_moves", ...numbers), ...words.flatMap((word, index) => (index === bank ? []
    : [message("gravity_distance", word, formatNumber(distance(first[bank], first[index]), 2), formatNumber(distance(last[bank], first[index]), 2))]))];
  const collapsed = Math.max(...last.map((point) => distance(point, last[0]))) < COLLAPSE_DISTANCE;
  return collapsed ? [...sentences, message("gravity_collapsed", stages.length - 1)] : sentences;
}

function weightTable({ values, rows, columns }) {
  return el("table", { class: "numbers" }, el("caption", { class: "muted" }, message("gravity_row")),
    el("thead", {}, el("tr", {}, el("td"), ...columns.map((word) => el("th", { scope: "col", lang: "en" }, word)))),
    el("tbody", {}, ...values.map((line, row) => el("tr", {}, el("th", { scope: "row", lang: "en" }, rows[row]),
      ...line.map((value) => el("td", {}, formatNumber(value)))))));
}

