"""The pairs a recipe asks for: read from files or made by code, and split for validation."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from dhyan.config import Data, Recipe, Text
from dhyan.data.corpus import Corpus, sample_of
from dhyan.data.deduplicate import distinct
from dhyan.data.encode import Part, encode_parts, learn_tokenizers, lessons
from dhyan.data.examples import Examples
from dhyan.data.leakage_check import check_leaks
from dhyan.data.pairs import Pair, Tally
from dhyan.data.prepared_corpus import open_prepared, prepared_languages
from dhyan.data.primer import primer_pairs, primer_twins
from dhyan.data.script_warnings import say_scripts
from dhyan.data.sources import (
    Reading,
    Without,
    check_columns,
    check_first,
    mixed_files,
    read_once,
    training_files,
    validation_files,
)
from dhyan.data.synthetic import copy_pairs, date_pairs, number_pairs, reverse_pairs
from dhyan.errors import UserError
from dhyan.text.languages import known_language, language_of
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

TASKS: dict[str, Callable[..., Iterator[Pair]]] = {
    "copy": copy_pairs,
    "dates": date_pairs,
    "numbers": number_pairs,
    "reverse": reverse_pairs,
}
LONGEST = 60  # words of a sentence of the primer, if nothing else is asked for
MOST_HELD_OUT, FEWEST_TO_HOLD_OUT, HOLD_OUT_EVERY = 1000, 200, 50


@dataclass(frozen=True)
class TextCorpus:
    """Pairs as text, in one part or several; `text` is how they become ids."""

    parts: tuple[Part, ...]
    validation: list[Pair]
    fingerprint: str
    text: Text

    @property
    def training(self) -> list[Pair]:
        """Every pair to train on."""
        return list(chain.from_iterable(part.pairs for part in self.parts))

    @property
    def sample(self) -> str:
        """A source sentence to try the model on."""
        return sample_of(self.validation or list(islice(self.parts[0].pairs, 50)))

    def lessons(self, recipe: Recipe) -> Iterator[Pair]:
        """The pairs that vocabularies are learned from."""
        return lessons(self.parts, recipe.text)

    def learn(self, recipe: Recipe) -> tuple[Tokenizer, Tokenizer]:
        """The vocabularies of both sides, learned from the first training pairs."""
        return learn_tokenizers(recipe.text, self.lessons(recipe))

    def encode(self, source: Tokenizer, target: Tokenizer, longest: int) -> Examples:
        """The training pairs as ids; the over-long are left out and said."""
        return encode_parts(self.parts, source, target, text=self.text, longest=longest)


def gather(recipe: Recipe) -> Corpus:
    """The recipe's pairs, read, made, or prepared before; what was dropped or held out is said."""
    if recipe.data.prepared:
        recipe.check()
        return open_prepared(Path(recipe.data.prepared), recipe)
    return read_corpus(recipe)


def read_corpus(recipe: Recipe, *, stream: bool = False) -> TextCorpus:
    """The recipe's pairs as text; a stream reads them anew each time, and keeps few in memory.

    Both hold out the same pairs.
    """
    recipe.check()
    data = recipe.data
    check_columns(data)
    check_first(data)
    if data.task:
        first = _made(data, recipe.training.seed)
    elif data.source:
        first = _read(data, stream=stream)
    else:
        raise UserError("no training data: name it with --source FILE --target FILE")
    parts, prints = [Part(Without(first.pairs, first.known))], [first.fingerprint]
    for reading in mixed_files(data):
        pairs, total, fingerprint = read_once(reading, stream=stream)
        parts.append(Part(Without(pairs, first.known), reading.weight))
        prints.append(f"{fingerprint}@{reading.weight!r}")
        _say_mixed(reading, total, sum(1 for _ in parts[-1].pairs))
    trained = zip([data.source, *(one.source for one in data.mix)], parts, strict=True)
    check_leaks(data, first.validation, ((name, part.pairs) for name, part in trained))
    if not stream:
        parts = [replace(part, pairs=list(part.pairs)) for part in parts]
    return TextCorpus(tuple(parts), first.validation, " ".join(prints), recipe.text)


