import { test } from "node:test";
import assert from "node:assert/strict";
import { layoutTree, linkPath, neighbour, separate } from "../../src/dhyan/studio/static/js/tree_layout.js";

const GAP = 8;

/** A tree of random shape, parents first, every level in the order of its parents. */
function randomTree(seed) {
  let state = seed;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const nodes = [{ parent: -1, size: 20, weight: 1 }];
  let level = [0];
  for (let depth = 0; depth < 5; depth += 1) {
    const next = [];
    for (const parent of level) {
      for (let child = Math.floor(random() * 4); child > 0; child -= 1) {
        next.push(nodes.length);
        nodes.push({ parent, size: 10 + Math.floor(40 * random()), weight: random() < 0.2 ? 1e9 : 1 });
      }
    }
    level = next.slice(0, 12);
  }
  return nodes;
}

const levels = (nodes, { depth }) => Object.values(Object.groupBy(nodes.keys(), (index) => depth[index])).map((level) => level ?? []);

test("no two nodes of a level overlap, and all are within the extent", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const nodes = randomTree(seed);
    const layout = layoutTree(nodes, { gap: GAP });
    for (const level of levels(nodes, layout)) {
      const sorted = level.toSorted((a, b) => layout.centre[a] - layout.centre[b]);
      sorted.slice(1).forEach((index, place) => {
        const before = sorted[place];
        const space = layout.centre[index] - layout.centre[before] - (nodes[index].size + nodes[before].size) / 2;
        assert.ok(space >= GAP - 1e-6, `seed ${seed}: nodes ${before} and ${index} are ${space} apart`);
      });
      for (const index of level) {
        assert.ok(layout.centre[index] - nodes[index].size / 2 >= layout.start - 1e-6 && layout.centre[index] + nodes[index].size / 2 <= layout.end + 1e-6);
      }
    }
  }
});

test("edges do not cross: children stand in the order of their parents", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const nodes = randomTree(seed);
    const layout = layoutTree(nodes, { gap: GAP });
    for (const level of levels(nodes, layout).slice(1)) {
      const sorted = level.toSorted((a, b) => layout.centre[a] - layout.centre[b]);
      sorted.slice(1).forEach((index, place) => {
        assert.ok(layout.centre[nodes[index].parent] >= layout.centre[nodes[sorted[place]].parent] - 1e-6);
      });
    }
  }
});

test("a child is one level below its parent, and a heavy path is straight", () => {
  const nodes = [-1, 0, 0, 0, 2, 2, 4].map((parent, index) => ({ parent, size: 20, weight: [0, 1, 4, 6].includes(index) ? 1e9 : 1 }));
  nodes[1].weight = 1;
  const { depth, centre } = layoutTree(nodes, { gap: GAP });
  nodes.forEach(({ parent }, index) => parent >= 0 && assert.equal(depth[index], depth[parent] + 1));
  assert.ok(Math.abs(centre[4] - centre[6]) < 1e-3);
});

test("boxes that have room stay where they want to be; the others share the way", () => {
  assert.deepEqual(separate([0, 100, 200], [10, 10, 10]), [0, 100, 200]);
  const [first, second] = separate([50, 50], [20, 20]);
  assert.equal((first + second) / 2, 50);
  assert.equal(second - first, 20);
  const [light, heavy] = separate([50, 50], [20, 20], [1, 1e9]);
  assert.ok(Math.abs(heavy - 50) < 1e-3 && Math.abs(light - 30) < 1e-3);
});

test("no shift of one box brings it nearer to its target without an overlap", () => {
  const [targets, sizes] = [[3, 1, 8, 8.5, 30, 29], [4, 2, 3, 5, 2, 6]];
  const placed = separate(targets, sizes);
  const cost = (centres) => centres.reduce((total, centre, index) => total + (centre - targets[index]) ** 2, 0);
  const fits = (centres) => centres.every((centre, index) => !index || centre - centres[index - 1] >= (sizes[index] + sizes[index - 1]) / 2 - 1e-9);
  assert.ok(fits(placed));
  for (const index of targets.keys()) {
    for (const shift of [-0.05, 0.05]) {
      const moved = placed.with(index, placed[index] + shift);
      assert.ok(!fits(moved) || cost(moved) >= cost(placed));
    }
  }
});

test("neighbours are next to each other in their level, there and back", () => {
  const nodes = randomTree(7);
  const layout = layoutTree(nodes, { gap: GAP });
  for (const index of nodes.keys()) {
    const next = neighbour(layout, index, 1);
    if (next !== undefined) assert.equal(neighbour(layout, next, -1), index);
    else assert.ok(nodes.every((_, other) => layout.depth[other] !== layout.depth[index] || layout.centre[other] <= layout.centre[index]));
  }
});

test("a link begins at its parent and ends at its child", () => {
  assert.match(linkPath(1, 2, 30, 2), /^M1 2H30$/);
  assert.match(linkPath(1, 2, 30, 40), /^M1 2C.* 30 40$/);
});
