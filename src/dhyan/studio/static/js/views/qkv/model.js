/** One head of a trained Transformer: chosen here, fetched with all it multiplies, done again. */

import { el, fill } from "../../dom.js";
import { post } from "../../api.js";
import { question, traceOf, forget } from "../../asked.js";
import { controls } from "../../controls.js";
import { card, models } from "../../header.js";
import { draw } from "../../heat.js";
import { said } from "../../numbers.js";
import { state, set, address } from "../../state.js";
import { ROLES, blockAt, blocksOf, sides } from "../../trace.js";
import { say } from "../../words.js";
import { tellOf } from "../../tell.js";
import { agreed } from "./stage.js";
import { modelStages } from "./model_stages.js";
import { redone, unpacked } from "./redo.js";
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
    if (!state.q) return empty(el("p", {}, say("nothing")), toys());
    if (!stages.childElementCount) fill(stages, el("p", { class: "quiet" }, say("qkv_working")));
    tellOf(say("qkv_working"));
    try {
      trace = await traceOf({}, signal);
      const at = places(trace);
      const sent = await post("/api/head", { ...question(), role: ROLES[at.k], layer: at.l, head: at.h }, signal);
      const head = unpacked(sent);
      found = { ...at, head, again: redone(head, at.h) };
      render();
      tellOf(say("qkv_done", found.h, found.l, trace.model));
    } catch (error) {
      if (error.name === "AbortError") return null;
      empty(toys());
      tellOf(error);
    }
    return null;
  }

  /** For a model without heads: where to go instead. */
  function instead() {
    const other = models().find(attends);
    empty(el("div", { class: "card" },
      el("p", {}, state.m ? say("qkv_recurrent", state.m) : say("qkv_no_model")),
      el("p", { class: "ways" }, card() && el("a", { class: "button", href: address({ ...state, view: "step" }), on: { click: (event) => {
        event.preventDefault();
        set({ view: "step" });
      } } }, say("qkv_to_step")),
      other && el("button", { type: "button", on: { click: () => set({ m: other.name }) } }, say("qkv_switch", other.name)))), toys());
  }

  const toys = () => el("div", { class: "card" }, el("p", {}, say("qkv_toys_work")), presets(""));

  function empty(...children) {
    for (const one of [chosen, overall, picture]) fill(one);
    fill(stages, ...children);
  }

  function render() {
    chooser();
    const [asking, seen] = labels();
    const { again, head } = found;
    const gaps = Object.values(again.gaps);
    const count = [head.queries, head.keys, head.values, head.scores, head.weights, head.context, head.layerOutput]
      .reduce((total, table) => total + table.length * table[0].length, 0);
    fill(overall, el("p", {}, say("qkv_overall", asking.length, count.toLocaleString("en"), gaps.length), " ", agreed(...gaps.reduce((a, b) => (a[0] >= b[0] ? a : b)))));
    map = draw({ values: again.weights, rows: asking, columns: seen, label: say("qkv_map", found.h, found.l),
      hidden: head.mask.map((line) => line.map((one) => !one)), scale: state.sc, at: at(), widest: picture.clientWidth,
      says: (row, column, value) => say("attends", asking[row].text, seen[column].text, said(value)),
      focus: (row, column) => set({ i: row + 1, j: column + 1 }, { quiet: true }) });
    fill(picture, el("h2", {}, say("qkv_map_title")), el("p", { class: "quiet" }, say("qkv_map_text")), map);
    steps();
  }

  /** The word that asks and the one looked at, from 0 and within the sentence. */
  function at() {
    const [asking, seen] = sides(trace, ROLES[found.k]);
    return [Math.min(state.i, asking.tokens.length) - 1, Math.min(state.j, seen.tokens.length) - 1];
  }

  function labels() {
    const { source_language: source = "en", target_language: target = "hi" } = card() ?? {};
    const tongues = { enc: [source, source], dec: [target, target], cross: [target, source] }[found.k];
    return sides(trace, ROLES[found.k]).map((side, which) =>
      side.tokens.map((token) => ({ text: token.text, lang: tongues[which] })));
  }

  function steps() {
    const [asking, seen] = labels();
    const [i, j] = at();
    fill(stages, ...modelStages({ head: found.head, again: found.again, i, j, asking, seen, number: found.h,
      cross: found.k === "cross", many }));
  }

  function chooser() {
    const numbered = (count) => Array.from({ length: count }, (_, one) => [String(one + 1), String(one + 1)]);
    const block = blockAt(trace, ROLES[found.k], found.l);
    const kinds = Object.keys(ROLES).filter((kind) => blocksOf(trace, ROLES[kind]).length);
    const [asking] = labels();
    fill(chosen, controls(
      choice(say("qkv_kind"), "k", found.k, kinds.map((kind) => [kind, say(`qkv_${kind}`)]), String),
      choice(say("layer"), "l", found.l, blocksOf(trace, ROLES[found.k]).map((one) => [String(one.layer), String(one.layer)]), Number),
      choice(say("head"), "h", found.h, numbered(block.shape[0]), String),
      choice(say("qkv_asks"), "i", at()[0] + 1, asking.map((one, place) => [String(place + 1), `${place + 1} · ${one.text}`]), Number),
      el("button", { type: "button", class: "switch", "aria-pressed": many, on: { click: (event) => {
        many = !many;
        event.currentTarget.setAttribute("aria-pressed", String(many));
        steps();
      } } }, say("qkv_numbers"))));
  }

  function choice(label, key, value, options, typed) {
    return el("label", { class: "field" }, el("span", {}, label), el("select", { "data-key": key,
      on: { change: (event) => set({ [key]: typed(event.target.value) }, { quiet: true }) } },
    ...options.map(([one, words]) => el("option", { value: one, selected: one === String(value) }, words))));
  }

  const again = () => {
    forget();
    ask();
  };
  ask();
  document.addEventListener("again", again);
  return {
    node,
    update(changed) {
      if (["q", "m", "b", "f", "k", "l", "h"].some((key) => changed.has(key))) {
        const key = document.activeElement?.dataset?.key;
        ask().then(() => key && chosen.querySelector(`[data-key="${key}"]`)?.focus());
      } else if (found && changed.has("sc")) {
        render();
      } else if (found && (changed.has("i") || changed.has("j"))) {
        chosen.querySelector("[data-key=i]").value = String(at()[0] + 1);
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
  const k = [state.k, "cross", "enc"].find((kind) => kind && blocksOf(trace, ROLES[kind]).length);
  const block = blockAt(trace, ROLES[k], state.l || Infinity);
  return { k, l: block.layer, h: Math.min(Math.max(Number(state.h) || 1, 1), block.shape[0]) };
}
