"""Transliterate: train on a table of words in two scripts, then list the likeliest spellings.

python transliterate_words.py words.tsv runs/hindi [KEY=VALUE…]
"""

import sys

import dhyan
from dhyan.config import parse_setting

table, out, *settings = sys.argv[1:]
result = dhyan.train(table, "transliteration", out=out, settings=dict(map(parse_setting, settings)))
for word in ("namaste", "dilli", "kitaab"):
    best = result.translator.predict(word, beam=5, nbest=3)
    print(word, "→", ", ".join(spelling.text for spelling in (best, *best.others)))
