/** One head of a trained Transformer: chosen here, fetched with all it multiplies, done again. */

import { el, fill } from "../../dom.js";
import { post } from "../../api.js";
import { requestBody, fetchTrace, forgetTrace } from "../../traces.js";
import { controls } from "../../controls.js";
import { card, models } from "../../header.js";
import { draw } from "../../heatmap.js";
import { formatNumber } from "../../numbers.js";
import { state, set, address } from "../../state.js";
import { ROLES, blockAt, blocksOf, sides } from "../../trace.js";
import { message } from "../../messages.js";
import { showStatus } from "../../status.js";
import { agreed } from "./stage.js";
import { modelStages } from "./model_stages.js";
import { recomputeHead, unpackHead } from "./recompute.js";
import { presets } from "./toy.js";

const attends = (one) => one?.encoder === "transformer" || one?.decoder === "transformer";

/** The head of the state. */
export function openModel() {
  const chosen = el("div");
  const overall = el("div", { class: "overall" });
  const picture = el("div", { class: "picture" });
  const stages = el("div");
  const node = el("div", { class: "trained" }, chosen, overall, picture, stages);
  let stop = new AbortController();
  let trace = null;
  let found = null; // what is chosen, and its head as the model and as the page have it
  let map = null;
  let many = false;

  async function ask() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    found = null;
    if (!attends(card())) return instead();
    if (!state.text) return empty(el("p", {}, message("nothing")), toys());
    if (!stages.childElementCount) fill(stages, el("p", { class: "quiet" }, message("qkv_working")));
    showStatus(message("qkv_working"));
    try {
      trace = await fetchTrace({}, signal);
      const at = places(trace);
      const sent = await post("/api/head", { ...requestBody(), role: at.role, layer: at.layer, head: at.head }, signal);
      const head = unpackHead(sent);
      found = { ...at, operands: head, again: recomputeHead(head, at.head) };
      render();
      showStatus(message("qkv_done", found.head, found.layer, trace.model));
    } catch (error) {
      if (error.name === "AbortError") return null;
      empty(toys());
      showStatus(error);
    }
    return null;
  }

  /** For a model without heads: where to go instead. */
  function instead() {
    const other = models().find(attends);
    empty(el("div", { class: "card" },
      el("p", {}, state.model ? message("qkv_recurrent", state.model) : message("qkv_no_model")),
      el("p", { class: "ways" }, card() && el("a", { class: "button", href: address({ ...state, view: "step" }), on: { click: (event) => {
        event.preventDefault();
        set({ view: "step" });
      } } }, message("qkv_to_step")),
      other && el("button", { type: "button", on: { click: () => set({ model: other.name }) } }, message("qkv_switch", other.name)))), toys());
  }

  const toys = () => el("div", { class: "card" }, el("p", {}, message("qkv_toys_work")), presets(""));

  function empty(...children) {
    for (const one of [chosen, overall, picture]) fill(one);
    fill(stages, ...children);
  }

  function render() {
    chooser();
    const [asking, seen] = labels();
    const { again, operands: head } = found;
    const gaps = Object.values(again.gaps);
    const count = [head.queries, head.keys, head.values, head.scores, head.weights, head.context, head.layerOutput]
      .reduce((total, table) => total + table.length * table[0].length, 0);
    fill(overall, el("p", {}, message("qkv_overall", asking.length, count.toLocaleString("en"), gaps.length), " ", agreed(...gaps.reduce((a, b) => (a[0] >= b[0] ? a : b)))));
    map = draw({ values: again.weights, rows: asking, columns: seen, label: message("qkv_map", found.head, found.layer),
      hidden: head.mask.map((line) => line.map((one) => !one)), scale: state.scale, at: at(), widest: picture.clientWidth,
      says: (row, column, value) => message("attends", asking[row].text, seen[column].text, formatNumber(value)),
      focus: (row, column) => set({ target: row + 1, source: column + 1 }, { quiet: true }) });
    fill(picture, el("h2", {}, message("qkv_map_title")), el("p", { class: "quiet" }, message("qkv_map_text")), map);
    steps();
  }

  /** The word that asks and the one looked at, from 0 and within the sentence. */
  function at() {
    const [asking, seen] = sides(trace, found.role);
    return [Math.min(state.target, asking.tokens.length) - 1, Math.min(state.source, seen.tokens.length) - 1];
  }

  function labels() {
    const { source_language: source = "en", target_language: target = "hi" } = card() ?? {};
    const tongues = { encoder_self: [source, source], decoder_self: [target, target], cross: [target, source] }[found.role];
    return sides(trace, found.role).map((side, which) =>
      side.tokens.map((token) => ({ text: token.text, lang: tongues[which] })));
  }

  function steps() {
    const [asking, seen] = labels();
    const [i, j] = at();
    fill(stages, ...modelStages({ head: found.operands, again: found.again, i, j, asking, seen, number: found.head,
      cross: found.role === "cross", many }));
  }

  function chooser() {
    const numbered = (count) => Array.from({ length: count }, (_, one) => [String(one + 1), String(one + 1)]);
    const block = blockAt(trace, found.role, found.layer);
    const roles = ROLES.filter((role) => blocksOf(trace, role).length);
    const [asking] = labels();
    fill(chosen, controls(
      choice(message("qkv_kind"), "role", found.role, roles.map((role) => [role, message(`qkv_${role}`)]), String),
      choice(message("layer"), "layer", found.layer, blocksOf(trace, found.role).map((one) => [String(one.layer), String(one.layer)]), Number),
      choice(message("head"), "head", found.head, numbered(block.shape[0]), String),
      choice(message("qkv_asks"), "target", at()[0] + 1, asking.map((one, place) => [String(place + 1), `${place + 1} · ${one.text}`]), Number),
      el("button", { type: "button", class: "switch", "aria-pressed": many, on: { click: (event) => {
        many = !many;
        event.currentTarget.setAttribute("aria-pressed", String(many));
        steps();
      } } }, message("qkv_numbers"))));
  }

  function choice(label, key, value, options, typed) {
    return el("label", { class: "field" }, el("span", {}, label), el("select", { "data-key": key,
      on: { change: (event) => set({ [key]: typed(event.target.value) }, { quiet: true }) } },
    ...options.map(([one, words]) => el("option", { value: one, selected: one === String(value) }, words))));
  }

  const again = () => {
    forgetTrace();
    ask();
  };
  ask();
  document.addEventListener("again", again);
  return {
    node,
    update(changed) {
      if (["text", "model", "beam", "prefix", "role", "layer", "head"].some((key) => changed.has(key))) {
        const key = document.activeElement?.dataset?.key;
        ask().then(() => key && chosen.querySelector(`[data-key="${key}"]`)?.focus());
      } else if (found && changed.has("scale")) {
        render();
      } else if (found && (changed.has("target") || changed.has("source"))) {
        chosen.querySelector("[data-key=target]").value = String(at()[0] + 1);
        map.move(at(), { focus: false, tell: false });
        steps();
      }
    },
    taken: () => ({ trace, picture: picture.querySelector("svg"), table: found && { values: found.again.weights,
      rows: labels()[0].map((one) => one.text), columns: labels()[1].map((one) => one.text) } }),
    close() {
      stop.abort();
      document.removeEventListener("again", again);
    },
  };
}

/** The attention, layer and head of the state as this model has them. */
function places(trace) {
  const role = [state.role, "cross", "encoder_self"].find((one) => one && blocksOf(trace, one).length);
  const block = blockAt(trace, role, state.layer || Infinity);
  return { role, layer: block.layer, head: Math.min(Math.max(Number(state.head) || 1, 1), block.shape[0]) };
}
