"""Classify texts: train on a table of text and label, then see which words a label rests on.

python classify_texts.py reviews.tsv runs/reviews [KEY=VALUE…]
"""

import sys

import dhyan
from dhyan.config import parse_setting

table, out, *settings = sys.argv[1:]
result = dhyan.train(
    table, "text-classification", out=out, settings=dict(map(parse_setting, settings))
)
model = result.translator

for text in ("a gripping film", "two hours of boredom"):
    prediction = model.predict(text, nbest=2)
    [attention] = dhyan.explain(model, text)
    print(text, "→", prediction.text, [(other.text, other.score) for other in prediction.others])
    for word, weight in zip(attention.source, attention.weights[0, 0].tolist(), strict=True):
        print(f"{weight:8.1%}  {word}")
