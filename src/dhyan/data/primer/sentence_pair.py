"""A sentence in both languages, with what joins its words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

# A word: how it is written, the number of the idea it belongs to, and whether it is what names
# the idea; an article, a case marker or an auxiliary only goes with it.
Word = tuple[str, int, bool]

SIGNS = frozenset(",.?!।")  # written close to the word before them
OPENING, CLOSING, QUOTE = "“", "”", '"'
ROOT = -1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What shows that a translation understood: words in a row it must say, others it must not."""

    kind: str
    about: str
    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()

    def met(self, translation: str) -> bool:
        """Whether a translation says every right thing and nothing wrong."""
        spaced = f" {_letters(translation)} "
        said = [f" {_letters(one)} " in spaced for one in (*self.right, *self.wrong)]
        return all(said[: len(self.right)]) and not any(said[len(self.right) :])


@dataclass(frozen=True)
class Twin:
    """One thing said in English and in Hindi; `others` says it in Hindi as correctly.

    Ideas form a tree that both languages share: `parents` gives for each the one it hangs on, and
    every word belongs to one. Links and heads follow from it.
    """

    words: tuple[tuple[Word, ...], tuple[Word, ...]]
    parents: tuple[int, ...]
    others: tuple[str, ...] = ()
    wanted: tuple[Wanted, ...] = ()

    @cached_property
    def english(self) -> str:
        """The English sentence."""
        return written(self.words[0])

    @cached_property
    def hindi(self) -> str:
        """The Hindi sentence."""
        return written(self.words[1])

    @cached_property
    def sure(self) -> frozenset[tuple[int, int]]:
        """Links between words that name the same idea, as (English word, Hindi word)."""
        return frozenset(self._links(named=True))

    @cached_property
    def possible(self) -> frozenset[tuple[int, int]]:
        """These, and links of what goes with a word to the other language's word."""
        return frozenset(self._links(named=False))

    @cached_property
    def links(self) -> str:
        """All links in Pharaoh's form, English first: `0-0` is sure, `1?2` possible."""
        sure = self.sure
        return " ".join(
            f"{one}{'-' if (one, other) in sure else '?'}{other}"
            for one, other in sorted(self.possible)
        )

    def heads(self, side: int) -> tuple[int, ...]:
        """For each word the word it depends on, or ROOT; side 0 is English, 1 Hindi."""
        words = self._written_words(side)
        named = {idea: place for place, (_, idea, names) in enumerate(words) if names}
        if side == 0:  # of several words the first is the chief in English, the last in Hindi
            named |= {i: p for p, (_, i, names) in reversed([*enumerate(words)]) if names}
        for place, (_, idea, _) in enumerate(words):
            named.setdefault(idea, place)
        return tuple(
            self._above(idea, named) if named[idea] == place else named[idea]
            for place, (_, idea, _) in enumerate(words)
        )

    def _above(self, idea: int, named: dict[int, int]) -> int:
        """The word of the nearest idea above that has one."""
        idea = self.parents[idea]
        while idea != ROOT and idea not in named:
            idea = self.parents[idea]
        return named[idea] if idea != ROOT else ROOT

    def _links(self, *, named: bool) -> Iterable[tuple[int, int]]:
        places: dict[int, list[tuple[int, bool]]] = {}
        for place, (_, idea, names) in enumerate(self._written_words(1)):
            places.setdefault(idea, []).append((place, names))
        for one, (_, idea, names) in enumerate(self._written_words(0)):
            for other, also in places.get(idea, ()):
                if (names and also) or (not named and (names or also)):
                    yield one, other

    def _written_words(self, side: int) -> list[Word]:
        """The words that spaces separate; a sign belongs to the word before it."""
        return [word for word in self.words[side] if word[0] not in SIGNS and word[1] >= 0]


def written(words: Sequence[Word]) -> str:
    """Words as a sentence: signs close to them, the first letter large."""
    text = " ".join([word[0] for word in words])
    for sign in SIGNS:
        if sign in text:
            text = text.replace(" " + sign, sign)
    if OPENING in text:
        text = text.replace(OPENING + " ", QUOTE).replace(" " + CLOSING, QUOTE)
    return text[0].upper() + text[1:]


def _letters(text: str) -> str:
    """A text without its signs, its words one space apart."""
    for sign in (*SIGNS, QUOTE):
        text = text.replace(sign, " ")
    return " ".join(text.split())
