"""Find named entities: train on CoNLL columns, tag new sentences, join the tags to spans.

python tag_entities.py train.conll runs/entities [KEY=VALUE…]
"""

import sys

import dhyan
from dhyan.config import parse_setting
from dhyan.evaluation.classification import spans

table, out, *settings = sys.argv[1:]
result = dhyan.train(table, "named-entities", out=out, settings=dict(map(parse_setting, settings)))

for sentence in ("Asha lives in New Delhi .", "मीरा जयपुर में रहती है ।"):
    words = sentence.split()
    tags = result.translator.predict(sentence).text
    print(sentence, "→", tags)
    for kind, first, last in spans(tags):
        print(f"  {kind}: {' '.join(words[first:last])}")
