"""Read printed Hindi from pictures: train on lines drawn in the fonts here, then read some.

python read_pictures.py runs/ocr [STEPS [PICTURE…]]
"""

import sys

import dhyan
from dhyan.data.rendered_text import rendered_text_pairs

out, *rest = sys.argv[1:]
steps, pictures = rest[:1], rest[1:]
result = dhyan.train(recipe="hindi-ocr", out=out, steps=int(*steps) if steps else None)
model = result.translator
for picture in pictures:
    print(picture, "→", model.predict(picture).text)
for _, pair in zip(range(3), rendered_text_pairs(seed=7), strict=False):
    print(pair.target, "is read as", model.predict(pair.source).text)
