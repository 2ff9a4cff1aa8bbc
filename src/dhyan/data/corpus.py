"""The corpus of a recipe: pairs read from files or generated, with a validation set held out."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Protocol, runtime_checkable

from dhyan.config import Data, Recipe, Text
from dhyan.config.sections import PICTURE_CODECS, SYMBOL_CODECS
from dhyan.data.corpus_files import (
    CorpusFiles,
    ExcludePositions,
    ExcludeSources,
    check_columns,
    mixed_files,
    named_languages,
    read_files,
    read_first_pairs,
    training_files,
    validation_files,
)
from dhyan.data.encode import WeightedPairs, encode_corpus, train_codecs, vocabulary_pairs
from dhyan.data.filters import distinct
from dhyan.data.leakage import find_leaks
from dhyan.data.pairs import Pair, Side
from dhyan.data.perspectives import perspective_pairs
from dhyan.data.prepared_corpus import open_prepared, prepared_languages
from dhyan.data.primer import MAX_WORDS, MIN_WORDS, generate_sentences, primer_pairs
from dhyan.data.read_report import ReadReport
from dhyan.data.rendered_text import rendered_text_pairs
from dhyan.data.scene_cells import scene_cell_pairs
from dhyan.data.scenes import scene_pairs
from dhyan.data.script_check import warn_about_scripts
from dhyan.data.store import Examples
from dhyan.data.synthetic import (
    copy_pairs,
    counting_pairs,
    date_pairs,
    number_pairs,
    reverse_pairs,
)
from dhyan.data.training_sentences import MAX_SENTENCES, TrainingSentences
from dhyan.errors import UserError, spell
from dhyan.text.codec import SourceCodec
from dhyan.text.languages import parse_language
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

SYNTHETIC_TASKS: dict[str, Callable[..., Iterator[Pair]]] = {
    "copy": copy_pairs,
    "counting": counting_pairs,
    "dates": date_pairs,
    "numbers": number_pairs,
    "perspectives": perspective_pairs,
    "rendered_text": rendered_text_pairs,
    "reverse": reverse_pairs,
    "scene_cells": scene_cell_pairs,
    "scenes": scene_pairs,
}
CAPTION_SIDES: dict[str, Side] = {"scenes": "target", "scene_cells": "source"}
MAX_HELD_OUT, MIN_PAIRS_TO_HOLD_OUT, HOLD_OUT_EVERY = 1000, 200, 50
SAMPLE_LENGTH = 30  # characters of a source that is good to look at


@runtime_checkable
class Corpus(Protocol):
    """Pairs to train on and pairs to validate on, as text or prepared as token ids."""

    @property
    def validation(self) -> list[Pair]:
        """The pairs that are not trained on, as text; may be empty."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of the pairs, which identifies the corpus."""
        ...

    @property
    def sample(self) -> str:
        """A source sentence to try the model on."""
        ...

    def vocabulary_pairs(self, recipe: Recipe) -> Iterator[Pair]:
        """The pairs that vocabularies are trained on, with their placeholders."""
        ...

    def make_codecs(self, recipe: Recipe) -> tuple[SourceCodec, Tokenizer]:
        """The codecs of both sides."""
        ...

    def encode(self, source: SourceCodec, target: Tokenizer, max_tokens: int) -> Examples:
        """The training pairs as token ids; the over-long are left out and logged."""
        ...

    def training_sentences(self) -> TrainingSentences | None:
        """The source sentences that are trained on; None if they are not known, or too many."""
        ...


@dataclass(frozen=True)
class TextCorpus:
    """Pairs as text, in one part or several; `text` says how they become token ids."""

    parts: tuple[WeightedPairs, ...]
    validation: list[Pair]
    fingerprint: str
    text: Text

    @property
    def training(self) -> list[Pair]:
        """Every pair to train on."""
        return list(chain.from_iterable(part.pairs for part in self.parts))

    @property
    def sample(self) -> str:
        """A source sentence to try the model on, of a length that is good to look at."""
        pairs = self.validation[:50] or islice(self.parts[0].pairs, 50)
        return min(pairs, key=lambda pair: abs(len(pair.source) - SAMPLE_LENGTH)).source

    def vocabulary_pairs(self, recipe: Recipe) -> Iterator[Pair]:
        """The pairs that vocabularies are trained on."""
        return vocabulary_pairs(self.parts, recipe.text)

    def make_codecs(self, recipe: Recipe) -> tuple[SourceCodec, Tokenizer]:
        """The codecs of both sides, trained on the first training pairs."""
        return train_codecs(recipe, self.vocabulary_pairs(recipe))

    def encode(self, source: SourceCodec, target: Tokenizer, max_tokens: int) -> Examples:
        """The training pairs as token ids; the over-long are left out and logged."""
        return encode_corpus(self.parts, source, target, text=self.text, max_tokens=max_tokens)

    def training_sentences(self) -> TrainingSentences | None:
        """The source sentences of at most a million pairs, over-long ones too; None of pictures.

        A model that reads characters is as good on words that it never saw, so they are not kept.
        """
        if self.text.source_codec in PICTURE_CODECS:
            return None
        pairs = chain.from_iterable(part.pairs for part in self.parts)
        sources = [pair.source for pair in islice(pairs, MAX_SENTENCES + 1)]
        if len(sources) > MAX_SENTENCES:
            return None
        return TrainingSentences.of(sources, words=self.text.source_codec != "characters")


