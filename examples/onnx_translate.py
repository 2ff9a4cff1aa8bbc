"""Translate with an exported ONNX folder: greedy search in NumPy, without dhyan and torch.

dhyan export en-hi --to onnx out && python examples/onnx_translate.py out "Where is the station?"
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BOS, EOS, LONGEST = 1, 2, 100

folder, *sentences = Path(sys.argv[1]), *sys.argv[2:]
encoder, step = (onnxruntime.InferenceSession(folder / f"{n}.onnx") for n in ("encoder", "step"))
source, target = (Tokenizer.from_file(f"{folder}/{n}_tokenizer.json") for n in ("source", "target"))
state_tensors = json.loads((folder / "dhyan.json").read_text())["state"]


def translate(sentence):
    ids = np.array([[*source.encode(sentence).ids, EOS]])
    encoded = iter(encoder.run(None, {"source": ids, "source_mask": ids >= 0}))
    state = {
        name: next(encoded)
        if empty is None
        else np.zeros([1, *empty["shape"][1:]], bool if empty["bool"] else np.float32)
        for name, empty in state_tensors.items()
    }
    tokens = [BOS]
    while tokens[-1] != EOS and len(tokens) <= LONGEST:
        inputs = {node.name for node in step.get_inputs()}
        feed = {"token": np.array(tokens[-1:]), **state}
        logits, *after = step.run(None, {name: feed[name] for name in inputs})
        state = dict(zip(state_tensors, after, strict=True))
        tokens.append(int(logits[0, EOS:].argmax()) + EOS)
    return target.decode(tokens)


for sentence in sentences:
    print(translate(sentence))
