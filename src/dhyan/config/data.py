"""The recipe's sections [data] and [text]: where the pairs come from, and how they are tokenized."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dhyan.config.setting_declaration import REQUIRED, setting

Placeholder = Literal["url", "email", "number", "tag"]
Task = Literal["", "primer", "numbers", "reverse", "copy", "dates"]


@dataclass(frozen=True, kw_only=True)
class MixedCorpus:
    """A further corpus of `data.mix`."""

    source: str = setting(REQUIRED, "Source sentences, or a .tsv, .csv or .jsonl with both sides.")
    target: str = setting("", "Target sentences, line by line; none for a table.")
    weight: float = setting(
        1.0, "Upsampling: how often a pair comes in an epoch, on average.", low=1e-6, high=1000.0
    )


@dataclass(frozen=True, kw_only=True)
class Data:
    """Pairs of sentences: two text files, one table, a prepared folder, or a synthetic task."""

    source: str = setting("", "Source sentences, or a .tsv, .csv or .jsonl with both sides.")
    target: str = setting("", "Target sentences, line by line; none for a table.")
    columns: tuple[str, ...] = setting(
        (), "Columns of a table: those of the source and of the target.", lengths=(0, 2)
    )
    valid_source: str = setting("", "Validation set, source side; else pairs are held out.")
    valid_target: str = setting("", "Validation set, target side; none for a table.")
    test_source: str = setting("", "Test set, source side: used only to find leakage.")
    test_target: str = setting("", "Test set, target side; none for a table.")
    allow_leakage: bool = setting(
        False, "Leakage: train although validation or test sentences are in the training text."
    )
    task: Task = setting("", "Synthetic task that generates its own pairs; none for files.")
    pairs: int = setting(20_000, "Size of the synthetic task.", low=1, high=10**9, unit="pairs")
    core_share: float = setting(
        1.0, "Core vocabulary: share of the primer's words that are used.", low=0.01, high=1.0
    )
    source_language: str = setting("", "Source language code; else that of the file name.")
    target_language: str = setting("", "Target language code; else that of the file name.")
    max_tokens: int = setting(
        256,
        "Longest side of a pair; longer pairs are dropped.",
        low=1,
        high=1_000_000,
        unit="tokens",
    )
    min_words: int = setting(0, "Length filter: fewest words of a side.", low=0, high=1_000_000)
    max_words: int = setting(
        0, "Length filter: most words of a side; 0 for any.", low=0, high=1_000_000
    )
    max_length_ratio: float = setting(
        0.0, "Length filter: most words of a side per word of the other; 0 for any.", low=0.0
    )
    mix: tuple[MixedCorpus, ...] = setting((), "Further corpora, each with its weight.")
    prepared: str = setting("", "Folder that `dhyan data prepare` wrote, instead of text.")

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        for side in ("", "valid_", "test_"):
            target, source = getattr(self, f"{side}target"), getattr(self, f"{side}source")
            if target and not source:
                option = f"--{side.replace('_', '-')}source"
                yield (
                    f"{side}target",
                    f"{target!r} has no source side; name data.{side}source too ({option} FILE)",
                )
        if 0 < self.max_length_ratio < 1:
            yield (
                "max_length_ratio",
                f"{self.max_length_ratio:g} allows no pair; give 1 or more, or 0 for any",
            )
        if 0 < self.max_words < self.min_words:
            yield (
                "max_words",
                f"{self.max_words} is below data.min_words = {self.min_words}; raise it",
            )
        if self.task:
            yield from self._unused_with_task()

    def _unused_with_task(self) -> Iterator[tuple[str, str]]:
        """A task generates its own pairs; only the primer follows the bounds on words."""
        files = [name for name in ("source", "mix", "prepared") if getattr(self, name)]
        if files:
            others = " and ".join(f"data.{name}" for name in files)
            yield "task", f"{self.task!r} makes its own pairs, and {others} names others; drop one"
        bounds = () if self.task == "primer" else ("min_words", "max_words")
        for name in (*bounds, "max_length_ratio", "valid_source", "test_source"):
            if getattr(self, name):
                yield name, f"data.task = {self.task!r} makes its own pairs; leave it out"


@dataclass(frozen=True, kw_only=True)
class Text:
    """Tokenizers and vocabularies, learned from the training pairs."""

    tokenizer: Literal["unigram", "bpe", "words", "characters"] = setting(
        "unigram",
        "Tokenizer: unigram (Kudo, 2018), BPE (Sennrich et al., 2016), words, characters.",
    )
    source_vocabulary_size: int = setting(
        8000, "Source vocabulary size; with shared_vocabulary, that of both sides.", low=1
    )
    target_vocabulary_size: int = setting(8000, "Target vocabulary size.", low=1)
    shared_vocabulary: bool = setting(False, "Shared vocabulary: one for source and target.")
    vocabulary_pairs: int = setting(
        1_000_000, "Training pairs that the tokenizers are learned from, the first ones.", low=1
    )
    bpe_dropout: float = setting(
        0.0, "BPE dropout (Provilkov et al., 2020): probability to skip a merge in training.",
        low=0.0, high=0.99, only_with="tokenizer=bpe",
    )  # fmt: skip
    placeholders: tuple[Placeholder, ...] = setting(
        (), "Placeholders: kinds of spans that are copied verbatim instead of translated."
    )

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        yield from ()
