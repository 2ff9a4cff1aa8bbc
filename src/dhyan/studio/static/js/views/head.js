/** Head view: one attention head of a Transformer in stages, from Q K V to its output, recomputed on the page. */

import { el, setChildren } from "../dom.js";
import { post } from "../api.js";
import { requestBody, fetchTrace, invalidateTrace } from "../traces.js";
import { controls } from "../controls.js";
import { card } from "../header.js";
import { drawHeatmap } from "../heatmap.js";
import { formatNumber } from "../numbers.js";
import { state, set, colorScaleOf } from "../state.js";
import { ROLES, blockAt, blocksOf, sides } from "../trace.js";
import { message } from "../messages.js";
import { showStatus } from "../status.js";
import { agreementBadge } from "../stage.js";
import { modelStages } from "./head/stages.js";
import { recomputeHead, unpackHead } from "./head/recompute.js";

export function open() {
  const chooserBox = el("div");
  const overall = el("div", { class: "agreement" });
  const picture = el("div", { class: "picture" });
  const stages = el("div");
  const node = el("section", { class: "head-view", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("qkv_title"))), chooserBox, overall, picture, stages);
  let stop = new AbortController();
  let trace = null;
  let headResult = null; // role, layer, head, the model's operands and the recomputed values
  let map = null;
  let expanded = false;

  async function load() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    headResult = null;
    if (!state.text || !state.model) return renderEmpty(el("p", { class: "muted" }, message("empty_view")));
    if (!stages.childElementCount) setChildren(stages, el("p", { class: "muted" }, message("qkv_working")));
    showStatus(message("qkv_working"));
    try {
      trace = await fetchTrace({}, signal);
      const selected = selectedHead(trace);
      const response = await post("/api/head", { ...requestBody(), role: selected.role, layer: selected.layer, head: selected.head }, signal);
      const head = unpackHead(response);
      headResult = { ...selected, operands: head, computed: recomputeHead(head, selected.head) };
      render();
      showStatus(message("qkv_done", headResult.head, headResult.layer, trace.model));
    } catch (error) {
      if (error.name === "AbortError") return null;
      renderEmpty();
      showStatus(error);
    }
    return null;
  }

  function renderEmpty(...children) {
    for (const element of [chooserBox, overall, picture]) setChildren(element);
    setChildren(stages, ...children);
  }

  function render() {
    renderChooser();
    const [queryTokens, keyTokens] = labels();
    const { computed, operands: head } = headResult;
    const differences = Object.values(computed.differences);
    const count = [head.queries, head.keys, head.values, head.scores, head.weights, head.context, head.layerOutput]
      .reduce((total, table) => total + table.length * table[0].length, 0);
    setChildren(overall, el("p", {}, message("qkv_overall", queryTokens.length, count.toLocaleString("en"), differences.length), " ", agreementBadge(...differences.reduce((a, b) => (a[0] >= b[0] ? a : b)))));
    map = drawHeatmap({ values: computed.weights, rows: queryTokens, columns: keyTokens, label: message("qkv_map", headResult.head, headResult.layer),
      hidden: head.mask.map((line) => line.map((visible) => !visible)), scale: colorScaleOf(head.mask.length), selected: selectedCell(), maxWidth: picture.clientWidth,
      describe: (row, column, value) => message("attends", queryTokens[row].text, keyTokens[column].text, formatNumber(value)),
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
    setChildren(stages, ...modelStages({ head: headResult.operands, computed: headResult.computed, i, j, queryTokens, keyTokens, number: headResult.head,
      cross: headResult.role === "cross", expanded }));
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
      choice(message("qkv_query"), "target", selectedCell()[0] + 1, queryTokens.map((token, index) => [String(index + 1), `${index + 1} · ${token.text}`]), Number),
      el("button", { type: "button", class: "switch", "aria-pressed": expanded, on: { click: (event) => {
        expanded = !expanded;
        event.currentTarget.setAttribute("aria-pressed", String(expanded));
        renderStages();
      } } }, message("qkv_numbers"))));
  }

  function choice(label, key, value, options, typed) {
    return el("label", { class: "field" }, el("span", {}, label), el("select", { "data-key": key,
      on: { change: (event) => set({ [key]: typed(event.target.value) }, { replace: true }) } },
    ...options.map(([option, words]) => el("option", { value: option, selected: option === String(value) }, words))));
  }

  const reload = () => {
    invalidateTrace();
    load();
  };
  load();
  document.addEventListener("retranslate", reload);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix", "role", "layer", "head"].some((key) => changed.has(key))) {
        const key = document.activeElement?.dataset?.key;
        load().then(() => key && chooserBox.querySelector(`[data-key="${key}"]`)?.focus());
      } else if (headResult && changed.has("scale")) {
        render();
      } else if (headResult && (changed.has("target") || changed.has("source"))) {
        chooserBox.querySelector("[data-key=target]").value = String(selectedCell()[0] + 1);
        map.setFocus(selectedCell(), { focus: false, announce: false });
        renderStages();
      }
    },
    exportData: () => ({ trace, picture: picture.querySelector("svg"), table: headResult && { values: headResult.computed.weights,
      rows: labels()[0].map((token) => token.text), columns: labels()[1].map((token) => token.text) } }),
    close() {
      stop.abort();
      document.removeEventListener("retranslate", reload);
    },
  };
}

/** Role, layer and head of the state, clamped to the model. */
function selectedHead(trace) {
  const role = [state.role, "cross", "encoder_self"].find((role) => role && blocksOf(trace, role).length);
  const block = blockAt(trace, role, state.layer || Infinity);
  return { role, layer: block.layer, head: Math.min(Math.max(Number(state.head) || 1, 1), block.shape[0]) };
}
