"""Time grows linearly with the length of a text, whatever the text is made of.

Python's own work is counted in trace events, which do not depend on the machine. Work inside
regular expressions and the tokenizers is not traced: there a long text, for which quadratic time
would be half a minute, must stay within a limit of CPU time far above what it takes. The soak
measures the ratio of CPU times.
"""

import gc
import json
import re
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean

import jaxtyping
import pytest
import torch

from dhyan.attention_maps import AttentionMap
from dhyan.cli.translate_io import read_glossary
from dhyan.data.filters import invisible_classes
from dhyan.data.leakage import LeakageDetector, fold_words
from dhyan.data.pairs import Pair
from dhyan.decoding.glossary import Glossary
from dhyan.insight.terminal_heatmap import draw
from dhyan.special_tokens import NAMES
from dhyan.text import placeholders
from dhyan.text.bag_of_words import words_in
from dhyan.text.languages import script_of
from dhyan.text.normalize import normalize
from dhyan.text.sentence_splitter import split_paragraph
from dhyan.text.tokenizer import KINDS, Tokenizer
from dhyan.text.word_vectors import read_most_frequent
from tests.model_check.valid_model import tokenizer as learn_tokenizer

RATIO, STEEPEST = 2.3, 3.0  # of the mean doubling, and of one that outgrows a cache; a square has 4
FLOOR, ROUNDS = 0.05, 6
TRACED_SIZES, EVENT_RATIO = (2_000, 4_000, 8_000), 2.6  # a square has 4
SIZE_FACTORS = {
    "vectors": 4,  # its events triple once between 4,000 and 6,000 bytes; above, they double
    **dict.fromkeys(("glossary", "called", "boilerplate"), 0.5),  # many events a byte
}
LONG, CPU_SECONDS = 128_000, 10.0  # bytes; a quadratic regular expression takes half a minute
PARTS = {  # slow functions, and those that outgrow every cache, get a part of the longest text
    **dict.fromkeys(("encode", "decode", "terminal", "leaks", "boilerplate", "from-json"), 4),
    "forms": 4,
    **dict.fromkeys(("gather", "glossary", "called"), 16),
}
PLACEHOLDERS = placeholders.KINDS
TOKENIZERS = {kind: learn_tokenizer(kind, 400) for kind in KINDS}
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
TERMS = Glossary.build({"a a": "b", "क": "ख", "http": "c"}, TOKENIZERS["bpe"])
WORDS = json.loads(TOKENIZERS["words"].to_json())
BOILERPLATE = "we hereby certify on this day and in this place that all of the following is true"


def leakage(text):
    """A text in both the test and the training set, with words before and after it."""
    detector = LeakageDetector()
    detector.add_test([Pair(text, text, 1)], "test")
    detector.scan([Pair(text, text, 1), Pair(f"b {text}", f"{text} b", 2)], "train")
    return detector.report()


def boilerplate(text):
    """Many sentences with the same beginning, and one of them many times."""
    parts = (text[start : start + 40] for start in range(0, len(text), 40))
    sentences = [f"{BOILERPLATE} {number} {part}" for number, part in enumerate(parts)]
    pairs = [
        Pair(text, text, line)
        for line, text in enumerate(sentences + sentences[:1] * len(sentences))
    ]
    detector = LeakageDetector()
    detector.add_test(pairs, "test")
    detector.scan(pairs, "train")
    return detector.report()


