"""Describe pictures: train on drawn scenes with captions, then describe scenes of new combinations.

python describe_scenes.py runs/captions [KEY=VALUE…]
"""

import sys

import dhyan
from dhyan.config import parse_setting
from dhyan.data.scenes import scene_pairs

out, *settings = sys.argv[1:]
result = dhyan.train(recipe="caption-scenes", out=out, settings=dict(map(parse_setting, settings)))
for _, scene in zip(range(3), scene_pairs(seed=7, held_out=True), strict=False):
    caption = result.translator.predict(scene.source).text
    print("right:" if caption == scene.target else "wrong:", caption, "|", scene.target)
