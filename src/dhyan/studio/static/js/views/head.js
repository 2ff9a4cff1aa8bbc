/** Head view: one attention head of a Transformer in stages, from Q K V over √d and the mask to its output, recomputed on the page; then the prediction after every layer. */

import { el, setChildren, withSubscripts } from "../dom.js";
import { post } from "../api.js";
import { requestBody, fetchTrace, invalidateTrace } from "../traces.js";
import { controls } from "../controls.js";
import { card } from "../header.js";
import { drawHeatmap } from "../heatmap.js";
import { readableCellWidth } from "../heatmap_layout.js";
import { formatNumber, indexOfLargest } from "../numbers.js";
import { state, set, colorScaleOf, isCellChosen, viewsOf } from "../state.js";
import { ROLES, blockAt, blocksOf, hasHeads, hasRole, sides } from "../trace.js";
import { message } from "../messages.js";
import { showStatus } from "../status.js";
import { agreementBadge } from "../agreement.js";
import { stage } from "../stage.js";
import { modelStages } from "./head/stages.js";
import { layersPanel } from "./head/layers_panel.js";
import { maskPanel } from "./head/mask_panel.js";
import { recomputeHead, unpackHead } from "./head/recompute.js";

const LAST_OF_MASK = 6; // stages before the panel of the mask
const LAYERS_STAGE = 11;

