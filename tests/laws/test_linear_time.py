"""Whatever a text is made of, twice as much of it takes no more than about twice the time."""

import gc
import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean

import pytest
import torch

from dhyan.attention_maps import AttentionMap
from dhyan.cli.shared_options import glossary_in
from dhyan.data.invisible_characters import unseen
from dhyan.data.leakage import Lookout, folded
from dhyan.data.read_pairs import Pair
from dhyan.data.writing_systems import script_of
from dhyan.decoding.glossary import Glossary
from dhyan.insight.terminal_heatmap import draw
from dhyan.special_tokens import NAMES
from dhyan.text import placeholders
from dhyan.text.bag_of_words import words_in
from dhyan.text.normalize import normalize
from dhyan.text.sentence_splitter import cut
from dhyan.text.tokenizer import KINDS, Tokenizer
from dhyan.text.word_vectors import most_frequent
from tests.model_check.valid_model import tokenizer

RATIO, STEEPEST = 2.3, 3.0  # of the mean doubling, and of one that outgrows a cache; a square has 4
FLOOR, ROUNDS = 0.05, 6
PARTS = {  # what takes long, or as much room as no cache has, gets a part of the largest text
    **dict.fromkeys(("encode", "decode", "terminal", "leaks", "boilerplate", "from-json"), 4),
    "forms": 4,
    **dict.fromkeys(("gather", "glossary", "called"), 16),
}
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
TERMS = Glossary.of({"a a": "b", "क": "ख", "http": "c"}, TOKENIZERS["bpe"])
WORDS = json.loads(TOKENIZERS["words"].to_json())
SAID_BY_ALL = "we hereby certify on this day and in this place that all of the following is true"


def leaks(text):
    """A text that is both tested and trained on, with what goes before and after it."""
    lookout = Lookout()
    lookout.expect([Pair(text, text, 1)], "test")
    lookout.see([Pair(text, text, 1), Pair(f"b {text}", f"{text} b", 2)], "train")
    return lookout.leaks()


def boilerplate(text):
    """Many sentences, all with the same beginning, and one again and again."""
    parts = (text[start : start + 40] for start in range(0, len(text), 40))
    many = [f"{SAID_BY_ALL} {number} {part}" for number, part in enumerate(parts)]
    pairs = [Pair(one, one, line) for line, one in enumerate(many + many[:1] * len(many))]
    lookout = Lookout()
    lookout.expect(pairs, "test")
    lookout.see(pairs, "train")
    return lookout.leaks()


def forms(text):
    """Many sentences of one form, with the same beginning and the same end."""
    many = [
        f"please bring the {number} {word} to our old house"
        for number in range(len(text) // 80)
        for word in ("box", f"{number}{text[:4]}")
    ]
    pairs = [Pair(one, one, line) for line, one in enumerate(many)]
    lookout = Lookout()
    lookout.expect(pairs, "test")
    lookout.see(pairs, "train")
    return lookout.leaks()


def taken_up(text):
    """A tokenizer of words whose words are parts of a text."""
    parts = [f"{text[start : start + 12]}{start}" for start in range(0, len(text), 12)]
    vocabulary = {word: id for id, word in enumerate((*NAMES, *parts))}
    table = {**WORDS, "model": {**WORDS["model"], "vocab": vocabulary}}
    return Tokenizer.from_json(json.dumps(table))


def written(text, read, name):
    """What is read of a text as a file."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / name
        path.write_text(text, encoding="utf-8")
        return read(path)


def terms_of(text):
    """A glossary of many terms."""
    parts = (text[start : start + 40] for start in range(0, len(text), 40))
    return "".join(f"{number}{part}a\t{part}b\n" for number, part in enumerate(parts))


def vectors_of(text):
    """Vectors of many words, and of one long one."""
    parts = [text[start : start + 12] for start in range(0, len(text) // 2, 12)]
    return "".join(f"{part}a 0.5 0.25\n" for part in [*parts, text[len(text) // 2 :]])


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
    "leaks": leaks,
    "boilerplate": boilerplate,
    "forms": forms,
    "from-json": taken_up,
    "vectors": lambda text: written(vectors_of(text), lambda path: most_frequent(path, 10**6), "v"),
    "terms": lambda text: written(terms_of(text), glossary_in, "terms.tsv"),
    "glossary": lambda text: Glossary.of({text: "a"}, TOKENIZERS["bpe"]),
    "called": TERMS.called,
    "terminal": lambda text: draw(
        AttentionMap("a", "cross", 1, (text,), (text,), torch.ones(1, 1, 1))
    ),
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


def sizes_for(name, largest):
    """Twice a doubling, up to the largest size or its part."""
    largest //= PARTS.get(name, PARTS.get(name.partition("-")[0], 1))
    return largest // 4, largest // 2, largest


def seconds(call, text):
    gc.disable()
    try:
        began = time.process_time()
        call(text)
        return time.process_time() - began
    finally:
        gc.enable()


def check(call, family, sizes, rounds=ROUNDS):
    """How much a doubling costs, by the best of several rounds, which end once that is no more
    than it may be. What takes no time at the largest size takes none at the others: it counts as 1.
    """
    texts = [text_of(family, size) for size in sizes]
    longest = seconds(call, texts[-1])
    if longest < FLOOR:
        return 1.0
    best = [*(seconds(call, text) for text in texts[:-1]), longest]
    for _ in range(rounds):
        ratios = [late / early for early, late in pairwise(best)]
        if geometric_mean(ratios) <= RATIO and max(ratios) <= STEEPEST:
            return geometric_mean(ratios)
        best = [min(old, seconds(call, text)) for old, text in zip(best, texts, strict=True)]
    pytest.fail(f"{family}: {sizes} bytes take {[f'{t:.3f} s' for t in best]}")


@pytest.mark.parametrize("family", WORST)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_twice_the_text_takes_twice_the_time(name, family):
    check(FUNCTIONS[name], family, sizes_for(name, 64_000))


@pytest.mark.soak
@pytest.mark.parametrize("name", FUNCTIONS)
def test_so_it_is_up_to_a_megabyte_or_a_part_of_it_where_that_takes_long(name):
    sizes = sizes_for(name, 1_000_000)
    ratios = {family: check(FUNCTIONS[name], family, sizes) for family in FAMILIES}
    worst = max(ratios, key=ratios.get)
    print(f"{name}: at most ×{ratios[worst]:.2f} a doubling ({worst}), to {sizes[-1]:,} bytes")


def test_what_is_quadratic_would_be_found():
    def slow(text):
        return sum(one == other for one in text for other in text)

    with pytest.raises(pytest.fail.Exception):
        check(slow, "one-word", (800, 1_600, 3_200), rounds=1)
