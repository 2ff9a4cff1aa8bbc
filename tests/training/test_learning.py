"""Learning is real: every family learns to reverse, and without attention long inputs fail."""

import itertools
import time

import pytest

from dhyan.config import load_recipe
from dhyan.data.synthetic import reverse_pairs
from dhyan.run import load, train

RECURRENT = {"encoder.embedding_width": 64, "decoder.embedding_width": 64}
ATTENDING = {**RECURRENT, "encoder.width": 64, "decoder.width": 96}
FAMILIES = {
    "sutskever2014-small": {
        **RECURRENT,
        "encoder.width": 128,
        "decoder.width": 128,
        "encoder.layers": 1,
        "decoder.layers": 1,
        "training.steps": 500,
        "training.learning_rate": 6e-3,
    },
    "bahdanau2015-small": {
        **ATTENDING,
        "decoder.readout_width": 64,
        "training.steps": 450,
        "training.learning_rate": 5e-3,
    },
    "luong2015-small": {**ATTENDING, "training.steps": 450, "training.learning_rate": 5e-3},
    "transformer2017-small": {
        "encoder.width": 64,
        "encoder.feed_forward_width": 128,
        "decoder.width": 64,
        "decoder.feed_forward_width": 128,
        "training.steps": 300,
        "training.learning_rate": 4e-3,
    },
}
SHORT, MIDDLE, LONG = 4, 6, 10
# Of the longest that were trained on; Bahdanau's is what the model without attention stands beside.
MAX_LENGTHS = {
    "bahdanau2015-small": LONG,
    "luong2015-small": MIDDLE,
    "transformer2017-small": SHORT,
}

SOAK_ONLY = ("luong2015-small", "transformer2017-small")  # Bahdanau's learns in the short run


def learn_to_reverse(name, folder, max_length):
    """Train on random letters of 2 … `longest`; the share of unseen ones reversed exactly."""
    pairs = list(itertools.islice(reverse_pairs(seed=1, max_length=max_length), 20_000))
    files = {"data.source": folder / "a.en", "data.target": folder / "a.rev"}
    for file, side in zip(files.values(), ("source", "target"), strict=True):
        file.write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs))
    steps = FAMILIES[name]["training.steps"]
    settings = {
        **{key: str(file) for key, file in files.items()},
        "data.max_tokens": 64,
        "text.tokenizer": "words",
        "encoder.dropout": 0.0,
        "decoder.dropout": 0.0,
        "training.schedule": "halving",
        "training.warmup_steps": 60,
        "training.halve_from": steps // 2,
        "training.halve_every": steps // 12,
        "training.label_smoothing": 0.0,
        "training.tokens_per_batch": 768,
        "training.validate_every": steps,
        "training.save_every": steps,
        "training.valid_sentences": 0,
        "training.early_stopping_metric": "loss",
        **FAMILIES[name],
    }
    start = time.process_time()
    for _ in train(load_recipe(name, settings), folder / "run", threads=1):
        pass
    print(f"{name}: {time.process_time() - start:.0f} s of CPU time")
    translator = load(folder / "run")
    unseen = list(itertools.islice(reverse_pairs(seed=2, max_length=max_length), 1000))
    right_by_length: dict[int, list[bool]] = {}
    for pair, translation in zip(
        unseen, translator([p.source for p in unseen], beam=1), strict=True
    ):
        right_by_length.setdefault(len(pair.source.split()), []).append(
            translation.text == pair.target
        )
    return right_by_length


def share(right_by_length, min_length, max_length):
    selected = [
        is_right
        for length, results in right_by_length.items()
        if min_length <= length <= max_length
        for is_right in results
    ]
    return sum(selected) / len(selected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "max_length"),
    [
        pytest.param(name, max_length, marks=[pytest.mark.soak] * (name in SOAK_ONLY), id=name)
        for name, max_length in MAX_LENGTHS.items()
    ],
)
def test_with_attention_every_length_is_reversed(name, max_length, tmp_path):
    right_by_length = learn_to_reverse(name, tmp_path, max_length)
    assert share(right_by_length, 2, MIDDLE) >= 0.99
    assert share(right_by_length, max_length - 2, max_length) >= 0.97


@pytest.mark.soak
@pytest.mark.parametrize(
    ("max_length", "least", "most"),
    [(SHORT, 0.99, 1), (LONG, 0, 0.6)],
)
def test_without_attention_only_short_inputs_are_reversed(max_length, least, most, tmp_path):
    right_by_length = learn_to_reverse("sutskever2014-small", tmp_path, max_length)
    assert least <= share(right_by_length, max_length - 2, max_length) <= most
