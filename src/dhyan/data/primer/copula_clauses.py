"""Copular clauses: predicate adjectives, locatives and existentials."""

from functools import cache

from dhyan.data.primer.clauses import Clause
from dhyan.data.primer.hindi_morphology import COPULA, WAS, F, hindi_verb
from dhyan.data.primer.lexicon import Noun, read_lexicon
from dhyan.data.primer.noun_phrases import (
    indefinite_phrase,
    locative_phrase,
    name_phrase,
    noun_phrase,
    pronoun_phrase,
)
from dhyan.data.primer.sentence_builder import Phrase, SentenceBuilder
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.verb_groups import BE, BEEN
from dhyan.data.primer.vocabulary_subsets import held_out_adjectives

HONA = hindi_verb("होना")
LYING = ("food", "fruits", "kitchen", "school", "clothes", "tools")


def person(builder: SentenceBuilder, node: int, marker: str, room: int) -> Phrase:
    """Someone: by name, by a pronoun or by what he is."""
    dice = builder.random()
    if dice < 0.5:
        return name_phrase(builder, node, marker)
    if dice < 0.68 and marker in ("", "ने", "को"):
        key = "he" if dice < 0.56 else "she" if dice < 0.62 else "we"
        if builder.is_ambiguous(key):
            return name_phrase(builder, node, marker)
        return pronoun_phrase(builder, key, node, marker, feminine=key == "she")
    nouns = read_lexicon().nouns
    noun = builder.sample(nouns["people"] if dice < 0.85 else nouns["family"])
    return noun_phrase(builder, noun, node, marker=marker, room=room)


def sample_thing(builder: SentenceBuilder, domains: tuple[str, ...]) -> Noun:
    """A thing of one of these domains."""
    return builder.sample(read_lexicon().nouns[builder.choose(domains)])


@cache
def with_qualities() -> tuple[Noun, ...]:
    """Every noun that some adjective goes with."""
    lexicon = read_lexicon()
    return tuple(noun for noun in lexicon.choices(tuple(lexicon.nouns)) if noun.adjectives)


@cache
def surfaces() -> tuple[Noun, ...]:
    """Furniture that things lie in or on."""
    return tuple(noun for noun in read_lexicon().nouns["furniture"] if noun.place)


def adjective_clause(
    builder: SentenceBuilder,
    time: str,
    room: int,
    *,
    parent: int = ROOT,
    question: str = "",
    negated: bool = False,
) -> Clause:
    """The house is big."""
    noun = builder.sample(with_qualities())
    node = builder.add_node(parent)
    subject = noun_phrase(builder, noun, node, room=1 if room > 3 else 0)
    quality = builder.add_node(node)
    adjective = builder.sample_partner(noun.adjectives, held_out_adjectives(noun))
    english: list[Word] = [(word, quality, True) for word in adjective.english]
    hindi: list[Word] = [(word, quality, True) for word in adjective.hindi[subject.form]]
    return copular_clause(
        builder, subject, (english, hindi), time=time, node=node, question=question, negated=negated
    )


def locative_clause(
    builder: SentenceBuilder,
    time: str,
    room: int,
    *,
    parent: int = ROOT,
    question: str = "",
    negated: bool = False,
) -> Clause:
    """The book is on the table, Ravi is at the station; asked where, the place is कहाँ."""
    node = builder.add_node(parent)
    if builder.flip(0.5):
        subject, place = (
            person(builder, node, "", 1),
            builder.sample(read_lexicon().nouns["places"]),
        )
    else:
        definite = True if question else None
        subject = noun_phrase(
            builder, sample_thing(builder, LYING), node, room=room - 3, definite=definite
        )
        place = builder.sample(surfaces())
    if question == "where":
        where = builder.add_node(node)
        english: list[Word] = [("where", where, True)]
        hindi: list[Word] = [("कहाँ", where, True)]
    else:
        english, hindi = locative_phrase(builder, place, node, room - 3)
    return copular_clause(
        builder, subject, (english, hindi), time=time, node=node, question=question, negated=negated
    )


def existential_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT
) -> Clause:
    """There are some books on the table: मेज़ पर कुछ किताबें हैं."""
    node = builder.add_node(parent)
    noun = sample_thing(builder, LYING)
    while noun.mass or noun.pair:
        noun = sample_thing(builder, LYING)
    subject = indefinite_phrase(builder, noun, node)
    english, hindi = locative_phrase(builder, builder.sample(surfaces()), node, room - 3)
    is_, hai = copula(subject, time, node)
    words = [("there", node, False), *is_, *subject.english, *english]
    return Clause(words, [*hindi, *subject.hindi, *hai], subject, node)


def copula(subject: Phrase, time: str, node: int) -> tuple[list[Word], list[Word]]:
    """Is, was or will be."""
    if time == "past":
        return [(BEEN[subject.number], node, True)], [(WAS[subject.form], node, True)]
    if time == "future":
        will = HONA.future[subject.who][subject.form >= F]
        return [("will", node, False), ("be", node, True)], [(will, node, True)]
    return [(BE[subject.number], node, True)], [(COPULA[subject.who], node, True)]


def copular_clause(
    builder: SentenceBuilder,
    subject: Phrase,
    what: tuple[list[Word], list[Word]],
    *,
    time: str,
    node: int,
    question: str = "",
    negated: bool = False,
) -> Clause:
    """A subject, a copula, and what the subject is."""
    (english, hindi), (is_, hai) = what, copula(subject, time, node)
    if negated:
        no = builder.add_node(node)
        is_.insert(1, ("not", no, True))
        hai.insert(0, ("नहीं", no, True))
    hindi_words = [*subject.hindi, *hindi, *hai]
    if not question:
        return Clause([*subject.english, *is_, *english], hindi_words, subject, node)
    inverted = [is_[0], *subject.english, *is_[1:]]
    if question == "where":
        return Clause([*english, *inverted], hindi_words, subject, node)
    whether: Word = ("क्या", builder.add_node(node), True)
    return Clause([*inverted, *english], [whether, *hindi_words], subject, node)
