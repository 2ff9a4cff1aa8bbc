"""Summarize texts: train on JSON lines of text and summary, then score the model.

python summarize_texts.py train.jsonl test.jsonl runs/summaries [STEPS]
"""

import sys

import dhyan

train, test, out, *steps = sys.argv[1:]
result = dhyan.train(train, "summarization", out=out, steps=int(*steps) if steps else None)
scores = dhyan.evaluate(result, test)
print(scores)
for text, summary in zip(scores.sources[:3], scores.translations[:3], strict=True):
    print(f"{text[:70]} … → {summary}")