/** @returns {View} */
export function open() {
  const chooserBox = el("div");
  const overall = el("div", { class: "agreement" });
  const picture = el("div", { class: "picture" });
  const stageLinks = el("nav", { class: "stage-links", "aria-label": message("inside_stages") });
  const [firstStages, lastStages] = [el("div"), el("div")];
  const [mask, layers] = [maskPanel(), layersPanel()];
  const maskBox = el("details", { class: "stage-panel", id: "panel-mask", on: { toggle: () => openPanel(maskBox.open) } },
    el("summary", {}, message("inside_leak_test")), mask.node);
  const layersBox = el("div", { id: "panel-layers" }, stage({ number: LAYERS_STAGE, title: message("layers_title"), text: message("inside_layers_text") }, layers.node));
  const stages = el("div", { class: "head-stages", hidden: true }, firstStages, maskBox, lastStages, layersBox);
  const empty = el("div");
  const node = el("section", { class: "head-view", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("qkv_title"))), chooserBox, stageLinks, overall, picture, empty, stages);
  let stop = new AbortController();
  let trace = null;
  let headResult = null; // role, layer, head, the model's operands and the recomputed values
  let map = null;
  let expanded = false;
  let toggling = false; // the reader opens or closes the panel of the mask
  let maskLoaded = ""; // the request whose tests the panel shows

  /** The mask's panel was opened or closed: it is filled when it is first seen. */
  function openPanel(open) {
    toggling = true; // the page stays where it is
    set({ stage: open ? "mask" : state.stage === "mask" ? "" : state.stage }, { replace: true });
    toggling = false;
    if (open) loadMask();
  }

  function loadMask() {
    const request = JSON.stringify(requestBody());
    if (maskLoaded === request) return;
    maskLoaded = request;
    mask.load();
  }

  /** Open the stage of the state, and scroll to it. */
  function showStage() {
    maskBox.open = state.stage === "mask";
    const wanted = { mask: maskBox, layers: layersBox }[state.stage];
    wanted?.scrollIntoView({ block: "start" });
  }

  async function load() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    headResult = null;
    if (!state.text || !state.model) return renderEmpty(el("p", { class: "muted" }, message("empty_view")));
    if (stages.hidden) setChildren(empty, el("p", { class: "muted" }, message("qkv_working")));
    showStatus(message("qkv_working"));
    try {
      trace = await fetchTrace({}, signal);
      if (!hasHeads(trace)) return showOther();
      const selected = selectedHead(trace);
      const response = await post("/api/head", { ...requestBody(), role: selected.role, layer: selected.layer, head: selected.head }, signal);
      const head = unpackHead(response);
      const first = stages.hidden;
      const computed = recomputeHead(head, selected.head);
      if (!isCellChosen()) set({ source: indexOfLargest(computed.weights[0]) + 1 }, { replace: true });
      headResult = { ...selected, operands: head, computed };
      render();
      loadPanels();
      if (first) showStage();
      showStatus(message("qkv_done", headResult.head, headResult.layer, trace.model));
    } catch (error) {
      if (error.name === "AbortError") return null;
      renderEmpty();
      showStatus(error);
    }
    return null;
  }

  function renderEmpty(...children) {
    for (const element of [chooserBox, stageLinks, overall, picture]) setChildren(element);
    stages.hidden = true;
    setChildren(empty, ...children);
  }

  /** A trace without heads is shown by one step of its decoder. */
  function showOther() {
    if (viewsOf("inside").includes("step")) return set({ view: "step" }, { replace: true });
    renderEmpty(el("p", {}, message("inside_no_heads")));
    return showStatus(message("inside_no_heads"));
  }

  let layersLoaded = ""; // the request whose predictions the panel shows
  function loadPanels() {
    layersBox.hidden = !hasRole(trace, "decoder_self");
    const request = JSON.stringify(requestBody());
    if (!layersBox.hidden && layersLoaded !== request) layers.load();
    layersLoaded = request;
    if (maskBox.open) loadMask();
  }

  function render() {
    setChildren(empty);
    stages.hidden = false;
    renderChooser();
    const [queryTokens, keyTokens] = labels();
    const { computed, operands: head } = headResult;
    const differences = Object.values(computed.differences);
    const count = [head.queries, head.keys, head.values, head.scores, head.weights, head.context, head.layerOutput]
      .reduce((total, table) => total + table.length * table[0].length, 0);
    setChildren(overall, el("p", {}, message("qkv_overall", queryTokens.length, count.toLocaleString("en"), differences.length), " ", agreementBadge(...largestDifference(differences))));
    map = drawHeatmap({ values: computed.weights, rows: queryTokens, columns: keyTokens, label: message("qkv_map", headResult.head, headResult.layer),
      hidden: head.mask.map((line) => line.map((visible) => !visible)), scale: colorScaleOf(head.mask.length), selected: selectedCell(), maxWidth: picture.clientWidth,
      minCellWidth: readableCellWidth(keyTokens.length), describe: (row, column, value) => message("attends", queryTokens[row].text, keyTokens[column].text, formatNumber(value)),
      onFocus: (row, column) => set({ target: row + 1, source: column + 1 }, { replace: true }) });
    setChildren(picture, el("h2", {}, message("qkv_map_title")), el("p", { class: "muted" }, message("qkv_map_text")), map);
    renderStages();
  }

  /** Selected query and key positions, from 0, clamped to the sentence. */
  function selectedCell() {
    const [queryTokens, keyTokens] = sides(trace, headResult.role);
    return [Math.min(state.target, queryTokens.tokens.length) - 1, Math.min(state.source, keyTokens.tokens.length) - 1];
  }

  function labels() {
    const { source_language: source = "en", target_language: target = "hi" } = card() ?? {};
    const languages = { encoder_self: [source, source], decoder_self: [target, target], cross: [target, source] }[headResult.role];
    return sides(trace, headResult.role).map((side, which) =>
      side.tokens.map((token) => ({ text: token.text, lang: languages[which] })));
  }

  function renderStages() {
    const [queryTokens, keyTokens] = labels();
    const [i, j] = selectedCell();
    const nodes = modelStages({ head: headResult.operands, computed: headResult.computed, i, j, queryTokens, keyTokens, number: headResult.head,
      reads: headResult.role === "cross" ? trace.decoder_input.tokens[i].text : null, expanded });
    setChildren(firstStages, ...nodes.slice(0, LAST_OF_MASK));
    setChildren(lastStages, ...nodes.slice(LAST_OF_MASK));
    if (!stageLinks.childElementCount) renderLinks();
  }

  /** Links to the stages, in order. */
  function renderLinks() {
    const names = ["q", "K", "V", "q Kᵀ", "÷ √d", message("inside_mask"), "softmax", "Σ α v", message("inside_join"), "W_O", message("inside_layers")];
    setChildren(stageLinks, el("ol", {}, ...names.slice(0, layersBox.hidden ? -1 : undefined).map((name, index) => el("li", {},
      el("button", { type: "button", on: { click: () => goTo(index + 1) } }, el("span", { class: "stage-number", "aria-hidden": "true" }, String(index + 1)),
        el("span", {}, ...withSubscripts(name)))))));
  }

  /** Scroll to a stage; its heading gets the focus. */
  function goTo(number) {
    const heading = /** @type {HTMLElement} */ (stages.querySelector(`#stage-${number}`));
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    heading.closest(".stage")?.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
  }

  function renderChooser() {
    const numbered = (count) => Array.from({ length: count }, (_, index) => [String(index + 1), String(index + 1)]);
    const block = blockAt(trace, headResult.role, headResult.layer);
    const roles = ROLES.filter((role) => blocksOf(trace, role).length);
    const [queryTokens] = labels();
    setChildren(chooserBox, controls(
      choice(message("qkv_role"), "role", headResult.role, roles.map((role) => [role, message(`qkv_${role}`)]), String),
      choice(message("layer"), "layer", headResult.layer, blocksOf(trace, headResult.role).map((block) => [String(block.layer), String(block.layer)]), Number),
      choice(message("head"), "head", headResult.head, numbered(block.shape[0]), String),
      choice(message("qkv_query"), "target", selectedCell()[0] + 1, queryTokens.map((token, index) => [String(index + 1), `${index + 1} · ${token.text}`]), Number, openRow),
      el("button", { type: "button", class: "switch", "aria-pressed": expanded, on: { click: (event) => {
        expanded = !expanded;
        event.currentTarget.setAttribute("aria-pressed", String(expanded));
        renderStages();
      } } }, message("qkv_numbers"))));
  }

  /** Open a row at its strongest cell. @param {number} target counted from 1 */
  const openRow = (target) => set({ target, source: indexOfLargest(headResult.computed.weights[target - 1]) + 1 }, { replace: true });

  function choice(label, key, value, options, typed, choose = (chosen) => set({ [key]: chosen }, { replace: true })) {
    return el("label", { class: "field" }, el("span", {}, label), el("select", { "data-key": key, on: { change: (event) => choose(typed(event.target.value)) } },
    ...options.map(([option, words]) => el("option", { value: option, selected: option === String(value) }, words))));
  }

  const reload = () => {
    [maskLoaded, layersLoaded] = ["", ""];
    invalidateTrace();
    load();
  };
  /** Picture and numbers of the open stage; null if none is open. */
  const stageData = () => ({ mask, layers }[state.stage]?.exportData() ?? null);

  load();
  document.addEventListener("retranslate", reload);
  return {
    node,
    update(changed) {
      if (changed.has("stage") && !stages.hidden && !toggling) showStage();
      if (maskLoaded && maskBox.open) mask.update(changed);
      if (!layersBox.hidden) layers.update(changed);
      if (["text", "model", "beam", "prefix", "role", "layer", "head"].some((key) => changed.has(key))) {
        const key = document.activeElement?.dataset?.key;
        load().then(() => key && chooserBox.querySelector(`[data-key="${key}"]`)?.focus());
      } else if (headResult && changed.has("scale")) {
        render();
      } else if (headResult && (changed.has("target") || changed.has("source"))) {
        const query = chooserBox.querySelector("select[data-key=target]");
        if (query instanceof HTMLSelectElement) query.value = String(selectedCell()[0] + 1);
        map.setFocus(selectedCell(), { focus: false, announce: false });
        renderStages();
      }
    },
    exportData: () => ({ trace, ...(stageData() ?? { picture: picture.querySelector("svg"), table: headResult && { values: headResult.computed.weights,
      rows: labels()[0].map((token) => token.text), columns: labels()[1].map((token) => token.text) } }) }),
    close() {
      stop.abort();
      mask.close();
      layers.close();
      document.removeEventListener("retranslate", reload);
    },
  };
}

/** The largest of several differences, each with its largest magnitude. @param {[number, number][]} differences */
const largestDifference = (differences) => differences.reduce((a, b) => (a[0] >= b[0] ? a : b));

/** Role, layer and head of the state, clamped to the model. @param {Trace} trace */
function selectedHead(trace) {
  const role = [state.role, "cross"].find((role) => role && blocksOf(trace, role).length) ?? "encoder_self";
  const block = blockAt(trace, role, state.layer || Infinity);
  return { role, layer: block.layer, head: Math.min(Math.max(Number(state.head) || 1, 1), block.shape[0]) };
}
