"""Pronounce words: train on a table of words and phonemes, then draw how letters become sounds.

python pronounce_words.py words.tsv runs/phonemes [KEY=VALUE…]
"""

import sys
from pathlib import Path

import dhyan
from dhyan.config import parse_setting
from dhyan.insight.heatmap import save

table, out, *settings = sys.argv[1:]
result = dhyan.train(table, "pronunciation", out=out, settings=dict(map(parse_setting, settings)))
for word in ("attention", "knight"):
    print(word, "→", result.translator.predict(word).text)
maps = dhyan.explain(result.translator, "knight", words=False)
save(dhyan.heatmap(maps[-1]), Path(out) / "knight.svg")
print("drew", Path(out) / "knight.svg")
