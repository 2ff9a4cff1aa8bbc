/** Picture of a beam search: columns are steps, boxes hypotheses, and lines join them to their parents. */

import { closest, svg } from "../../dom.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { fontOfSize, textWidth } from "../../text_width.js";
import { layoutTree, linkPath, neighbour } from "../../tree_layout.js";
import { finished, labelOf, pathTo, winnerOf } from "./explain.js";

const [TOP, LEFT, MARGIN] = [26, 8, 26]; // the column titles, the left margin, and between columns
const [TALL, SMALL, GAP] = [46, 26, 8]; // heights of kept and of dropped boxes, and the space between
const WIDEST = 230;
const FONT = fontOfSize(15);
const NUMBER_FONT = "11px ui-monospace, Menlo, Consolas, monospace";
const INSET = 8; // pixels between a box and its text

/**
 * Draw the tree; only the boxes of `shown` nodes.
 * @param {{tree: BeamTree, shown: number[], selected: number, lang: string, describe: (node: number) => string,
 *   onSelect: (node: number) => void}} options
 */
export function drawTree({ tree, shown, selected, lang, describe, onSelect }) {
  const winning = new Set([0, ...pathTo(tree.nodes, winnerOf(tree))]);
  const order = sorted(tree.nodes, shown, winning);
  const nodes = order.map((node) => ({ ...tree.nodes[node], index: node, token: labelOf(tree.nodes, node) }));
  /** @type {Record<number, number>} */
  const place = Object.fromEntries(order.map((node, index) => [node, index]));
  const layout = layoutTree(nodes.map((node) => ({ parent: node.parent < 0 ? -1 : place[node.parent],
    size: height(node), weight: winning.has(node.index) ? 1e9 : node.fate === "dropped" ? 0.2 : 1 })), { gap: GAP });
  const columns = columnsOf(nodes, tree);
  const y = (index) => layout.centre[index] - layout.start + TOP + 4;
  const [width, tall] = [columns.at(-1).x + columns.at(-1).width + LEFT, layout.end - layout.start + TOP + 12];
  const links = nodes.flatMap((node, index) => (node.parent < 0 ? [] : link(node, index)));
  const boxes = nodes.map((node, index) => box(node, columns[node.step], y(index), winning.has(node.index)));
  const picture = svg("svg", { class: "beam-picture", viewBox: `0 0 ${width} ${tall}`, width, height: tall },
    svg("g", { "aria-hidden": "true" }, ...columns.slice(1).map((column, index) =>
      svg("text", { class: "beam-column", x: column.x + column.width / 2, y: 14 }, message("beam_step", index + 1)))),
    svg("g", { "aria-hidden": "true" }, ...links.sort((a, b) => Number(a.classList.contains("winning")) - Number(b.classList.contains("winning")))),
    svg("g", { role: "tree", "aria-label": message("beam_picture") }, ...boxes));
  let current = null;

  function link(node, index) {
    const [parent, column, from] = [place[node.parent], columns[node.step], columns[node.step - 1]];
    return svg("path", { class: `beam-link ${node.fate}${winning.has(node.index) ? " winning" : ""}`,
      d: linkPath(from.x + from.width, y(parent), column.x, y(index)) });
  }

  function box(node, column, middle, wins) {
    const [x, size] = [column.x, height(node)];
    const top = middle - size / 2;
    const small = node.fate === "dropped";
    const start = node.parent < 0;
    const group = svg("g", { class: `beam-node ${start ? "start" : node.fate}${wins ? " winning" : ""}`, role: "treeitem", tabindex: -1,
      "aria-level": node.step + 1, "aria-label": describe(node.index), "aria-selected": false, "data-node": node.index },
    svg("rect", { class: "beam-box", x, y: top, width: column.width, height: size, rx: 8 }),
    finished(node) && svg("rect", { class: "beam-inner", x: x + 3, y: top + 3, width: column.width - 6, height: size - 6, rx: 6 }),
    svg("text", { class: "beam-token", lang, x: x + 8, y: top + (small || start ? 18 : 19) }, start ? "·" : node.token),
    !start && svg("text", { class: "beam-rank", x: x + column.width - 8, y: top + 18 }, finished(node) ? placeOf(tree, node.index) : `#${node.rank}`),
    small || start ? null : svg("text", { class: "beam-numbers", x: x + 8, y: top + 37 }, numbersOf(node, tree)));
    return group;
  }

  function mark(node, { focus = false } = {}) {
    current?.setAttribute("tabindex", "-1");
    current?.setAttribute("aria-selected", "false");
    current = boxes[place[node] ?? place[winnerOf(tree)]];
    current.setAttribute("tabindex", "0");
    current.setAttribute("aria-selected", "true");
    if (focus) current.focus();
  }

  /** The node that a key leads to. */
  function moved(node, key) {
    const index = place[node];
    if (key === "ArrowLeft") return nodes[index].parent;
    if (key === "ArrowRight") return nodes.find((child) => child.parent === node)?.index;
    if (key === "Home") return 0;
    if (key === "End") return winnerOf(tree);
    const direction = { ArrowUp: -1, ArrowDown: 1 }[key];
    return direction && nodes[neighbour(layout, index, direction)]?.index;
  }

  picture.addEventListener("keydown", (event) => {
    const node = Number(closest(event, ".beam-node")?.dataset.node);
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const next = moved(node, event.key);
    if (!(next >= 0)) return;
    mark(next, { focus: true });
    onSelect(next);
  });
  picture.addEventListener("click", (event) => {
    const group = closest(event, ".beam-node");
    if (!group) return;
    mark(Number(group.dataset.node), { focus: true });
    onSelect(Number(group.dataset.node));
  });
  mark(selected);
  return Object.assign(picture, { mark });
}

