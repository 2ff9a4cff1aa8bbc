"""Train on a pandas data frame, evaluate on rows that were left out, and print frames."""

import sys
from itertools import islice
from pathlib import Path

import pandas

import dhyan
from dhyan.data.synthetic import number_pairs

out = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/frame")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400

pairs = [(pair.source, pair.target) for pair in islice(number_pairs(seed=1), 3000)]
frame = pandas.DataFrame(pairs, columns=["en", "hi"]).drop_duplicates("en")
test, training = frame[:20], frame[20:]

result = dhyan.train(training, "numbers", out=out, columns=("en", "hi"), steps=steps)
evaluation = dhyan.evaluate(result, test, beam=1, max_length=40)
print(evaluation.to_frame())
print(evaluation.sentences_to_frame())
