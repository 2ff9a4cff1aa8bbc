"""The tests of a comparison on the primer: by length, unseen, longer, and one per phenomenon."""

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from dhyan.compare.test_sets import Question, Sheet, Sheets, pharaoh
from dhyan.data.filters import distinct
from dhyan.data.primer import Twin, primer_twins
from dhyan.errors import UserError
from dhyan.evaluation.slices import LENGTHS
from dhyan.special_tokens import UNK
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

Tokenizers = tuple[Tokenizer, Tokenizer]
SEED = 1  # of the tests, whatever the seed of a training
SHORTEST, LONGEST = 2, 60
TRIES = 200  # twins looked at for each that is wanted
OTHERS = {
    "unseen": "words that were seen in training, in pairings that never were",
    "longer": "sentences longer than any in training",
    "context": "words whose translation depends on the words around them",
    "idiom": "idioms, and the same words meant literally",
    "attachment": "to which part of the sentence a phrase belongs",
    "agreement": "agreement over a distance",
}


@dataclass(frozen=True)
class Sizes:
    """How many sentences are asked: of each group of lengths, in each other test, to choose."""

    each_length: int
    each_test: int
    choosing: int


FEW, MANY = Sizes(40, 60, 60), Sizes(150, 300, 200)


def primer_tests(
    *,
    longest: int,
    sizes: Sizes,
    shortest: int = SHORTEST,
    words: Tokenizers | None = None,
    core: float = 1.0,
    backwards: bool = False,
    splits: Collection[str] = tuple(OTHERS),
) -> Sheets:
    """Sheets of so many English words, which training shares no sentence with.

    All words of "unseen" pairings are among those of the vocabularies, if these are given. A test
    that cannot be made of so few words is left out; that is logged, also of one that comes short.
    Backwards, from Hindi to English, what must be said to have understood is not known.
    """
    ask = _backwards if backwards else _forwards

    def some(split: str, count: int, least: int, most: int) -> list[Question]:
        made = primer_twins(split, seed=SEED, shortest=least, longest=most, core=core)
        asked = map(ask, islice(_possible(made), TRIES * count))
        seen = (one for one in asked if split != "unseen" or not words or _spelled(one, words))
        found = list(distinct(seen, lambda one: one.source, count))
        if len(found) < count:
            group = f", {least} to {most} words" if split == "random" else ""
            note = "" if found else "; left out"
            logger.info(f"test {split!r}{group}: found {len(found)} of {count} sentences{note}")
        return found

    groups = _lengths(shortest, longest)
    main = [one for group in groups for one in some("random", sizes.each_length, *group)]
    if not main:
        raise UserError(f"the primer has no sentence to test on of {shortest} to {longest} words")
    about = f"sentences of {shortest} to {longest} words, as many of each group of lengths"
    sheets = [Sheet("random", about, tuple(main))]
    for split in splits:
        if asked := some(split, sizes.each_test, shortest, longest):
            sheets.append(Sheet(split, OTHERS[split], tuple(asked)))
    valid = some("valid", sizes.choosing, shortest, longest)
    return Sheets(tuple(sheets), Sheet("valid", "the primer's own for validation", tuple(valid)))


def _possible(twins: Iterator[Twin]) -> Iterator[Twin]:
    """Those there are, up to the first that cannot be made."""
    try:
        yield from twins
    except UserError:
        return


def _lengths(shortest: int, longest: int) -> Iterator[tuple[int, int]]:
    """The shortest and longest of each group by length."""
    ends = [*(start - 1 for start in LENGTHS[1:]), longest]
    for first, last in zip(LENGTHS, ends, strict=True):
        if first <= longest and last >= shortest:
            yield max(first, shortest), min(last, longest)


def _spelled(question: Question, words: Tokenizers) -> bool:
    """Whether the vocabularies have every word."""
    sides = zip(words, (question.source, question.target), strict=True)
    return all(UNK not in tokenizer.encode(text) for tokenizer, text in sides)


def _forwards(twin: Twin) -> Question:
    return Question(twin.english, twin.hindi, twin.others, twin.links, twin.wanted)


def _backwards(twin: Twin) -> Question:
    turned = frozenset((b, a) for a, b in twin.sure), frozenset((b, a) for a, b in twin.possible)
    return Question(twin.hindi, twin.english, links=pharaoh(*turned))