const height = (node) => (node.parent < 0 || node.fate === "dropped" ? SMALL : TALL);

/** Shown nodes, parents first; of siblings the winner's, then those kept, then by rank. */
function sorted(nodes, shown, winning) {
  const key = (index) => [nodes[index].step, winning.has(index) ? 0 : nodes[index].fate === "dropped" ? 2 : 1, nodes[index].rank];
  return [...shown].sort((a, b) => {
    const [first, second] = [key(a), key(b)];
    const at = first.findIndex((value, index) => value !== second[index]);
    return at < 0 ? 0 : first[at] - second[at];
  });
}

/** Position and width of every column, wide enough for its texts. */
function columnsOf(nodes, tree) {
  const needed = [];
  for (const node of nodes) {
    const numbers = node.fate === "dropped" ? 0 : textWidth(numbersOf(node, tree), NUMBER_FONT) + 2 * INSET;
    const own = node.parent < 0 ? 30 : Math.max(numbers, textWidth(node.token, FONT) + 46);
    needed[node.step] = Math.min(Math.max(needed[node.step] ?? 0, own), WIDEST);
  }
  let x = LEFT;
  return needed.map((width) => {
    const column = { x, width };
    x += width + MARGIN;
    return column;
  });
}

/** The numbers in a box: log-probability and sum, or the score of a finished hypothesis. @param {BeamNode} node @param {BeamTree} tree */
function numbersOf(node, tree) {
  const [logprob, total] = [node.logprob, node.score].map((value) => formatNumber(value, 2));
  return finished(node) ? `Σ ${total} ÷ ${lengthPower(node.step, tree.length_penalty)} = ${formatNumber(node.score_by_length)}` : `${logprob} · Σ ${total}`;
}

/** The divisor of a score: length^penalty. */
export const lengthPower = (length, penalty) => (penalty === 1 ? String(length) : `${length}^${penalty}`);

/** Place among the results, with a dot as in "1."; a dash if others displaced it. */
function placeOf(tree, node) {
  const place = tree.results.indexOf(node);
  return place < 0 ? "–" : `${place + 1}.`;
}
