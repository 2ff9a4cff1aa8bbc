"""Find named entities: train on CoNLL columns, tag new sentences, join the tags to spans.

python tag_entities.py train.conll runs/entities [STEPS]
"""

import sys

import dhyan
from dhyan.evaluation.classification import spans

table, out, *steps = sys.argv[1:]
result = dhyan.train(table, "named-entities", out=out, steps=int(*steps) if steps else None)

for sentence in ("Asha lives in New Delhi .", "मीरा जयपुर में रहती है ।"):
    words = sentence.split()
    tags = result.translator.predict(sentence).text
    print(sentence, "→", tags)
    for kind, first, last in spans(tags):
        print(f"  {kind}: {' '.join(words[first:last])}")
