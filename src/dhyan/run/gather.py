"""The pairs a recipe asks for: read from files or made by code, and split for validation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from dhyan.config import Data, Recipe
from dhyan.data.corpus import Pair, Tally, read_pairs
from dhyan.data.lines import TABLES, kind_of
from dhyan.data.synthetic import number_pairs, reverse_pairs
from dhyan.faults import Fault
from dhyan.text.languages import known_language, language_of

Say = Callable[[str], None]
TASKS: dict[str, Callable[..., Iterator[Pair]]] = {
    "numbers": number_pairs,
    "reverse": reverse_pairs,
}
MOST_HELD_OUT, FEWEST_TO_HOLD_OUT, HOLD_OUT_EVERY, MOST_TRIES = 1000, 200, 50, 20


@dataclass(frozen=True)
class Corpus:
    """The pairs to train on, those to validate on, and a fingerprint of all that was read."""

    training: list[Pair]
    validation: list[Pair]
    fingerprint: str


def gather(recipe: Recipe, say: Say) -> Corpus:
    """Read or make the recipe's pairs; what was dropped or held out is said."""
    data = recipe.data
    if data.task:
        if data.valid_source:
            raise Fault(f"data.task = {data.task!r} makes its own pairs: name no validation files")
        return _made(data, recipe.training.seed, say)
    if not data.source:
        raise Fault("no training data: name it with --source FILE --target FILE")
    pairs, fingerprint = _read(data, data.source, data.target, say)
    if data.valid_source:
        validation, other = _read(data, data.valid_source, data.valid_target, say)
        return Corpus(pairs, validation, f"{fingerprint} {other}")
    return _split(pairs, fingerprint, say)


def with_languages(recipe: Recipe) -> Recipe:
    """The recipe with its languages named, by the ends of the file names where it names none."""
    data = recipe.data
    made = {"numbers": ("en", "hi")}.get(data.task, ("", ""))
    source = known_language(data.source_language) or made[0] or language_of(data.source)
    target = known_language(data.target_language) or made[1] or language_of(data.target)
    return replace(recipe, data=replace(data, source_language=source, target_language=target))


def _read(data: Data, source: str, target: str, say: Say) -> tuple[list[Pair], str]:
    tally = Tally()
    named = data.columns and kind_of(Path(source)) in TABLES
    pairs = read_pairs(
        Path(source),
        Path(target) if target else None,
        columns=(data.columns[0], data.columns[1]) if named else None,
        tally=tally,
    )
    read = list(pairs)
    for line in tally.lines():
        say(f"{source}: {line}")
    return read, tally.fingerprint


def _made(data: Data, seed: int, say: Say) -> Corpus:
    """Different sources only, so that no validation pair is trained on."""
    held_out = min(MOST_HELD_OUT, max(1, data.pairs // 10))
    different, tally = {}, Tally()
    for pair in islice(TASKS[data.task](seed=seed), MOST_TRIES * (data.pairs + held_out)):
        if pair.source not in different:
            different[pair.source] = pair
            tally.keep(pair)
        if len(different) == data.pairs + held_out:
            break
    training, validation = _hold_out(list(different.values()), held_out)
    say(f"made {len(training):,} pairs of '{data.task}', and {held_out:,} to validate on")
    return Corpus(training, validation, tally.fingerprint)


def _split(pairs: list[Pair], fingerprint: str, say: Say) -> Corpus:
    """Hold some pairs out, if there are enough."""
    training, held_out = _hold_out(pairs, min(MOST_HELD_OUT, len(pairs) // HOLD_OUT_EVERY))
    if len(pairs) < FEWEST_TO_HOLD_OUT or not training:
        say("too few different pairs to hold some out: the run is not validated")
        return Corpus(pairs, [], fingerprint)
    shared = len(pairs) - len(training) - len(held_out)
    say(
        f"held out {len(held_out):,} pairs to validate on"
        + (f" and left out {shared:,} more that share a source with them" if shared else "")
        + "; name your own with --valid-source and --valid-target"
    )
    return Corpus(training, held_out, fingerprint)


def _hold_out(pairs: list[Pair], count: int) -> tuple[list[Pair], list[Pair]]:
    """So many pairs, evenly spread, and the rest without any that shares a source with them."""
    held_out = pairs[:: len(pairs) // max(count, 1)][:count]
    known = {pair.source for pair in held_out}
    return [pair for pair in pairs if pair.source not in known], held_out
