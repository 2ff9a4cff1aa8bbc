/** PCA of a trained encoder: embeddings and the states after each layer. */

import { el, setChildren, withSubscripts } from "../../dom.js";
import { post } from "../../api.js";
import { controls, slider } from "../../controls.js";
import { scatterPlot } from "../../scatter_plot.js";
import { formatNumber } from "../../numbers.js";
import { state, set } from "../../state.js";
import { hasMessage, message } from "../../messages.js";
import { showStatus } from "../../status.js";
import { card } from "../../header.js";
import { isWord } from "../../trace.js";
import { distance } from "./toy.js";

const DEFAULT_SENTENCE = "The bank of the river is far.";

export function modelPlane() {
  const layers = slider(message("gravity_model_layers"), "gravity_layers", { min: 1, max: 8 });
  const layerControls = controls(layers);
  const container = el("div", {});
  const node = el("div", {}, layerControls, container);
  let response = null;
  let pictures = [];
  let pair = []; // the compared words
  let stop = new AbortController();

  async function load() {
    stop.abort();
    stop = new AbortController();
    response = null;
    layerControls.hidden = true;
    setChildren(container, el("p", { class: "muted" }, message("gravity_working")));
    try {
      response = await post("/api/gravity", { text: state.text || DEFAULT_SENTENCE, model: state.model }, stop.signal);
      pair = defaultPair(response.words);
      render();
    } catch (error) {
      if (error.name === "AbortError") return;
      setChildren(container, el("p", {}, message(hasMessage(error.message) ? error.message : "gravity_unfit")));
      showStatus(error);
    }
  }

  function render() {
    if (!response) return;
    const shared = response.axes === "shared";
    layerControls.hidden = !shared;
    if (shared) {
      layers.limit(response.stages.length - 1);
      set({ gravity_layers: Math.min(state.gravity_layers, response.stages.length - 1) }, { replace: true });
      layers.sync();
    }
    setChildren(container, ...(shared ? sharedPlane() : separatePlanes()));
  }

  /** One plane with shared axes for all layers. */
  function sharedPlane() {
    const last = Math.min(state.gravity_layers, response.stages.length - 1);
    const [first, end] = [response.stages[0], response.stages[last]];
    const points = response.words.map((word, index) => ({ id: String(index), text: word, lang: card()?.source_language,
      position: first.positions[index], trail: response.stages.slice(1, last + 1).map((stage) => stage.positions[index]), colorIndex: colorIndex(word),
      label: message("gravity_word", word, ...numbers(first.positions[index]), last, ...numbers(end.positions[index])) }));
    const label = message("gravity_map", state.text || DEFAULT_SENTENCE, last);
    pictures = [scatterPlot({ label, points, axes: ["PC 1", "PC 2"] }, innerWidth < 700 ? undefined : { width: 760, height: 500 })];
    const sorted = response.words.map((word, index) => [word, response.distances[index]]).sort((a, b) => b[1] - a[1]);
    const furthest = last === response.stages.length - 1
      && message("gravity_furthest", sorted[0][0], formatNumber(sorted[0][1], 1), sorted.at(-1)[0], formatNumber(sorted.at(-1)[1], 1));
    return [el("p", {}, ...withSubscripts(message("gravity_not_toy"))), pairSentence(last), figure(pictures[0], label, message("gravity_projection", response.width, percent(first), percent(end), last)),
      furthest && el("p", {}, furthest)];
  }

  /** How the cosine of two words changes; the words can be chosen. */
  function pairSentence(last) {
    const { words, similarities, stages, width } = response;
    if (!pair.every((index) => index < words.length)) pair = defaultPair(words);
    const sentence = el("span", { "aria-live": "polite" });
    const show = () => {
      const [[first, second], before, after] = [pair, similarities[0][pair[0]][pair[1]], similarities[last][pair[0]][pair[1]]];
      const apart = [0, last].map((at) => formatNumber(distance(stages[at].positions[first], stages[at].positions[second]), 1));
      setChildren(sentence, message(after > before ? "gravity_closer" : "gravity_farther", words[first], words[second], formatNumber(before, 2), formatNumber(after, 2), last), " ",
        message("gravity_apart", ...apart));
    };
    const choice = (side) => el("select", { "aria-label": `${message("gravity_pair")} ${side + 1}`, lang: card()?.source_language, on: { change: (event) => {
      pair[side] = Number(event.target.value);
      show();
    } } }, ...words.map((word, index) => el("option", { value: index, selected: index === pair[side] }, word)));
    show();
    return el("p", { class: "gravity-pair" }, `${message("gravity_compared", width)}: `, choice(0), " ", choice(1), " ", sentence);
  }

  /** Separate planes of embeddings and states. */
  function separatePlanes() {
    const titles = [message("gravity_embeddings"), message("gravity_states")];
    pictures = response.stages.map((stage, number) => scatterPlot({ label: titles[number], axes: ["PC 1", "PC 2"],
      points: response.words.map((word, index) => ({ id: String(index), text: word, lang: card()?.source_language, position: stage.positions[index],
        colorIndex: colorIndex(word), label: message("gravity_position", word, ...numbers(stage.positions[index])) })) }, innerWidth < 700 ? undefined : { width: 420, height: 360 }));
    return [el("p", {}, message("gravity_recurrent")), el("div", { class: "gravity-planes" }, ...response.stages.map((stage, number) =>
      el("div", {}, el("h2", {}, titles[number]), figure(pictures[number], titles[number],
        message("gravity_share", ...stage.explained_variance.map((share) => formatNumber(100 * share, 0)))))))];
  }

  /** Equal words have the same colour. */
  const colorIndex = (word) => (response.words.indexOf(word) % 6) + 1;

  load();
  return {
    node,
    update(changed) {
      if (changed.has("text") || changed.has("model")) load();
      else if (changed.has("gravity_layers")) render();
    },
    exportData: () => ({ picture: pictures.at(-1) ?? null, trace: null, table: response && { columns: ["PC 1", "PC 2"], rows: response.words,
      values: response.stages[response.axes === "shared" ? Math.min(state.gravity_layers, response.stages.length - 1) : 1].positions } }),
    close: () => stop.abort(),
  };
}

/** "bank" and the word of the notes beside it, or the first and the last word. */
function defaultPair(words) {
  const [bank, other] = [words.indexOf("bank"), words.findIndex((word) => ["river", "money", "loan", "boat"].includes(word))];
  const spoken = [...words.keys()].filter((index) => isWord(words[index]));
  return bank >= 0 && other >= 0 ? [bank, other] : [spoken[0] ?? 0, spoken[spoken.length - 1] ?? 0];
}

const numbers = (position) => position.map((value) => formatNumber(value, 1));
const percent = (stage) => formatNumber(100 * stage.explained_variance.reduce((a, b) => a + b, 0), 0);
const figure = (picture, label, caption) => el("figure", { class: "gravity-figure" },
  el("div", { class: "picture", tabindex: 0, role: "region", "aria-label": label }, picture),
  el("figcaption", { class: "muted" }, caption));
