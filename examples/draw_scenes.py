"""Draw pictures from words: train on scenes as grids of cells, then draw new combinations.

python draw_scenes.py runs/drawings [KEY=VALUE…]
"""

import sys
from math import isqrt

import dhyan
from dhyan.config import parse_setting
from dhyan.data.scene_cells import attribute_accuracy, scene_cell_pairs

out, *settings = sys.argv[1:]
result = dhyan.train(recipe="draw-scenes", out=out, settings=dict(map(parse_setting, settings)))
for _, scene in zip(range(3), scene_cell_pairs(seed=7, held_out=True), strict=False):
    cells = result.translator.predict(scene.source).text.split()
    print(scene.source, f"({attribute_accuracy(cells, scene.source):.0%} of its attributes drawn)")
    side = isqrt(len(cells))
    for row in range(side):
        print("  ", *("." if cell == "blank" else cell[0] for cell in cells[row * side :][:side]))