def load_corpus(recipe: Recipe) -> Corpus:
    """The corpus of a recipe: read, generated, or prepared before."""
    if recipe.data.prepared:
        recipe.check()
        return open_prepared(Path(recipe.data.prepared), recipe)
    return read_corpus(recipe)


def read_corpus(recipe: Recipe, *, stream: bool = False) -> TextCorpus:
    """The corpus of a recipe as text; a stream reads the files each time, and keeps few pairs.

    Both hold out the same pairs.
    """
    recipe.check()
    data = recipe.data
    check_columns(data)
    read_first_pairs(data)
    if data.synthetic:
        main = _generate_main(data, recipe.training.seed)
    elif data.source:
        main = _read_main(data, stream=stream)
    else:
        options = spell(command_line="--source FILE --target FILE", python="data.source")
        raise UserError(f"no training data: name it with {options}")
    parts = [WeightedPairs(ExcludeSources(main.pairs, main.held_out_sources))]
    fingerprints = [main.fingerprint]
    for files in mixed_files(data):
        mixed = read_files(files, stream=stream)
        parts.append(
            WeightedPairs(ExcludeSources(mixed.pairs, main.held_out_sources), files.weight)
        )
        fingerprints.append(f"{mixed.fingerprint}@{files.weight!r}")
        _log_mixed(files, mixed.count, sum(1 for _ in parts[-1].pairs))
    names = [data.source, *(mixed_data.source for mixed_data in data.mix)]
    targets = [data.target, *(mixed_data.target for mixed_data in data.mix)]
    pairs = (part.pairs for part in parts)
    training = zip(names, targets, pairs, strict=True)
    leaks = find_leaks(data, main.validation, training, _text_sides(recipe.text))
    if any(leaks):
        fingerprints.append(_log_dropped(parts, leaks, names))
        parts = [
            replace(part, pairs=ExcludePositions(part.pairs, positions))
            for part, positions in zip(parts, leaks, strict=True)
        ]
    if not stream:
        parts = [replace(part, pairs=list(part.pairs)) for part in parts]
    return TextCorpus(tuple(parts), main.validation, " ".join(fingerprints), recipe.text)


def _text_sides(text: Text) -> list[Side]:
    """The sides that are text, whose sentences can leak: no labels, tags or pictures."""
    sides: list[Side] = []
    if text.source_codec not in PICTURE_CODECS:
        sides.append("source")
    if text.target_codec not in SYMBOL_CODECS:
        sides.append("target")
    return sides


def _log_dropped(
    parts: Sequence[WeightedPairs], leaks: Sequence[frozenset[int]], names: Sequence[str]
) -> str:
    """Log how many pairs `data.drop_leaks` drops; returns a fingerprint of them."""
    report = ReadReport()
    for part, positions, name in zip(parts, leaks, names, strict=True):
        count = 0
        for count, pair in enumerate(part.pairs, 1):
            if count - 1 in positions:
                report.keep(pair)
        if positions:
            text = f"{len(positions):,} of {count:,} training pairs"
            logger.info(f"{name}: dropped {text} that hold validation or test sentences")
        if len(positions) == count:
            raise UserError(f"{name}: every pair holds a validation or test sentence; leave it out")
    return f"without {report.fingerprint}"


def with_languages(recipe: Recipe) -> Recipe:
    """The recipe with its languages: those it names, else of the task, the columns or the files.

    A prepared folder has its own languages, and replaces a task as files do.
    """
    data = recipe.data
    if data.prepared:
        data = replace(data, synthetic="")
        default = prepared_languages(Path(data.prepared))
    else:
        default = _task_languages(data)
        if data.source and not data.synthetic:
            default = named_languages(data)
    source = parse_language(data.source_language) or default[0]
    target = parse_language(data.target_language) or default[1]
    return replace(recipe, data=replace(data, source_language=source, target_language=target))


def _task_languages(data: Data) -> tuple[str, str]:
    """The languages of a task; the primer has both directions, by default from English."""
    source, target = parse_language(data.source_language), parse_language(data.target_language)
    if data.synthetic == "primer" and (source == "hi" or target == "en"):
        return "hi", "en"
    if data.synthetic == "perspectives":
        return "en", "en"
    if data.synthetic == "rendered_text":
        return "", "hi"
    if data.synthetic in CAPTION_SIDES:
        caption = _caption_language(data)["language"]
        return (caption, "") if CAPTION_SIDES[data.synthetic] == "source" else ("", caption)
    return ("en", "hi") if data.synthetic in ("primer", "numbers", "counting") else ("", "")


