"""Transliterate: train on a table of words in two scripts, then list the likeliest spellings.

python transliterate_words.py words.tsv runs/hindi [STEPS]
"""

import sys

import dhyan

table, out, *steps = sys.argv[1:]
result = dhyan.train(table, "transliteration", out=out, steps=int(*steps) if steps else None)
for word in ("namaste", "dilli", "kitaab"):
    best = result.translator.predict(word, beam=5, nbest=3)
    print(word, "→", ", ".join(spelling.text for spelling in (best, *best.others)))
