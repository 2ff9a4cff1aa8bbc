/** All heads at once, each as a small picture; one of them large, and the translation without it. */

import "./heads/messages.js";
import { post } from "../api.js";
import { requestBody, fetchTrace, forgetTrace } from "../traces.js";
import { controls, list, segments, toggle } from "../controls.js";
import { el, fill } from "../dom.js";
import { card, models } from "../header.js";
import { draw } from "../heatmap.js";
import { formatNumber, sum, entropy } from "../numbers.js";
import { legend } from "../thumbnails.js";
import { state, set, address } from "../state.js";
import { showStatus } from "../status.js";
import { ROLES, blocksOf, heads, merged, reduced } from "../trace.js";
import { message } from "../messages.js";
import { STATISTICS, headStatistics, formatStatistic } from "./heads/statistics.js";
import { difference, likelihood } from "./heads/ablation.js";
import { definitions, tileGallery } from "./heads/tiles.js";

export const lesson = {
  title: ["Multi-head attention", "कई हेड, कई प्रश्न"],
  text: ["A Transformer attends with several heads in parallel. Each head has its own queries, keys and values, and so its own attention weights.\nSome heads have a recognisable pattern: attend to the previous word, to the same position, or to the first token. Others spread their weight.\nA pattern does not prove a use. Ablate a head and see how the translation changes.",
    "Transformer एक साथ कई बार देखता है। हर हेड के अपने प्रश्न, कुंजियाँ और मान हैं, इसलिए भारों की अपनी सारणी भी।\nकुछ हेडों का काम पहचाना जा सकता है: पिछला शब्द देखना, स्वयं को देखना, पहले टोकन पर टिकना। बाक़ी अपना भार बाँटते हैं।\nआकृति दिखना उपयोग का प्रमाण नहीं है। हेड बंद करके देखिए कि अनुवाद क्या खोता है।"],
  ask: ["Order the heads by importance. Is the head with the lowest entropy the most important one?",
    "हेडों को “कमी” के क्रम में रखिए। क्या सबसे स्पष्ट चित्र वाले, यानी सबसे कम एंट्रॉपी वाले, हेड की कमी ही सबसे अधिक खलती है?"],
  answer: ["Often not. What a head attends to need not be what the output depends on: other heads may carry the same information. The numbers on the tiles show it for this sentence.",
    "प्रायः नहीं। हेड क्या देखता है, उत्तर उसी पर टिका हो यह ज़रूरी नहीं: वही बात दूसरे हेड में भी हो सकती है, और कुछ हेडों के बिना काम बेहतर चलता है। इस वाक्य के लिए चित्रों पर लिखी संख्याएँ निर्णय करती हैं।"],
};

