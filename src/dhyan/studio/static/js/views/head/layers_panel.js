/** Panel of the layers: the prediction of a Transformer decoder after every layer (logit lens). */

import { post } from "../../api.js";
import { weightColor, textColor } from "../../colors.js";
import { el, setChildren, text } from "../../dom.js";
import { card } from "../../header.js";
import { lessonParts } from "../../lesson_panel.js";
import { message } from "../../messages.js";
import { formatNumber } from "../../numbers.js";
import { state, set } from "../../state.js";
import { showStatus } from "../../status.js";
import { requestBody } from "../../traces.js";

const MOST_CHANGES = 3; // named in the summary

/** The panel; `load` asks for the predictions, `update` follows the state. */
export function layersPanel() {
  const [note, answer, scroll, legend, details] = ["note", "answer", "scroll", "legend", "details"].map((name) => el("div", { class: `layers-${name}` }));
  const content = el("div", { class: "layers-content", hidden: true }, answer, scroll, legend, details);
  const node = el("div", { class: "layers" }, note, content, el("div", { class: "aside" }, ...lessonParts("layers")));
  let lens = null; // inputs, outputs, and for each layer a cell for each position
  let cells = [];
  let column = Infinity; // of the selected cell: a layer, 0 for the embedding
  let stop = new AbortController();

  const language = () => card()?.target_language ?? "hi";
  const last = () => lens.layers.length - 1;
  const layerName = (layer) => (layer === 0 ? message("layers_embedding") : message(layer === last() ? "layers_last" : "layers_layer", layer));
  const percent = (value) => formatNumber(value, 2, { weight: true });

  async function load() {
    stop.abort();
    stop = new AbortController();
    lens = null;
    content.hidden = true;
    setChildren(note, el("p", { class: "muted" }, message(state.text && state.model ? "working" : "empty_view")));
    if (!state.text || !state.model) return null;
    try {
      const response = await post("/api/layers", requestBody(), stop.signal);
      if (!response.layers) return showUnsupported();
      lens = response;
      render();
    } catch (error) {
      if (error.name === "AbortError") return null;
      setChildren(note);
      showStatus(error);
    }
    return null;
  }

  /** The output layer reads more than the last layer, as in a copying decoder. */
  const showUnsupported = () => setChildren(note, el("p", {}, message("layers_copying", state.model)));

  /** Position and layer of the selected cell, clamped to the model. */
  const selection = () => [Math.min(state.target, lens.outputs.length) - 1, Math.min(column, last())];

  function render() {
    setChildren(note);
    content.hidden = false;
    setChildren(answer, el("p", {}, summary()));
    cells = lens.outputs.map((output, position) => lens.layers.map((layer, index) => cell(layer[position], position, index)));
    const head = ["layers_reads", ...lens.layers.keys(), "layers_output"].map((key) =>
      el("th", { scope: "col", role: "columnheader" }, typeof key === "number" ? layerName(key) : message(key)));
    setChildren(scroll, el("table", { class: "layers-grid", role: "grid", "aria-label": message("layers_grid"), on: { keydown: move, click } },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...head)), el("tbody", { role: "rowgroup" }, ...lens.outputs.map((output, position) => el("tr", { role: "row" },
        el("th", { scope: "row", role: "rowheader", lang: language() }, lens.inputs[position]), ...cells[position],
        el("td", { class: "layers-output", role: "gridcell", lang: language() }, output))))));
    setChildren(legend, el("p", { class: "muted" }, message("layers_legend")));
    select();
  }

  function cell(entry, position, layer) {
    const [token, prob] = entry.top_tokens[0];
    const background = weightColor(prob, state.scale);
    return el("td", { class: `layers-cell${entry.top_is_output ? " output" : ""}`, role: "gridcell", tabindex: -1, "data-position": position, "data-layer": layer,
      "aria-label": message("layers_cell", lens.inputs[position], layerName(layer), token, formatNumber(prob)),
      style: { "background-color": background, color: textColor(background) } },
    el("div", {}, el("span", {}, text(token, language()), entry.top_is_output && el("span", { "aria-hidden": "true" }, " ✓")), el("span", { class: "number" }, percent(prob))));
  }

  /** How many tokens already lead one layer before the end, and what the last layer changes. */
  function summary() {
    const before = lens.layers[last() - 1];
    const leading = before.filter((entry) => entry.top_is_output).length;
    const changed = lens.outputs.map((output, position) => [before[position].top_tokens[0][0], lens.layers.at(-1)[position], output])
      .filter(([first, entry, output]) => entry.top_is_output && first !== output);
    const named = changed.slice(0, MOST_CHANGES).map(([first, , output]) => message("layers_change", `“${first}”`, `“${output}”`));
    return [message("layers_first", lens.outputs.length, leading, layerName(last() - 1)),
      changed.length ? message("layers_changed", named.join(", ") + (changed.length > named.length ? " …" : "")) : message("layers_kept")].join(" ");
  }

  function select(focus = false) {
    const [position, layer] = selection();
    for (const other of scroll.querySelectorAll("[aria-selected=true]")) {
      other.setAttribute("aria-selected", "false");
      other.setAttribute("tabindex", "-1");
    }
    const chosen = cells[position][layer];
    chosen.setAttribute("aria-selected", "true");
    chosen.setAttribute("tabindex", "0");
    if (focus) chosen.focus();
    else scroll.scrollLeft = chosen.offsetLeft + chosen.offsetWidth - scroll.clientWidth; // where it does not fit
    renderDetails(position);
  }

  /** The five most probable tokens of one position after every layer. */
  function renderDetails(position) {
    const output = lens.outputs[position];
    const column = (entry, layer) => el("div", {}, el("h4", {}, layerName(layer)), el("ul", { class: "layers-list" }, ...entry.top_tokens.map(([token, prob]) =>
      el("li", { class: token === output ? "output" : "" }, text(token, language()),
        el("span", { class: "layers-bar", "aria-hidden": "true" }, el("span", { style: { width: `${Math.max(prob * 100, 1)}%` } })), el("span", { class: "number" }, formatNumber(prob))))),
    el("p", { class: "muted" }, message("layers_rank", output, entry.rank, formatNumber(entry.prob))));
    setChildren(details, el("h3", {}, message("layers_position", position + 1, lens.inputs[position], output)),
      el("div", { class: "layers-columns" }, ...lens.layers.map((layer, index) => column(layer[position], index))));
  }

  function go(position, layer) {
    column = Math.min(Math.max(layer, 0), last());
    set({ target: Math.min(Math.max(position, 0), lens.outputs.length - 1) + 1 }, { replace: true });
    select(true);
  }

  function move(event) {
    const [position, layer] = selection();
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -layer], End: [0, last()] }[event.key] ?? [];
    if (down === undefined) return;
    event.preventDefault();
    go(position + down, layer + right);
  }

  function click(event) {
    const chosen = event.target.closest(".layers-cell");
    if (chosen) go(Number(chosen.dataset.position), Number(chosen.dataset.layer));
  }

  return {
    node,
    load,
    update(changed) {
      if (!lens) return;
      if (changed.has("scale")) render();
      else if (changed.has("target")) select(scroll.contains(document.activeElement));
    },
    exportData: () => ({ picture: lens && scroll.querySelector("table"), table: lens && { rows: lens.outputs, columns: lens.layers.map((_, layer) => layerName(layer)),
      values: lens.outputs.map((_, position) => lens.layers.map((layer) => layer[position].prob)) } }),
    close: () => stop.abort(),
  };
}
