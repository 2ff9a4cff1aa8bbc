"""Summarize texts: train on JSON lines of text and summary, then score the model.

python summarize_texts.py train.jsonl test.jsonl runs/summaries [KEY=VALUE…]
"""

import sys

import dhyan
from dhyan.config import parse_setting

train, test, out, *settings = sys.argv[1:]
result = dhyan.train(train, "summarization", out=out, settings=dict(map(parse_setting, settings)))
scores = dhyan.evaluate(result, test)
print(scores)
for text, summary in zip(scores.sources[:3], scores.translations[:3], strict=True):
    print(f"{text[:70]} … → {summary}")