def forms(text):
    """Many sentences of one form, with the same beginning and the same end."""
    sentences = [
        f"please bring the {number} {word} to our old house"
        for number in range(len(text) // 80)
        for word in ("box", f"{number}{text[:4]}")
    ]
    pairs = [Pair(text, text, line) for line, text in enumerate(sentences)]
    detector = LeakageDetector()
    detector.add_test(pairs, "test")
    detector.scan(pairs, "train")
    return detector.report()


def words_tokenizer(text):
    """A tokenizer of words whose words are parts of a text."""
    parts = [f"{text[start : start + 12]}{start}" for start in range(0, len(text), 12)]
    vocabulary = {word: id for id, word in enumerate((*NAMES, *parts))}
    table = {**WORDS, "model": {**WORDS["model"], "vocab": vocabulary}}
    return Tokenizer.from_json(json.dumps(table))


def from_file(text, read, name):
    """What `read` makes of a file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
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
    "sentences": lambda text: split_paragraph(text, "hi"),
    "mask": lambda text: placeholders.mask(text, PLACEHOLDERS),
    "mask-pair": lambda text: placeholders.mask_pair(text, text, PLACEHOLDERS),
    "restore": lambda text: placeholders.restore(text, ("one", "two")),
    "words": words_in,
    "folded": fold_words,
    "unseen": lambda text: list(invisible_classes(text)),
    "script": lambda text: script_of("hi").is_missing(text),
    "leaks": leakage,
    "boilerplate": boilerplate,
    "forms": forms,
    "from-json": words_tokenizer,
    "vectors": lambda text: from_file(
        vectors_of(text), lambda path: read_most_frequent(path, 10**6), "v"
    ),
    "terms": lambda text: from_file(terms_of(text), read_glossary, "terms.tsv"),
    "glossary": lambda text: Glossary.build({text: "a"}, TOKENIZERS["bpe"]),
    "called": TERMS.target_terms,
    "terminal": lambda text: draw(
        AttentionMap("a", "cross", 1, (text,), (text,), torch.ones(1, 1, 1))
    ),
    **{f"encode-{kind}": tokenizer.encode for kind, tokenizer in TOKENIZERS.items()},
    **{
        f"decode-{kind}": lambda text, tokenizer=tokenizer: tokenizer.decode(tokenizer.encode(text))
        for kind, tokenizer in TOKENIZERS.items()
    },
    **{
        f"gather-{kind}": lambda text, tokenizer=tokenizer: tokenizer.words(
            tokenizer.encode(text), text
        )
        for kind, tokenizer in TOKENIZERS.items()
    },
}


def text_of(family, size):
    """A text of so many bytes of a family, with a wide end."""
    unit = FAMILIES[family]
    return unit * (size // len(unit.encode())) + "W" * 200


def part_of(name, size):
    """The size for a function, or its part of it."""
    return size // PARTS.get(name, PARTS.get(name.partition("-")[0], 1))


def trace_events(call, text):
    """How many calls, lines and returns of Python a call takes; those of shape checks not counted."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    jaxtyping.config.update("jaxtyping_disable", True)
    gc.disable()  # finalizers of other objects are traced too
    sys.settrace(trace)
    try:
        call(text)
    finally:
        sys.settrace(before)
        gc.enable()
        jaxtyping.config.update("jaxtyping_disable", False)
    return count


def cpu_seconds(call, text):
    gc.disable()
    try:
        start = time.process_time()
        call(text)
        return time.process_time() - start
    finally:
        gc.enable()


def check_events(call, family, sizes=TRACED_SIZES):
    """Fail if twice the text takes more than about twice the events."""
    texts = [text_of(family, size) for size in sizes]
    call(texts[0])  # what is computed once and cached
    counts = [trace_events(call, text) for text in texts]
    ratios = [late / early for early, late in pairwise(counts)]
    assert max(ratios) <= EVENT_RATIO, f"{family}: {sizes} bytes take {counts} events"


def check_cpu_seconds(call, family, size, limit=CPU_SECONDS):
    """Fail if a long text takes longer than the limit."""
    seconds = cpu_seconds(call, text_of(family, size))
    assert seconds <= limit, f"{family}: {size:,} bytes take {seconds:.1f} s"


def doubling(call, family, sizes, rounds=ROUNDS):
    """How much longer twice the text takes, by the best of several rounds of CPU time.

    The rounds end once the ratio is no more than it may be. What takes no time at the largest size
    counts as 1.
    """
    texts = [text_of(family, size) for size in sizes]
    longest = cpu_seconds(call, texts[-1])
    if longest < FLOOR:
        return 1.0
    best = [*(cpu_seconds(call, text) for text in texts[:-1]), longest]
    for _ in range(rounds):
        ratios = [late / early for early, late in pairwise(best)]
        if geometric_mean(ratios) <= RATIO and max(ratios) <= STEEPEST:
            return geometric_mean(ratios)
        best = [min(old, cpu_seconds(call, text)) for old, text in zip(best, texts, strict=True)]
    pytest.fail(f"{family}: {sizes} bytes take {[f'{t:.3f} s' for t in best]}")


@pytest.mark.parametrize("family", WORST)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_twice_the_text_takes_twice_the_python_events(name, family):
    sizes = [int(SIZE_FACTORS.get(name, 1) * size) for size in TRACED_SIZES]
    check_events(FUNCTIONS[name], family, sizes)


@pytest.mark.parametrize("family", WORST)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_long_text_takes_no_quadratic_time(name, family):
    check_cpu_seconds(FUNCTIONS[name], family, part_of(name, LONG))


@pytest.mark.soak
@pytest.mark.parametrize("name", FUNCTIONS)
def test_twice_the_text_takes_twice_the_cpu_time(name):
    size = part_of(name, 1_000_000)
    sizes = (size // 4, size // 2, size)
    ratios = {family: doubling(FUNCTIONS[name], family, sizes) for family in FAMILIES}
    worst = max(ratios, key=ratios.get)
    print(f"{name}: at most ×{ratios[worst]:.2f} a doubling ({worst}), to {size:,} bytes")


def test_a_quadratic_python_loop_fails():
    def compare_all(text):
        return sum(left == right for left in text for right in text)

    with pytest.raises(AssertionError, match="events"):
        check_events(compare_all, "one-word", (200, 400, 800))


def test_a_quadratic_regular_expression_fails():
    search = re.compile("a*b").search
    with pytest.raises(AssertionError, match="bytes take"):
        check_cpu_seconds(search, "one-word", 60_000, limit=0.1)