@dataclass(frozen=True)
class _MainCorpus:
    """The corpus that validation pairs are held out from; their sources are not trained on."""

    pairs: Iterable[Pair]
    validation: list[Pair]
    fingerprint: str
    held_out_sources: frozenset[str]


def _read_main(data: Data, *, stream: bool) -> _MainCorpus:
    training = read_files(training_files(data), stream=stream)
    warn_about_scripts(data, training.pairs)
    if files := validation_files(data):
        validation = read_files(files, stream=False)
        fingerprint = f"{training.fingerprint} {validation.fingerprint}"
        return _MainCorpus(training.pairs, list(validation.pairs), fingerprint, frozenset())
    held_out = _hold_out(training.pairs, training.count)
    return _MainCorpus(training.pairs, held_out, training.fingerprint, _sources(held_out))


def _generate_main(data: Data, seed: int) -> _MainCorpus:
    """Generated pairs with distinct sources, so that no validation pair is trained on."""
    count = min(MAX_HELD_OUT, max(1, data.pairs // 10))
    logger.info(
        f"generating {data.pairs:,} pairs of '{data.synthetic}', and {count:,} to validate on"
    )
    if data.synthetic == "primer":
        pairs = _distinct_sources(generate_primer(data, "train", seed), data.pairs)
        held_out = _distinct_sources(generate_primer(data, "valid", seed), count)
    else:
        generate, options = SYNTHETIC_TASKS[data.synthetic], _caption_language(data)
        pairs = _distinct_sources(generate(seed=seed, **options), data.pairs + count)
        held_out = _evenly_spaced(pairs, len(pairs), count)
    report = ReadReport()
    for pair in pairs:
        report.keep(pair)
    return _MainCorpus(pairs, held_out, report.fingerprint, _sources(held_out))


def _caption_language(data: Data) -> dict[str, str]:
    """The language of the captions of a generator that has several, by default English."""
    if data.synthetic not in CAPTION_SIDES:
        return {}
    named = getattr(data, f"{CAPTION_SIDES[data.synthetic]}_language")
    return {"language": parse_language(named) or "en"}


def generate_primer(data: Data, split: str, seed: int) -> Iterator[Pair]:
    """Pairs of the primer with the lengths and the direction of the recipe."""
    backwards = _task_languages(data) == ("hi", "en")
    sentences = generate_sentences(
        split,
        seed=seed,
        min_words=max(MIN_WORDS, data.min_words),
        max_words=data.max_words or MAX_WORDS,
        core_share=data.core_share,
    )
    return primer_pairs(sentences, backwards=backwards)


def _distinct_sources(pairs: Iterator[Pair], count: int) -> list[Pair]:
    """The first `count` pairs with distinct sources, if there are as many."""
    chosen = list(distinct(pairs, lambda pair: pair.source, count))
    if len(chosen) < count:
        logger.warning(f"found no more than {len(chosen):,} distinct pairs of {count:,}")
    return chosen


def valid_options() -> str:
    """The options that name the validation set, for a message."""
    return spell(command_line="--valid-source and --valid-target", python="valid")


def _hold_out(pairs: Iterable[Pair], total: int) -> list[Pair]:
    """Pairs to validate on, if there are enough."""
    held_out = _evenly_spaced(pairs, total, min(MAX_HELD_OUT, total // HOLD_OUT_EVERY))
    remaining = ExcludeSources(pairs, _sources(held_out))
    training = (
        _count(remaining, pairs, total - len(held_out)) if total >= MIN_PAIRS_TO_HOLD_OUT else 0
    )
    if not training:
        logger.warning("too few distinct pairs to hold some out: there is no validation")
        return []
    shared = total - training - len(held_out)
    logger.info(
        f"held out {len(held_out):,} pairs to validate on"
        + (f" and left out {shared:,} more that share a source with them" if shared else "")
        + f"; name your own with {valid_options()}"
    )
    return held_out


def _count(remaining: ExcludeSources, pairs: Iterable[Pair], most: int) -> int:
    """The number of remaining pairs; of a stream, whose pass takes long, all or none."""
    if isinstance(pairs, list):
        return sum(1 for _ in remaining)
    return most if any(True for _ in remaining) else 0


def _evenly_spaced(pairs: Iterable[Pair], total: int, count: int) -> list[Pair]:
    return list(islice(pairs, 0, None, max(1, total // max(count, 1))))[:count]


def _sources(pairs: Iterable[Pair]) -> frozenset[str]:
    return frozenset(pair.source for pair in pairs)


def _log_mixed(files: CorpusFiles, total: int, remaining: int) -> None:
    name = files.source
    if not remaining:
        raise UserError(
            f"data.mix: every source of {name} is held out to validate on; leave it out"
        )
    shared = f", {total - remaining:,} left out that share a source with those held out"
    weight = f"{files.weight:g} times an epoch"
    logger.info(
        f"mixed in {remaining:,} pairs of {name}, {weight}{shared if remaining < total else ''}"
    )
