/** Why the best hypothesis of a beam search won, from the numbers of its tree. */

/** Nodes from the first token to this one. @param {{parent: number}[]} nodes */
export function pathTo(nodes, node) {
  const path = [];
  for (let index = node; index > 0; index = nodes[index].parent) path.unshift(index);
  return path;
}

/** The winner: the first result. @param {Pick<BeamTree, "results">} tree */
export const winnerOf = (tree) => tree.results[0];

/** Position of the first difference of two sequences; undefined if one continues the other. */
function firstDifference(a, b) {
  const at = a.findIndex((value, index) => index < b.length && value !== b[index]);
  return at < 0 ? undefined : at;
}

/**
 * The facts behind the answer: the winner, the second, where they part, whether the division by
 * length decided, and what greedy search does instead.
 * @param {Omit<BeamTree, "beam" | "length_penalty" | "source" | "greedy">} tree
 */
export function explainWinner(tree) {
  const { nodes, results } = tree;
  const path = pathTo(nodes, winnerOf(tree));
  const winner = nodes[winnerOf(tree)];
  const secondNode = results.slice(1).find((node) => nodes[node].text !== winner.text && finished(nodes[node]));
  return { winner, finished: finished(winner), second: secondNode === undefined ? null : second(nodes, path, secondNode),
    greedy: greedy(tree, path) };
}

/** Label of a node's token, with a hyphen if it continues the word before it. */
export function labelOf(nodes, index) {
  const { token, text, parent, special } = nodes[index];
  const before = nodes[parent]?.text;
  return before && !special && /^[\p{L}\p{M}\u25cc]/u.test(token) && !text.startsWith(`${before} `) ? `\u2011${token}` : token;
}

export const finished = (node) => node.fate === "finished";

function second(nodes, path, index) {
  const [winner, other] = [nodes[path.at(-1)], nodes[index]];
  const otherPath = pathTo(nodes, index);
  const at = firstDifference(path, otherPath);
  return { node: other, step: at + 1, token: nodes[path[at]], otherToken: nodes[otherPath[at]],
    byLength: other.score > winner.score && other.score_by_length < winner.score_by_length };
}

/** Null if greedy search gives the winner. */
function greedy(tree, path) {
  const { nodes, greedy_path: greedyPath } = tree;
  const at = firstDifference(greedyPath, path);
  if (at === undefined) return null;
  const end = nodes[greedyPath.at(-1)];
  return { text: tree.greedy_text, score: tree.greedy_score, step: at + 1, token: nodes[greedyPath[at]], winnerToken: nodes[path[at]],
    dropped: end.fate === "dropped" ? end : null, better: tree.greedy_score > nodes[path.at(-1)].score_by_length + 1e-6 };
}

