/** Heads view: all heads of all layers and roles at a glance, one enlarged, its ablation, and the statistics of a role. */

import { post } from "../api.js";
import { requestBody, fetchTrace, invalidateTrace } from "../traces.js";
import { controls, list, segments } from "../controls.js";
import { el, setChildren } from "../dom.js";
import { card, models } from "../header.js";
import { drawHeatmap } from "../heatmap.js";
import { readableCellWidth } from "../heatmap_layout.js";
import { formatNumber, indexOfLargest, sum, entropy } from "../numbers.js";
import { legend } from "../thumbnails.js";
import { stateLink } from "../links.js";
import { state, set, colorScaleOf, isCellChosen, showsSpecials, viewsOf } from "../state.js";
import { showStatus } from "../status.js";
import { ROLES, blocksOf, hasHeads, hasRole, heads, mergeUnits, selectHead } from "../trace.js";
import { message } from "../messages.js";
import { viewSettings } from "../view_settings.js";
import { STATISTICS, headStatistics, formatStatistic } from "./heads/statistics.js";
import { difference, likelihood } from "./heads/ablation.js";
import { headGrid } from "./heads/head_grid.js";
import { definitions, tileGallery } from "./heads/tiles.js";

/** @returns {View} */
export function open() {
  const note = el("div", { class: "heads-note" });
  let roleControl = null; // of the roles that the trace holds
  const settings = viewSettings({ numbers: false });
  const order = list(message("heads_order"), "order", [["", message("heads_by_layer")], ...STATISTICS.map((key) =>
    [key, key === "importance" ? message("heads_importance_first") : message("heads_largest", message(`heads_${key}`))])]);
  const legendLine = el("p", { class: "heads-legend muted" });
  const enlarged = el("div", { class: "heads-enlarged" });
  const chips = el("p", { class: "heads-chips" });
  const definitionBox = el("div", { class: "heads-definitions" });
  const gallery = tileGallery((tile) => choose({ layer: tile.layer, head: tile.head }));
  const grid = headGrid((role, layer, head) => choose({ role, layer, head }));
  const intro = el("p", { class: "muted" }, message("heads_intro"));
  const glanceText = el("p", { class: "muted" }, message("heads_glance_text"));
  const glance = el("div", { class: "heads-glance" }, legendLine, grid.node, glanceText);
  const statisticsControls = controls();
  const statisticsBox = el("div", { class: "heads-statistics-box" }, el("h2", {}, message("heads_statistics_title")), statisticsControls, gallery.node, definitionBox);
  const content = el("div", { class: "heads-content", hidden: true }, el("div", { class: "heads-intro" }, intro,
    controls(settings.button, settings.panel)), glance, enlarged, statisticsBox);
  const node = el("section", { class: "heads", "aria-labelledby": "view-title" },
    el("header", {}, el("h1", { id: "view-title" }, message("view_heads"))),
    note, content);
  let trace = null;
  let importance = {};
  let tiles = []; // of the shown role
  let measuring = false; // the importance of the heads is asked for
  let selectedView = null;
  let updateAblation = () => {};
  let stop = new AbortController();
  let ablationRequest = new AbortController();

  function choose(patch) {
    set(patch, { replace: true });
    const { top, bottom } = enlarged.getBoundingClientRect();
    if (top > innerHeight * 0.8 || bottom < innerHeight * 0.2) enlarged.scrollIntoView({ block: "start" });
  }

  /** The colour scale of all tiles, by the longer side of the sentence pair. */
  const tileScale = () => colorScaleOf(Math.max(trace.source.words.length, trace.target.words.length));

  /** The selected role, if the model has it, else cross-attention. */
  function shownRole() {
    const role = state.role || "encoder_self";
    return hasRole(trace, role) ? role : "cross";
  }

  const languages = (role) => {
    const { source_language: source = "en", target_language: target = "hi" } = card() ?? {};
    return { encoder_self: [source, source], decoder_self: [target, target], cross: [target, source] }[role];
  };

  async function load() {
    stop.abort();
    ablationRequest.abort();
    stop = new AbortController();
    [trace, importance, tiles, selectedView, measuring] = [null, {}, [], null, false];
    content.hidden = true;
    setChildren(note, el("p", { class: "muted" }, state.text ? message("working") : message("empty_view")));
    if (!state.text || !state.model) return;
    try {
      trace = await fetchTrace({}, stop.signal);
      show();
    } catch (error) {
      if (error.name === "AbortError") return;
      setChildren(note);
      showStatus(error);
    }
  }

  /** Render all heads; their importance is measured once and added when it arrives. */
  function show() {
    if (!trace) return null;
    const role = shownRole();
    const blocks = blocksOf(trace, role);
    if (!blocks.length) return showNoAttention();
    content.hidden = false;
    const many = hasHeads(trace);
    syncControls(role);
    intro.hidden = glanceText.hidden = !many;
    setChildren(note, ...(many ? [] : noHeadsNotice()));
    setChildren(legendLine, legend(message(tileScale() === "sqrt" ? "square_root" : "linear"), tileScale()),
      !showsSpecials() && ` · ${message("heads_partial")}`);
    setChildren(definitionBox, definitions(many));
    render();
    showStatus(message("heads_done", trace.model, shownRoles().reduce((total, own) => total + headsOf(own), 0)));
    return many && measure(stop.signal);
  }

  const shownRoles = () => ROLES.filter((role) => hasRole(trace, role));
  const headsOf = (role) => blocksOf(trace, role).reduce((total, block) => total + block.shape[0], 0);

  /** Ask for the importance of every head, that of the shown role first. */
  async function measure(signal) {
    if (measuring) return;
    measuring = true;
    try {
      for (const role of [shownRole(), ...shownRoles()]) {
        if (importance[role] || blocksOf(trace, role)[0].shape[0] === 1) continue;
        const response = await post("/api/heads/importance", { ...requestBody(), role }, signal);
        importance[role] = response.logprob_changes;
        renderTiles();
      }
    } catch (error) {
      if (error.name !== "AbortError") showStatus(error);
    }
  }

  /** Notice for a model without any attention. */
  function showNoAttention() {
    content.hidden = true;
    setChildren(note, el("p", {}, message("no_attention")), el("p", { class: "heads-links" }, transformerLink()));
    showStatus(message("no_attention"));
  }

  /** Notice for models without heads, with links. */
  function noHeadsNotice() {
    return [el("p", {}, message("heads_recurrent"), state.role && state.role !== "cross" ? ` ${message("heads_no_role")}` : ""),
      el("p", { class: "heads-links" }, link(message("heads_step"), { view: "step" }), transformerLink())];
  }

  function transformerLink() {
    const other = models().find((model) => model.views.includes("head"));
    return other && link(message("heads_use_model", other.name), { model: other.name });
  }

  const link = (words, patch) => stateLink(patch, words, { class: "button" });

  /** Controls of what the trace holds; a choice of one is none. */
  function syncControls(role) {
    const roles = shownRoles();
    if (statisticsControls.dataset.roles !== roles.join(" ")) {
      statisticsControls.dataset.roles = roles.join(" ");
      roleControl = segments(message("heads_role"), "role", roles.map((own) => [own, message(`heads_${own}`)]));
      setChildren(statisticsControls, roles.length > 1 && roleControl, hasHeads(trace) && order);
    }
    for (const button of roleControl.querySelectorAll("button")) {
      const selected = button.dataset.value === role;
      button.setAttribute("aria-checked", String(selected));
      button.setAttribute("tabindex", selected ? "0" : "-1");
    }
    settings.sync();
    order.sync();
  }

  function render() {
    renderTiles();
    selectTile();
  }

  /** The small maps and their statistics; the enlarged head stays. */
  function renderTiles() {
    const roles = shownRoles().map((role) => ({ role, tiles: tilesOf(role) }));
    tiles = roles.find(({ role }) => role === shownRole())?.tiles ?? [];
    grid.show(roles.map(({ role, tiles: own }) => ({ role, tiles: own.filter((tile) => !tile.summary) })), tileScale());
    gallery.show(tiles, { order: state.order, scale: tileScale() });
    markTile(selectedTile());
    renderChips(selectedTile());
  }

  /** A tile for every head of a role, and for the mean and the largest of each layer. */
  function tilesOf(role) {
    const options = { unit: state.unit, specials: showsSpecials() };
    const candidates = blocksOf(trace, role).flatMap((block, index) => {
      const tables = heads(block);
      const names = tables.map((_, head) => String(head + 1));
      return [...names, ...(tables.length > 1 ? ["avg", "max"] : [])].map((head) => {
        const table = selectHead(tables, head);
        const fullView = mergeUnits(trace, role, table, { ...options, specials: true });
        const shownView = options.specials ? fullView : withoutSpecials(fullView);
        const summary = !Number(head);
        return { layer: block.layer, head, summary, view: shownView, values: shownView.values, hidden: maskedCells(role, shownView),
          name: summary ? message(`heads_${head}_short`, block.layer)
            : tables.length > 1 ? message("heads_head", block.layer, head) : message("heads_single"),
          short: !summary && tables.length > 1 && message("heads_number", head),
          title: summary ? message(`heads_${head}`, block.layer) : null,
          statistics: head === "max" ? {}
            : headStatistics(fullView.values, summary ? null : importance[role]?.[index]?.[Number(head) - 1] ?? null) };
      });
    });
    return candidates.filter((tile) => tile.values[0]?.length);
  }

  /** The tile of the state, clamped to the model. */
  function selectedTile() {
    const headCount = Math.max(...tiles.map((tile) => Number(tile.head) || 1));
    const head = Number(state.head) ? String(Math.min(Number(state.head), headCount)) : state.head || "1";
    const layer = Math.min(state.layer || 1, tiles.at(-1).layer);
    Object.assign(node.dataset, { layer: `${layer} ${tiles.at(-1).layer}`, head: `${Number(head) || 0} ${headCount}` }); // for keys
    return tiles.find((tile) => tile.layer === layer && tile.head === head) ?? tiles[0];
  }

  const selectTile = () => enlarge(shownRole(), selectedTile());

  function markTile(tile) {
    gallery.mark(tile.layer, tile.head);
    grid.mark(shownRole(), tile.layer, tile.head);
  }

  function enlarge(role, tile) {
    markTile(tile);
    selectedView = tile.view;
    const [rowLanguage, columnLanguage] = languages(role);
    const title = hasHeads(trace) ? `${message(`heads_${role}`)} · ${tile.title ?? tile.name}` : tile.title ?? tile.name;
    const live = el("p", { class: "live", "aria-live": "polite" });
    const ablationBox = el("div", {});
    updateAblation = () => renderAblation(role, tile, ablationBox);
    const picture = el("div", { class: "picture" });
    renderChips(tile);
    setChildren(enlarged, el("h2", { class: "heads-title" }, title), chips, ablationBox, picture, live);
    const cellText = (row, column) => message("attends", selectedView.rows[row].text, selectedView.columns[column].text,
      tile.hidden?.[row][column] ? "−∞" : formatNumber(selectedView.values[row][column]));
    const showEntropy = tile.head !== "max" && showsSpecials();
    const announce = (row, column) => setChildren(live, [cellText(row, column),
      tile.head === "max" ? message("heads_no_sum") : message("sum", formatNumber(sum(selectedView.values[row]))),
      ...(showEntropy ? [message("entropy", formatNumber(entropy(selectedView.values[row]), 2))] : [])].join(" · "));
    const selection = isCellChosen() ? [Math.min(state.target, selectedView.rows.length) - 1, Math.min(state.source, selectedView.columns.length) - 1]
      : [0, indexOfLargest(selectedView.values[0])];
    setChildren(picture, drawHeatmap({ values: selectedView.values, hidden: tile.hidden, scale: tileScale(), selected: selection,
      rows: selectedView.rows.map((row) => ({ text: row.text, lang: rowLanguage })),
      columns: selectedView.columns.map((column) => ({ text: column.text, lang: columnLanguage })),
      label: message("heads_map", title), numbers: state.numbers === "1", maxWidth: enlarged.clientWidth,
      minCellWidth: readableCellWidth(selectedView.columns.length),
      describe: cellText,
      onFocus: (row, column) => {
        set({ target: row + 1, source: column + 1 }, { replace: true });
        announce(row, column);
      },
      onHover: (row, column) => row !== null && column !== null && announce(row, column),
      onOpen: (row, column) => set({ view: hasHeads(trace) ? "head" : "step", target: row + 1, source: column + 1 }) }));
    announce(...selection);
    updateAblation();
  }

  /** The statistics of the enlarged head; its importance may arrive later. */
  const renderChips = (tile) => setChildren(chips, ...STATISTICS.filter((key) => Number.isFinite(tile.statistics[key])).map((key) =>
    el("span", {}, `${message(`heads_${key}`)} `, el("b", { class: "number" }, formatStatistic(key, tile.statistics[key])), " ")));

  /** The ablation button and its result. */
  async function renderAblation(role, tile, container) {
    ablationRequest.abort();
    ablationRequest = new AbortController();
    if (tile.summary) return void setChildren(container, el("p", { class: "muted" }, message("heads_summary_note")));
    if (blocksOf(trace, role)[0].shape[0] === 1) return;
    const ablated = state.ablated === "1";
    const resultBox = el("div", { class: "heads-ablation-result" });
    const button = el("button", { type: "button", class: ablated ? "" : "primary", id: "ablate-head",
      on: { click: () => set({ ablated: ablated ? "0" : "1" }, { replace: true }) } }, message(ablated ? "heads_restore" : "heads_ablate"));
    const focused = document.activeElement?.id === "ablate-head";
    setChildren(container, el("div", { class: "heads-ablation" }, button, el("p", { class: "muted" }, message("heads_ablation_text"))), resultBox,
    !ablated && viewsOf("inside").includes("head") && el("p", {}, stateLink({ view: "head", role, layer: tile.layer, head: tile.head }, message("heads_qkv"))));
    if (focused) button.focus();
    if (!ablated) return;
    setChildren(resultBox, el("p", { class: "muted" }, message("working")));
    try {
      const response = await post("/api/heads/ablation", { ...requestBody(), role, layer: tile.layer,
        head: Number(tile.head) }, ablationRequest.signal);
      setChildren(resultBox, difference(response, trace, languages("decoder_self")[0]));
      showStatus(likelihood(response));
    } catch (error) {
      showStatus(error);
    }
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
      if (["text", "model", "beam", "prefix"].some((key) => changed.has(key))) load();
      else if (["role", "unit", "scale", "specials", "order"].some((key) => changed.has(key))) show();
      else if (!tiles.length) return;
      else if (["layer", "head", "numbers"].some((key) => changed.has(key))) selectTile();
      else if (changed.has("ablated")) updateAblation();
    },
    exportData: () => ({ trace, picture: enlarged.querySelector("svg"), table: selectedView && { values: selectedView.values,
      rows: selectedView.rows.map((row) => row.text), columns: selectedView.columns.map((column) => column.text) } }),
    close() {
      stop.abort();
      ablationRequest.abort();
      document.removeEventListener("retranslate", reload);
    },
  };
}

/** A matrix without special tokens. */
function withoutSpecials({ values, rows, columns }) {
  const isOrdinary = (_, column) => !columns[column].special;
  return { values: values.filter((_, index) => !rows[index].special).map((line) => line.filter(isOrdinary)),
    rows: rows.filter((row) => !row.special), columns: columns.filter((column) => !column.special) };
}

/** Causally masked cells of decoder self-attention. */
function maskedCells(role, { rows, columns }) {
  if (role !== "decoder_self") return undefined;
  return rows.map((row) => columns.map((column) => column.tokens[0] > row.tokens.at(-1)));
}
