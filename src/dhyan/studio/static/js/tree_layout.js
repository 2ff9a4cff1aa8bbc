/** Layout of a tree drawn level by level: no edges cross, and children stand near their parents. */

/**
 * Place every node across its level. Parents come before their children; siblings keep their order,
 * and the first child stands level with its parent where there is room. `weight` says how strongly
 * a node holds its place: those of a heavy path stay on a straight line.
 * @param {{parent: number, size?: number, weight?: number}[]} nodes `parent` is an index, −1 at a root
 * @param {{gap?: number}} [options] least space between two nodes of a level
 * @returns {{depth: number[], centre: number[], start: number, end: number}} the extent is from start to end
 */
export function layoutTree(nodes, { gap = 0 } = {}) {
  const children = nodes.map(() => []);
  const roots = [];
  nodes.forEach((node, index) => (node.parent < 0 ? roots : children[node.parent]).push(index));
  const size = (index) => nodes[index].size ?? 1;
  const [depth, centre] = [nodes.map(() => 0), nodes.map(() => 0)];
  let level = roots;
  let targets = stacked(roots.map(size), 0, gap);
  for (let at = 0; level.length; at += 1) {
    const placed = separate(targets, level.map(size), level.map((index) => nodes[index].weight ?? 1), gap);
    level.forEach((index, place) => {
      depth[index] = at;
      centre[index] = placed[place];
    });
    targets = level.flatMap((index) => stacked(children[index].map(size), centre[index], gap));
    level = level.flatMap((index) => children[index]);
  }
  const start = Math.min(0, ...nodes.map((_, index) => centre[index] - size(index) / 2));
  const end = Math.max(0, ...nodes.map((_, index) => centre[index] + size(index) / 2));
  return { depth, centre, start, end };
}

/** Centres of boxes one after the other, the first at `first`. */
function stacked(sizes, first, gap) {
  let next = first;
  return sizes.map((size, index) => (index ? (next += (sizes[index - 1] + size) / 2 + gap) : next));
}

/**
 * Centres nearest to their targets (weighted least squares) at which boxes in this order do not
 * overlap: isotonic regression by pooling adjacent violators.
 * @param {number[]} targets @param {number[]} sizes @param {number[]} [weights] @returns {number[]}
 */
export function separate(targets, sizes, weights = targets.map(() => 1), gap = 0) {
  const offsets = stacked(sizes, 0, gap);
  const pools = [];
  targets.forEach((target, index) => {
    let pool = { mean: target - offsets[index], weight: weights[index], count: 1 };
    while (pools.length && pools.at(-1).mean > pool.mean) {
      const before = pools.pop();
      const weight = before.weight + pool.weight;
      pool = { mean: (before.mean * before.weight + pool.mean * pool.weight) / weight, weight, count: before.count + pool.count };
    }
    pools.push(pool);
  });
  return pools.flatMap((pool) => Array(pool.count).fill(pool.mean)).map((mean, index) => mean + offsets[index]);
}

/** The node next to another in its level, by position: −1 before, 1 after; undefined at the end. */
export function neighbour({ depth, centre }, node, direction) {
  const level = centre.map((_, index) => index).filter((index) => depth[index] === depth[node])
    .sort((a, b) => centre[a] - centre[b]);
  return level[level.indexOf(node) + direction];
}

/** Curve of an SVG path from the right side of a parent to the left side of a child.
 * @param {number} fromX @param {number} fromY @param {number} toX @param {number} toY */
export function linkPath(fromX, fromY, toX, toY) {
  const middle = (fromX + toX) / 2;
  return fromY === toY ? `M${fromX} ${fromY}H${toX}` : `M${fromX} ${fromY}C${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`;
}
