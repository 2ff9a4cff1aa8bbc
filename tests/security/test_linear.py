"""Whatever a text is made of, twice as much of it takes no more than about twice the time."""

import gc
import time
from math import log2

import pytest
import torch

from dhyan.data.leak import folded
from dhyan.data.scripts import script_of
from dhyan.data.signs import unseen
from dhyan.insight.terminal import draw
from dhyan.text import placeholders
from dhyan.text.counts import words_in
from dhyan.text.normalize import normalize
from dhyan.text.sentences import cut
from dhyan.text.tokenizer import KINDS
from dhyan.watch import AttentionMap
from tests.security.good import tokenizer

RATIO, FLOOR, ROUNDS = 2.3, 0.05, 6
KEPT = placeholders.KINDS
TOKENIZERS = {kind: tokenizer(kind, 400) for kind in KINDS}
FAMILIES = {
    "one-word": "a",
    "white-space": " \u00a0",
    "marks-out-of-order": "\u0301\u0323\u093c",
    "stops": "A. ",
    "addresses-in-brackets": "http://(",
    "tags-that-never-close": "<a ",
    "braces": "{{a",
    "numbers": "1,",
    "mails-without-end": "a.a@",
    "formats": "%(a",
    "dandas-and-bars": "क|।",
    "joiners": "क\u200d",
    "half-flags": "🇮",
    "nothing-to-see": "\u200b\ue000",
    "no-width": "\u2060",
    "quotes": "।'\" ",
}
WORST = (
    "marks-out-of-order", "addresses-in-brackets", "tags-that-never-close", "mails-without-end",
    "dandas-and-bars", "no-width",
)  # fmt: skip
FUNCTIONS = {
    "normalize": normalize,
    "sentences": lambda text: cut(text, "hi"),
    "mask": lambda text: placeholders.mask(text, KEPT),
    "mask-pair": lambda text: placeholders.mask_pair(text, text, KEPT),
    "restore": lambda text: placeholders.restore(text, ("one", "two")),
    "words": words_in,
    "folded": folded,
    "unseen": lambda text: list(unseen(text)),
    "script": lambda text: script_of("hi").strange(text),
    "terminal": lambda text: draw(AttentionMap("a", (text,), (text,), torch.ones(1, 1, 1))),
    **{f"encode-{kind}": one.encode for kind, one in TOKENIZERS.items()},
    **{
        f"decode-{kind}": lambda text, one=one: one.decode(one.encode(text))
        for kind, one in TOKENIZERS.items()
    },
    **{
        f"gather-{kind}": lambda text, one=one: one.words(one.encode(text), text)
        for kind, one in TOKENIZERS.items()
    },
}


def text_of(family, size):
    """So many bytes of a family, and a wide end."""
    unit = FAMILIES[family]
    return unit * (size // len(unit.encode())) + "W" * 200


def seconds(call, text):
    gc.disable()
    try:
        began = time.process_time()
        call(text)
        return time.process_time() - began
    finally:
        gc.enable()


def check(call, family, sizes, rounds=ROUNDS):
    """The best of several rounds, until the mean doubling is no steeper than it may be."""
    texts = [text_of(family, size) for size in sizes]
    longest = seconds(call, texts[-1])
    if longest < FLOOR:
        return
    doublings = log2(sizes[-1] / sizes[0])
    best = [*(seconds(call, text) for text in texts[:-1]), longest]
    for _ in range(rounds):
        if (best[-1] / best[0]) ** (1 / doublings) <= RATIO:
            return
        best = [min(old, seconds(call, text)) for old, text in zip(best, texts, strict=True)]
    pytest.fail(f"{sizes} bytes take {[f'{t:.3f} s' for t in best]}")


@pytest.mark.parametrize("family", WORST)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_twice_the_text_takes_twice_the_time(name, family):
    check(FUNCTIONS[name], family, (1_000, 4_000, 16_000))


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_so_it_is_up_to_a_megabyte(name, family):
    check(FUNCTIONS[name], family, (62_500, 250_000, 1_000_000))


def test_what_is_quadratic_would_be_found():
    def slow(text):
        return sum(one == other for one in text for other in text)

    with pytest.raises(pytest.fail.Exception):
        check(slow, "one-word", (200, 800, 3_200), rounds=1)
