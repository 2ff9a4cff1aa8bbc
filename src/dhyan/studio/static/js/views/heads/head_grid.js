/** All heads at a glance: for every role a grid of layers and heads, each a small map with its importance below. */

import { el, setChildren } from "../../dom.js";
import { thumbnail, arrowKeyNavigation } from "../../thumbnails.js";
import { message } from "../../messages.js";
import { formatStatistic } from "./statistics.js";

const FULL_BAR = 0.1; // nats: smallest change of log-probability that fills a bar

/**
 * The grid; `show(roles, scale)` fills it, `mark` marks a head.
 * @param {(role: string, layer: number, head: string) => void} choose
 */
export function headGrid(choose) {
  const node = el("div", { class: "head-grid", role: "group", "aria-label": message("heads_glance") });
  const setTabStop = arrowKeyNavigation(node);
  const id = (role, layer, head) => `${role}-${layer}-${head}`;

  /** @param {{role: string, tiles: import("./tiles.js").Tile[]}[]} roles @param {string} scale "linear" or "sqrt" */
  function show(roles, scale) {
    const focused = document.activeElement?.closest?.(".head-cell")?.dataset.cell;
    const largest = Math.max(FULL_BAR, ...roles.flatMap(({ tiles }) => tiles.map((tile) => Math.abs(tile.statistics.importance ?? 0))));
    setChildren(node, ...roles.map(({ role, tiles }) => {
      const layers = [...new Set(tiles.map((tile) => tile.layer))];
      const heads = Math.max(...layers.map((layer) => tiles.filter((tile) => tile.layer === layer).length));
      return el("section", { class: "head-role", "data-role": role }, el("h2", {}, message(`heads_${role}`)),
        el("div", { class: "head-cells", style: { "--heads": heads } },
          el("span", {}), ...Array.from({ length: heads }, (_, head) => el("span", { class: "head-label", "aria-hidden": "true" }, String(head + 1))),
          ...layers.flatMap((layer) => row(role, layer, tiles.filter((tile) => tile.layer === layer), heads, { scale, largest }))));
    }));
    node.querySelector(`[data-cell="${focused}"]`)?.focus();
  }

  function row(role, layer, tiles, heads, options) {
    return [el("span", { class: "head-label", "aria-hidden": "true" }, message("heads_layer", layer)), ...tiles.map((tile) => cell(role, tile, options)),
      ...Array.from({ length: heads - tiles.length }, () => el("span", {}))];
  }

  function cell(role, tile, { scale, largest }) {
    const { importance } = tile.statistics;
    const known = Number.isFinite(importance);
    const label = [message(`heads_${role}`), tile.name, known && `${message("heads_importance")} ${formatStatistic("importance", importance)}`];
    return el("button", { type: "button", class: "head-cell", "aria-pressed": "false", "data-cell": id(role, tile.layer, tile.head), "aria-label": label.filter(Boolean).join(", "),
      title: label.filter(Boolean).join(" · "), on: { click: () => choose(role, tile.layer, tile.head) } },
    thumbnail(tile.values, { hidden: tile.hidden, scale }),
    el("span", { class: `head-importance ${importance > 0 ? "better" : "worse"}`, style: { "--share": known ? Math.abs(importance) / largest : 0 } }));
  }

  /** Mark the enlarged head. */
  function mark(role, layer, head) {
    let marked = null;
    for (const button of node.querySelectorAll("button")) {
      const pressed = button.dataset.cell === id(role, layer, head);
      button.setAttribute("aria-pressed", String(pressed));
      if (pressed) marked = button;
    }
    setTabStop(marked ?? undefined);
  }
  return { node, show, mark };
}