def with_languages(recipe: Recipe) -> Recipe:
    """The recipe with its languages named, by the ends of the file names where it names none.

    A prepared folder has its own, and stands in for a task as files do.
    """
    data = recipe.data
    if data.prepared:
        data = replace(data, task="")
        made = prepared_languages(Path(data.prepared))
    else:
        made = _made_languages(data)
    source = known_language(data.source_language) or made[0] or language_of(data.source)
    target = known_language(data.target_language) or made[1] or language_of(data.target)
    return replace(recipe, data=replace(data, source_language=source, target_language=target))


def _made_languages(data: Data) -> tuple[str, str]:
    """The languages of a task; the primer goes either way, from English if nothing is said."""
    said = known_language(data.source_language), known_language(data.target_language)
    if data.task == "primer" and (said[0] == "hi" or said[1] == "en"):
        return "hi", "en"
    return ("en", "hi") if data.task in ("primer", "numbers") else ("", "")


@dataclass(frozen=True)
class _First:
    """The corpus that validation pairs are held out from; `known` sources are not trained on."""

    pairs: Iterable[Pair]
    validation: list[Pair]
    fingerprint: str
    known: frozenset[str]


def _read(data: Data, *, stream: bool) -> _First:
    pairs, total, fingerprint = read_once(training_files(data), stream=stream)
    say_scripts(data, pairs)
    if own := validation_files(data):
        validation, _, other = read_once(own, stream=False)
        return _First(pairs, list(validation), f"{fingerprint} {other}", frozenset())
    held_out = _hold_out(pairs, total)
    return _First(pairs, held_out, fingerprint, _sources(held_out))


def _made(data: Data, seed: int) -> _First:
    """Different sources only, so that no validation pair is trained on."""
    count = min(MOST_HELD_OUT, max(1, data.pairs // 10))
    logger.info(f"making {data.pairs:,} pairs of '{data.task}', and {count:,} to validate on")
    if data.task == "primer":
        pairs = _different(primer_of(data, "train", seed), data.pairs)
        held_out = _different(primer_of(data, "valid", seed), count)
    else:
        pairs = _different(TASKS[data.task](seed=seed), data.pairs + count)
        held_out = _spread(pairs, len(pairs), count)
    tally = Tally()
    for pair in pairs:
        tally.keep(pair)
    return _First(pairs, held_out, tally.fingerprint, _sources(held_out))


def primer_of(data: Data, split: str, seed: int) -> Iterator[Pair]:
    """The primer's sentences as the recipe wants them: how long, and in which direction."""
    backwards = _made_languages(data) == ("hi", "en")
    shortest, longest = max(2, data.min_words), data.max_words or LONGEST
    twins = primer_twins(split, seed=seed, shortest=shortest, longest=longest, core=data.core_share)
    return primer_pairs(twins, backwards=backwards)


def _different(pairs: Iterator[Pair], count: int) -> list[Pair]:
    """So many pairs with different sources, if there are as many."""
    found = list(distinct(pairs, lambda pair: pair.source, count))
    if len(found) < count:
        logger.warning(f"found no more than {len(found):,} different ones")
    return found


def _hold_out(pairs: Iterable[Pair], total: int) -> list[Pair]:
    """Some pairs to validate on, if there are enough."""
    held_out = _spread(pairs, total, min(MOST_HELD_OUT, total // HOLD_OUT_EVERY))
    rest = Without(pairs, _sources(held_out))
    left = sum(1 for _ in rest) if total >= FEWEST_TO_HOLD_OUT else 0
    if not left:
        logger.warning("too few different pairs to hold some out: the run is not validated")
        return []
    shared = total - left - len(held_out)
    logger.info(
        f"held out {len(held_out):,} pairs to validate on"
        + (f" and left out {shared:,} more that share a source with them" if shared else "")
        + "; name your own with --valid-source and --valid-target"
    )
    return held_out


def _spread(pairs: Iterable[Pair], total: int, count: int) -> list[Pair]:
    """So many pairs, evenly spread."""
    return list(islice(pairs, 0, None, max(1, total // max(count, 1))))[:count]


def _sources(pairs: Iterable[Pair]) -> frozenset[str]:
    return frozenset(pair.source for pair in pairs)


def _say_mixed(reading: Reading, total: int, left: int) -> None:
    name = reading.source
    if not left:
        raise UserError(
            f"data.mix: every source of {name} is held out to validate on; leave it out"
        )
    shared = f", {total - left:,} left out that share a source with those held out"
    often = f"{reading.weight:g} times an epoch"
    logger.info(f"mixed in {left:,} pairs of {name}, {often}{shared if left < total else ''}")
