"""Translate with an exported ONNX folder: greedy search in NumPy, without dhyan and torch.

dhyan export en-hi --to onnx out && python examples/onnx_translate.py out "Where is the station?"
"""

import json
import sys
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

BOS, EOS, LONGEST = 1, 2, 100

folder, *sentences = Path(sys.argv[1]), *sys.argv[2:]
encoder, step = (InferenceSession(folder / name) for name in ("encoder.onnx", "step.onnx"))
source, target = (Tokenizer.from_file(f"{folder}/{n}_tokenizer.json") for n in ("source", "target"))
empty = json.loads((folder / "dhyan.json").read_text())["state"]  # None for what is computed
inputs = [node.name for node in step.get_inputs()]

for sentence in sentences:
    ids, tokens = np.array([[*source.encode(sentence).ids, EOS]]), [BOS]
    encoded = iter(encoder.run(None, {"source": ids, "source_mask": ids >= 0}))
    state = [
        np.zeros([1, *how["shape"][1:]], bool if how["bool"] else np.float32)
        if how
        else next(encoded)
        for how in empty.values()
    ]
    while tokens[-1] != EOS and len(tokens) <= LONGEST:
        given = {"token": np.array(tokens[-1:]), **dict(zip(empty, state, strict=True))}
        logits, *state = step.run(None, {name: given[name] for name in inputs})
        tokens.append(EOS + int(logits[0, EOS:].argmax()))
    print(target.decode(tokens))
