"""Read printed Hindi from pictures: train on lines drawn in the fonts here, then read others.

python read_pictures.py runs/ocr [KEY=VALUE…]
"""

import sys

import dhyan
from dhyan.config import parse_setting
from dhyan.data.rendered_text import rendered_text_pairs

out, *settings = sys.argv[1:]
result = dhyan.train(recipe="hindi-ocr", out=out, settings=dict(map(parse_setting, settings)))
model = result.translator
for _, pair in zip(range(3), rendered_text_pairs(seed=7), strict=False):
    print(pair.target, "is read as", model.predict(pair.source).text)
