"""Pronounce words: train on a table of words and phonemes, then draw how letters become sounds.

python pronounce_words.py words.tsv runs/phonemes [STEPS]
"""

import sys
from pathlib import Path

import dhyan
from dhyan.insight.heatmap import save

table, out, *steps = sys.argv[1:]
result = dhyan.train(table, "pronunciation", out=out, steps=int(*steps) if steps else None)
for word in ("attention", "knight"):
    print(word, "→", result.translator.predict(word).text)
maps = dhyan.explain(result.translator, "knight", words=False)
save(dhyan.heatmap(maps[-1]), Path(out) / "knight.svg")
print("drew", Path(out) / "knight.svg")
