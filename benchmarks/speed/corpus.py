"""Encoded corpora in memory: Multi30k, and random token ids of one length."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, product
from pathlib import Path

import numpy as np

from dhyan.config import Recipe
from dhyan.data.encode import encode_pairs
from dhyan.data.pairs import Pair
from dhyan.data.store import Examples, SequenceBuilder
from dhyan.data.training_sentences import TrainingSentences
from dhyan.special_tokens import BOS, EOS
from dhyan.text.tokenizer import Tokenizer

SPECIAL = 4  # ids of special tokens


@dataclass(frozen=True)
class EncodedCorpus:
    """A corpus of token ids, with the protocol of `dhyan.data.corpus.Corpus`."""

    examples: Examples
    tokenizers: tuple[Tokenizer, Tokenizer]
    validation: list[Pair] = field(default_factory=list)
    test: list[Pair] = field(default_factory=list)
    fingerprint: str = ""
    sample: str = ""

    def vocabulary_pairs(self, recipe: Recipe) -> Iterator[Pair]:
        """None: the tokenizers are trained already."""
        return iter(())

    def make_codecs(self, recipe: Recipe) -> tuple[Tokenizer, Tokenizer]:
        """Its tokenizers."""
        return self.tokenizers

    def encode(self, source: Tokenizer, target: Tokenizer, max_tokens: int) -> Examples:
        """Its token ids."""
        return self.examples

    def training_sentences(self) -> TrainingSentences | None:
        """None: they are not kept."""
        return None


@cache
def multi30k(folder: Path, vocabulary: int, *, first: int | None = None) -> EncodedCorpus:
    """English to German; the tokenizers are trained once and stored beside the text."""
    training, validation, test = (
        read(folder, part)[:first] for part in ("train", "valid", "test_2016_flickr")
    )
    source = _tokenizer(
        folder / f"bpe-{vocabulary}.en.json", [p.source for p in training], vocabulary
    )
    target = _tokenizer(
        folder / f"bpe-{vocabulary}.de.json", [p.target for p in training], vocabulary
    )
    examples = encode_pairs(training, source, target, max_tokens=256)
    return EncodedCorpus(examples, (source, target), validation, test, sample=training[0].source)


def read(folder: Path, part: str) -> list[Pair]:
    """The pairs of one part, line by line."""
    sides = [
        (folder / f"{part}.{language}").read_text(encoding="utf-8").splitlines()
        for language in ("en", "de")
    ]
    lines = enumerate(zip(*sides, strict=True), start=1)
    return [Pair(source, target, line) for line, (source, target) in lines]


def random_corpus(sentences: int, length: int, vocabulary: int, *, seed: int = 1) -> EncodedCorpus:
    """Random token ids; every source and every target has `length` tokens."""
    generator = np.random.default_rng(seed)
    sources, targets = SequenceBuilder(), SequenceBuilder()
    for _ in range(sentences):
        words = generator.integers(SPECIAL, vocabulary, (2, length - 1)).tolist()
        sources.add([*words[0], EOS])
        targets.add([BOS, *words[1], EOS])
    words = numbered_words(vocabulary)
    return EncodedCorpus(Examples(sources.build(), targets.build()), (words, words))


@cache
def numbered_words(vocabulary: int) -> Tokenizer:
    """A tokenizer with a vocabulary of generated words."""
    generated_words = ("".join(word) for word in product("abcdefghijklmnopqrstuvwxyz", repeat=4))
    sentence = " ".join(islice(generated_words, vocabulary))
    return Tokenizer.train([sentence], kind="words", size=vocabulary)


def _tokenizer(path: Path, sentences: Sequence[str], vocabulary: int) -> Tokenizer:
    if not path.exists():
        path.write_text(
            Tokenizer.train(sentences, kind="bpe", size=vocabulary).to_json(), encoding="utf-8"
        )
    return Tokenizer.from_json(path.read_text(encoding="utf-8"))
