"""Generated sentence pair: both languages, word alignment, dependency heads, translation checks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

# A word: its spelling, the number of its node, and whether it is a content word of the node;
# an article, a case marker or an auxiliary is a function word.
Word = tuple[str, int, bool]

PUNCTUATION = frozenset(",.?!।")  # written without a space before it
OPENING, CLOSING, QUOTE = "“", "”", '"'
ROOT = -1


@dataclass(frozen=True, slots=True)
class TranslationCheck:
    """A contrastive check of a translation: phrases that must occur, and others that must not."""

    kind: str
    about: str
    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()

    def passes(self, translation: str) -> bool:
        """Whether a translation contains every right phrase and no wrong one."""
        text = f" {_without_punctuation(translation)} "
        contains = [
            f" {_without_punctuation(phrase)} " in text for phrase in (*self.right, *self.wrong)
        ]
        return all(contains[: len(self.right)]) and not any(contains[len(self.right) :])


@dataclass(frozen=True)
class SentencePair:
    """A sentence in English and in Hindi; `others` are other correct Hindi translations.

    Both languages share one dependency tree: `parents` gives the parent of each node, and every
    word belongs to a node. Word alignments and heads follow from it.
    """

    words: tuple[tuple[Word, ...], tuple[Word, ...]]
    parents: tuple[int, ...]
    others: tuple[str, ...] = ()
    checks: tuple[TranslationCheck, ...] = ()

    @cached_property
    def english(self) -> str:
        """The English sentence."""
        return join_words(self.words[0])

    @cached_property
    def hindi(self) -> str:
        """The Hindi sentence."""
        return join_words(self.words[1])

    @cached_property
    def sure(self) -> frozenset[tuple[int, int]]:
        """Sure links: content words of the same node, as (English word, Hindi word)."""
        return frozenset(self._links(content_only=True))

    @cached_property
    def possible(self) -> frozenset[tuple[int, int]]:
        """Possible links: the sure ones, and those of function words to content words."""
        return frozenset(self._links(content_only=False))

    @cached_property
    def links(self) -> str:
        """All links in Pharaoh format, English first: `0-0` is sure, `1?2` possible."""
        sure = self.sure
        return " ".join(
            f"{english}{'-' if (english, hindi) in sure else '?'}{hindi}"
            for english, hindi in sorted(self.possible)
        )

    def heads(self, side: int) -> tuple[int, ...]:
        """The head of each word, or ROOT; side 0 is English, 1 Hindi."""
        words = self._spaced_words(side)
        head_words = {node: index for index, (_, node, content) in enumerate(words) if content}
        if side == 0:  # of several words the first is the head in English, the last in Hindi
            head_words |= {n: i for i, (_, n, content) in reversed([*enumerate(words)]) if content}
        for index, (_, node, _) in enumerate(words):
            head_words.setdefault(node, index)
        return tuple(
            self._parent_word(node, head_words) if head_words[node] == index else head_words[node]
            for index, (_, node, _) in enumerate(words)
        )

    def _parent_word(self, node: int, head_words: dict[int, int]) -> int:
        """The head word of the nearest ancestor that has one."""
        node = self.parents[node]
        while node != ROOT and node not in head_words:
            node = self.parents[node]
        return head_words[node] if node != ROOT else ROOT

    def _links(self, *, content_only: bool) -> Iterable[tuple[int, int]]:
        by_node: dict[int, list[tuple[int, bool]]] = {}
        for index, (_, node, content) in enumerate(self._spaced_words(1)):
            by_node.setdefault(node, []).append((index, content))
        for english, (_, node, content) in enumerate(self._spaced_words(0)):
            for hindi, hindi_content in by_node.get(node, ()):
                if (content and hindi_content) or (not content_only and (content or hindi_content)):
                    yield english, hindi

    def _spaced_words(self, side: int) -> list[Word]:
        """The words that spaces separate; punctuation belongs to the word before it."""
        return [word for word in self.words[side] if word[0] not in PUNCTUATION and word[1] >= 0]


def join_words(words: Sequence[Word]) -> str:
    """Words as a sentence, without spaces before punctuation and with a capital letter."""
    text = " ".join([word[0] for word in words])
    for mark in PUNCTUATION:
        if mark in text:
            text = text.replace(" " + mark, mark)
    if OPENING in text:
        text = text.replace(OPENING + " ", QUOTE).replace(" " + CLOSING, QUOTE)
    return text[0].upper() + text[1:]


def _without_punctuation(text: str) -> str:
    """A text without punctuation, its words one space apart."""
    for mark in (*PUNCTUATION, QUOTE):
        text = text.replace(mark, " ")
    return " ".join(text.split())