export function open() {
  const note = el("div", { class: "heads-note" });
  const kinds = segments(message("heads_kind"), "role", ROLES.map((role) => [role, message(`heads_${role}`)]));
  const special = toggle(message("specials"), "specials");
  const order = list(message("heads_order"), "order", [["", message("heads_by_layer")], ...STATISTICS.map((key) =>
    [key, key === "missed" ? message("heads_missed_first") : message("heads_largest", message(`heads_${key}`))])]);
  const key = el("p", { class: "heads-key quiet" });
  const large = el("div", { class: "heads-large" });
  const meaning = el("div", { class: "heads-meaning" });
  const tiles = tileGallery((tile) => {
    set({ layer: tile.layer, head: tile.head }, { quiet: true });
    if (large.getBoundingClientRect().top > innerHeight * 0.8) large.scrollIntoView({ block: "start" });
  });
  const both = el("div", { class: "heads-both", hidden: true }, tiles.node, large, meaning);
  const node = el("section", { class: "heads", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_heads"))),
    el("p", { class: "quiet" }, message("heads_intro")),
    controls(kinds, order, special), note, key, both);
  let trace = null;
  let missed = {};
  let drawn = [];
  let seen = null;
  let again = () => {};
  let stop = new AbortController();
  let asking = new AbortController();

  /** The kind that is shown: the one asked for, if the model has it. */
  function kind() {
    const wanted = state.role || "encoder_self";
    return blocksOf(trace, wanted).length ? wanted : "cross";
  }

  const languages = (what) => {
    const { source_language: source = "en", target_language: target = "hi" } = card() ?? {};
    return { encoder_self: [source, source], decoder_self: [target, target], cross: [target, source] }[what];
  };

  async function ask() {
    stop.abort();
    asking.abort();
    stop = new AbortController();
    [trace, missed, drawn, seen] = [null, {}, [], null];
    both.hidden = true;
    fill(note, el("p", { class: "quiet" }, state.text ? message("working") : message("nothing")));
    if (!state.text || !state.model) return;
    try {
      trace = await fetchTrace({}, stop.signal);
      show();
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(note);
      showStatus(error);
    }
  }

  /** Everything anew; how much each head is missed is asked for once and written in as it comes. */
  async function show() {
    if (!trace) return;
    both.hidden = false;
    const what = kind();
    const blocks = blocksOf(trace, what);
    const many = blocks.some((block) => block.shape[0] > 1);
    follow(what);
    fill(note, ...(many ? [] : remark()));
    fill(key, legend(message(state.scale === "sqrt" ? "root" : "linear"), state.scale),
      state.specials === "0" && ` · ${message("heads_partial")}`);
    fill(meaning, definitions(many));
    render(what, blocks);
    showStatus(message("heads_done", trace.model, blocks.length * blocks[0].shape[0]));
    if (!many || missed[what]) return;
    try {
      const found = await post("/api/heads/importance", { ...requestBody(), role: what }, stop.signal);
      missed[what] = found.logprob_changes;
      if (trace && kind() === what) render(what, blocks);
    } catch (error) {
      showStatus(error);
    }
  }

  /** One sentence about models without heads, and where to go from there. */
  function remark() {
    const go = (words, patch) => el("a", { href: address({ ...state, ...patch }), class: "button",
      on: { click: (event) => {
        event.preventDefault();
        set(patch);
      } } }, words);
    const other = models().find((one) => one.decoder === "transformer");
    return [el("p", {}, message("heads_recurrent"), state.role && state.role !== "cross" ? ` ${message("heads_none")}` : ""),
      el("p", { class: "heads-links" }, go(message("heads_step"), { view: "step" }),
        other && go(message("heads_take", other.name), { model: other.name }))];
  }

  function follow(what) {
    for (const one of kinds.querySelectorAll("button")) {
      const own = one.dataset.value === what;
      one.setAttribute("aria-checked", String(own));
      one.setAttribute("tabindex", own ? "0" : "-1");
    }
    special.setAttribute("aria-pressed", String(state.specials === "1"));
    order.querySelector("select").value = state.order;
  }

  function render(what, blocks) {
    const how = { unit: state.unit, specials: state.specials === "1" };
    const made = blocks.flatMap((block, at) => {
      const own = heads(block);
      const names = own.map((_, head) => String(head + 1));
      return [...names, ...(own.length > 1 ? ["avg", "max"] : [])].map((head) => {
        const table = reduced(own, head);
        const whole = merged(trace, what, table, { ...how, specials: true });
        const part = how.specials ? whole : ordinary(whole);
        const summary = !Number(head);
        return { layer: block.layer, head, summary, shown: part, values: part.values, hidden: unseen(what, part),
          name: summary ? message(`heads_${head}_short`, block.layer)
            : own.length > 1 ? message("heads_head", block.layer, head) : message("heads_single"),
          short: !summary && own.length > 1 && message("heads_number", head),
          title: summary ? message(`heads_${head}`, block.layer) : null,
          badges: head === "max" ? {}
            : headStatistics(whole.values, summary ? null : missed[what]?.[at]?.[Number(head) - 1] ?? null) };
      });
    });
    drawn = made.filter((one) => one.values[0]?.length);
    tiles.show(drawn, { order: state.order, scale: state.scale });
    pick();
  }

  /** The tile that the state names, or the nearest there is. */
  function pick() {
    const most = Math.max(...drawn.map((one) => Number(one.head) || 1));
    const head = Number(state.head) ? String(Math.min(Number(state.head), most)) : state.head || "1";
    const layer = Math.min(state.layer || 1, drawn.at(-1).layer);
    Object.assign(node.dataset, { layer: `${layer} ${drawn.at(-1).layer}`, head: `${Number(head) || 0} ${most}` }); // for keys
    enlarge(kind(), drawn.find((one) => one.layer === layer && one.head === head) ?? drawn[0]);
  }

  function enlarge(what, tile) {
    tiles.mark(tile.layer, tile.head);
    seen = tile.shown;
    const [asks, given] = languages(what);
    const title = tile.title ?? tile.name;
    const live = el("p", { class: "live", "aria-live": "polite" });
    const off = el("div", {});
    again = () => switchable(what, tile, off);
    const picture = el("div", { class: "picture" });
    fill(large, el("h2", { class: "heads-title" }, title),
      el("p", { class: "heads-chips" }, ...STATISTICS.filter((one) => Number.isFinite(tile.badges[one])).map((one) =>
        el("span", {}, `${message(`heads_${one}`)} `, el("b", { class: "number" }, formatStatistic(one, tile.badges[one])), " "))),
      picture, live, off);
    const spoken = (row, column) => message("attends", seen.rows[row].text, seen.columns[column].text,
      tile.hidden?.[row][column] ? "−∞" : formatNumber(seen.values[row][column]));
    const whole = tile.head !== "max" && state.specials === "1";
    const told = (row, column) => fill(live, [spoken(row, column),
      tile.head === "max" ? message("heads_no_sum") : message("sum", formatNumber(sum(seen.values[row]))),
      ...(whole ? [message("entropy", formatNumber(entropy(seen.values[row]), 2))] : [])].join(" · "));
    const at = [Math.min(state.target, seen.rows.length) - 1, Math.min(state.source, seen.columns.length) - 1];
    fill(picture, draw({ values: seen.values, hidden: tile.hidden, scale: state.scale, at,
      rows: seen.rows.map((one) => ({ text: one.text, lang: asks })),
      columns: seen.columns.map((one) => ({ text: one.text, lang: given })),
      label: message("heads_map", title), numbers: state.numbers === "1", widest: large.clientWidth,
      says: spoken,
      focus: (row, column) => {
        set({ target: row + 1, source: column + 1 }, { quiet: true });
        told(row, column);
      },
      hover: (row, column) => row !== null && column !== null && told(row, column),
      open: (row, column) => set({ view: card()?.score === "heads" ? "qkv" : "step", target: row + 1, source: column + 1 }) }));
    told(...at);
    again();
  }

  /** The button that switches the head off, and what comes of it. */
  async function switchable(what, tile, place) {
    asking.abort();
    asking = new AbortController();
    if (tile.summary) return void fill(place, el("p", { class: "quiet" }, message("heads_summary_off")));
    if (blocksOf(trace, what)[0].shape[0] === 1) return;
    const off = state.ablated === "1";
    const found = el("div", { class: "heads-answer" });
    const button = el("button", { type: "button", class: off ? "" : "main", id: "heads-off",
      on: { click: () => set({ ablated: off ? "0" : "1" }, { quiet: true }) } }, message(off ? "heads_on" : "heads_off"));
    const focused = document.activeElement?.id === "heads-off";
    fill(place, el("div", { class: "card heads-off" }, el("h3", {}, message("heads_without")),
      el("p", { class: "quiet" }, message("heads_switch")), button, found),
    el("p", {}, el("a", { href: address({ ...state, view: "qkv", role: state.role || "encoder_self", layer: tile.layer, head: tile.head }) },
      message("heads_qkv"))));
    if (focused) button.focus();
    if (!off) return;
    fill(found, el("p", { class: "quiet" }, message("working")));
    try {
      const answer = await post("/api/heads/ablation", { ...requestBody(), role: what, layer: tile.layer,
        head: Number(tile.head) }, asking.signal);
      fill(found, difference(answer, trace, languages("decoder_self")[0]));
      showStatus(likelihood(answer));
    } catch (error) {
      showStatus(error);
    }
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
      if (["text", "model", "beam", "prefix"].some((one) => changed.has(one))) ask();
      else if (["role", "unit", "scale", "specials", "order"].some((one) => changed.has(one))) show();
      else if (!drawn.length) return;
      else if (["layer", "head", "numbers"].some((one) => changed.has(one))) pick();
      else if (changed.has("ablated")) again();
    },
    taken: () => ({ trace, picture: large.querySelector("svg"), table: seen && { values: seen.values,
      rows: seen.rows.map((one) => one.text), columns: seen.columns.map((one) => one.text) } }),
    close() {
      stop.abort();
      asking.abort();
      document.removeEventListener("again", anew);
    },
  };
}

/** A table without its special tokens. */
function ordinary({ values, rows, columns }) {
  const kept = (_, at) => !columns[at].special;
  return { values: values.filter((_, at) => !rows[at].special).map((line) => line.filter(kept)),
    rows: rows.filter((one) => !one.special), columns: columns.filter((one) => !one.special) };
}

/** Which cells of the translation's look at itself lie in the future. */
function unseen(what, { rows, columns }) {
  if (what !== "decoder_self") return undefined;
  return rows.map((row) => columns.map((column) => column.tokens[0] > row.tokens.at(-1)));
}
