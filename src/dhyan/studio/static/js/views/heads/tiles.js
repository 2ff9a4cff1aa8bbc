/** Gallery of head thumbnails with statistics; each is a button that enlarges it. */

import { el, setChildren } from "../../dom.js";
import { thumbnail, arrowKeyNavigation } from "../../thumbnails.js";
import { message } from "../../messages.js";
import { STATISTICS, sortHeads, formatStatistic } from "./statistics.js";

const MIN_FULL_SCALE = 0.1; // nats: smallest full scale of the importance bars

/**
 * @typedef {object} Tile
 * @property {number} layer counted from 1
 * @property {string} head its number, or "avg", "max"
 * @property {string} name
 * @property {string} [short] name below a layer heading
 * @property {number[][]} values displayed weights
 * @property {boolean[][]} [hidden]
 * @property {Record<string, number | null>} statistics
 * @property {boolean} summary
 */

/** The gallery; `show(tiles, {order, scale})` fills it. @param {(tile: Tile) => void} choose */
export function tileGallery(choose) {
  const node = el("div", { class: "heads-tiles", role: "group", "aria-label": message("heads_tiles") });
  const setTabStop = arrowKeyNavigation(node);

  /** @param {Tile[]} tiles */
  function show(tiles, { order, scale }) {
    const focused = document.activeElement?.closest?.(".heads-tile")?.dataset.tile;
    const maxImportance = Math.max(...tiles.map((tile) => Math.abs(tile.statistics.importance ?? 0)), MIN_FULL_SCALE);
    const maxEntropy = Math.max(...tiles.map((tile) => tile.statistics.entropy ?? 0), 1e-9);
    const tileButton = (tile) => button(tile, { scale, order, maxImportance, maxEntropy, choose });
    const [heads, summaries] = [false, true].map((which) => tiles.filter((tile) => tile.summary === which));
    const groups = order
      ? [[message("heads_sorted", message(`heads_${order}`)), sortHeads(heads, order)]]
      : [...new Set(heads.map((head) => head.layer))].map((layer) =>
        [message("heads_layer", layer), heads.filter((head) => head.layer === layer)]);
    if (summaries.length) groups.push([message("heads_summaries"), summaries]);
    setChildren(node, ...groups.flatMap(([name, groupTiles]) =>
      [tiles.length > 1 && el("h2", {}, name), el("div", { class: "heads-row" }, ...groupTiles.map(tileButton))]));
    node.querySelector(`[data-tile="${focused}"]`)?.focus();
  }

  /** Mark the enlarged tile. */
  function mark(layer, head) {
    const id = `${layer}-${head}`;
    let selected;
    for (const button of node.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.tile === id));
      if (button.dataset.tile === id) selected = button;
    }
    setTabStop(selected);
  }
  return { node, show, mark };
}

/** @param {Tile} tile */
function button(tile, { scale, order, maxImportance, maxEntropy, choose }) {
  const statistics = STATISTICS.filter((key) => Number.isFinite(tile.statistics[key]))
    .map((key) => ({ key, text: formatStatistic(key, tile.statistics[key]),
      share: { entropy: (tile.statistics.entropy ?? 0) / maxEntropy, importance: Math.abs(tile.statistics.importance ?? 0) / maxImportance }[key]
        ?? tile.statistics[key] }));
  return el("button", { type: "button", class: tile.summary ? "heads-tile summary" : "heads-tile",
    "aria-pressed": "false", "data-tile": `${tile.layer}-${tile.head}`,
    "aria-label": [tile.name, ...statistics.map((statistic) => `${message(`heads_${statistic.key}`)} ${statistic.text}`)].join(", "),
    on: { click: () => choose(tile) } },
  el("span", { class: "heads-name" }, order || tile.summary || !tile.short ? tile.name : tile.short),
  thumbnail(tile.values, { hidden: tile.hidden, scale }),
  el("span", { class: "heads-statistics" }, ...statistics.map((statistic) =>
    el("span", { class: statistic.key === order ? "heads-statistic sorted" : "heads-statistic" },
      el("span", {}, message(`heads_${statistic.key}`)), el("span", { class: "number" }, statistic.text),
      el("span", { class: "heads-bar", style: { width: `${Math.round(100 * statistic.share)}%` } })))));
}

/** Definitions of the statistics. */
export function definitions(withImportance) {
  const keys = STATISTICS.filter((key) => key !== "importance" || withImportance);
  return el("div", { class: "heads-definition-list" },
    el("h2", {}, message("heads_definitions")),
    el("dl", {}, ...keys.flatMap((key) => [el("dt", {}, message(`heads_${key}`)),
      el("dd", {}, message(`heads_about_${key}`))])),
    el("p", { class: "muted" }, message("heads_specials_included")));
}
