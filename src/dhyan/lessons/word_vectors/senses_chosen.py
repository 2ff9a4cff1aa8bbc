"""The words that stand for a word's senses: chosen by hand, by a rule, or given."""

from collections import Counter
from collections.abc import Sequence

from dhyan.data.primer.ambiguous_words import in_context
from dhyan.data.primer.core_vocabulary import ambiguous
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_builder import Draft
from dhyan.errors import UserError
from dhyan.lessons.parsing import parse_words
from dhyan.text.bag_of_words import words_in
from dhyan.text.word_vectors import Vectors

BY_HAND, BY_RULE, GIVEN = "hand", "rule", ""
MONEY, RIVER = "money cheque loan fees salary bill", "river sea lake pond boat island"
LOOKED_AT = 10_000  # sentences of the primer about words of several senses
Groups = tuple[tuple[str, ...], tuple[str, ...]]
"""Some words of one sense, and some of another."""


def chosen_words(
    word: str, one: str | Sequence[str] | None, other: str | Sequence[str] | None
) -> tuple[str, Groups]:
    """The words of both senses, and how they were chosen."""
    if one is None and other is None:
        if word == "bank":
            return BY_HAND, (parse_words(MONEY), parse_words(RIVER))
        return BY_RULE, beside_each_sense(word)
    if one is None or other is None:
        raise UserError("one and other: give words of both senses, or of neither")
    groups = parse_words(one), parse_words(other)
    for name, group in zip(("one", "other"), groups, strict=True):
        if len(group) < 2:
            raise UserError(
                f"{name}: has 1 word; give two or more, so that each has others beside it"
            )
    return GIVEN, groups


def with_vectors(groups: Groups, vectors: Vectors, word: str) -> Groups:
    """Those that have vectors."""
    one, other = (tuple(each for each in group if each in vectors.words) for group in groups)
    if min(len(one), len(other)) < 2:
        raise UserError(f"too few words beside {word!r} have vectors: give one and other")
    return one, other


def beside_each_sense(word: str, count: int = 6) -> Groups:
    """For the first two senses of a word, as the primer labels them, the nouns that go with each.

    They are those that come in the most sentences with the word in one sense, and in none with it
    in the other.
    """
    if word not in ambiguous():
        raise UserError(
            f"the primer has no senses of {word!r}: give one and other, some words of either, or "
            f"ask for one of {', '.join(ambiguous())}"
        )
    lexicon = read_lexicon()
    senses = [{" ".join(form) for form in one.noun.hindi} for one in lexicon.senses[word][:2]]
    nouns = {form[0].lower() for one in lexicon.words.values() for form in (one.english, one.plural)
             if len(form) == 1}  # fmt: skip
    met: list[Counter[str]] = [Counter() for _ in senses]
    for seed in range(LOOKED_AT):
        twin = in_context(Draft(seed))
        [wanted] = twin.wanted
        if wanted.about == word:
            for own, forms in zip(met, senses, strict=True):
                own.update(nouns.intersection(words_in(twin.english)) if wanted.right[0] in forms
                           else ())  # fmt: skip
    one, other = (
        tuple(noun for noun, _ in own.most_common() if not rest[noun])[:count]
        for own, rest in (met, met[::-1])
    )
    return one, other
