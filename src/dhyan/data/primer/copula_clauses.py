"""Clauses of being: what something is like, where it is, and that it is there at all."""

from functools import cache

from dhyan.data.primer.clauses import Clause
from dhyan.data.primer.held_out_pairs import held_adjectives
from dhyan.data.primer.hindi_morphology import COPULA, WAS, F, hindi_verb
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import at, noun_phrase, someone, unknown
from dhyan.data.primer.pronouns import pronoun_phrase
from dhyan.data.primer.sentence_builder import Draft, Phrase
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.verb_groups import BE, BEEN
from dhyan.data.primer.word_classes import Noun

HONA = hindi_verb("होना")
LYING = ("food", "fruits", "kitchen", "school", "clothes", "tools")


def person(draft: Draft, idea: int, marker: str, room: int) -> Phrase:
    """Someone: by name, by a pronoun or by what he is."""
    dice = draft.random()
    if dice < 0.5:
        return someone(draft, idea, marker)
    if dice < 0.68 and marker in ("", "ने", "को"):
        key = "he" if dice < 0.56 else "she" if dice < 0.62 else "we"
        if draft.open(key):
            return someone(draft, idea, marker)
        return pronoun_phrase(draft, key, idea, marker, feminine=key == "she")
    nouns = read_lexicon().nouns
    noun = draft.word(nouns["people"] if dice < 0.85 else nouns["family"])
    return noun_phrase(draft, noun, idea, marker=marker, room=room)


def thing(draft: Draft, domains: tuple[str, ...]) -> Noun:
    """A thing of one of these domains."""
    return draft.word(read_lexicon().nouns[draft.one(domains)])


@cache
def with_qualities() -> tuple[Noun, ...]:
    """Every noun that some adjective goes with."""
    lexicon = read_lexicon()
    return tuple(noun for noun in lexicon.choices(tuple(lexicon.nouns)) if noun.adjectives)


@cache
def resting_places() -> tuple[Noun, ...]:
    """Furniture that things lie in or on."""
    return tuple(noun for noun in read_lexicon().nouns["furniture"] if noun.place)


def described(
    draft: Draft, mood: str, room: int, *, parent: int = ROOT, asks: str = "", negated: bool = False
) -> Clause:
    """The house is big."""
    noun = draft.word(with_qualities())
    idea = draft.idea(parent)
    subject = noun_phrase(draft, noun, idea, room=1 if room > 3 else 0)
    quality = draft.idea(idea)
    adjective = draft.partner(noun.adjectives, held_adjectives(noun))
    english: list[Word] = [(word, quality, True) for word in adjective.english]
    hindi: list[Word] = [(word, quality, True) for word in adjective.hindi[subject.form]]
    return being(draft, subject, (english, hindi), mood=mood, idea=idea, asks=asks, negated=negated)


def located(
    draft: Draft, mood: str, room: int, *, parent: int = ROOT, asks: str = "", negated: bool = False
) -> Clause:
    """The book is on the table, Ravi is at the station; asked where, the place is the question."""
    idea = draft.idea(parent)
    if draft.chance(0.5):
        subject, place = person(draft, idea, "", 1), draft.word(read_lexicon().nouns["places"])
    else:
        known = True if asks else None
        subject = noun_phrase(draft, thing(draft, LYING), idea, room=room - 3, known=known)
        place = draft.word(resting_places())
    if asks == "where":
        where = draft.idea(idea)
        english: list[Word] = [("where", where, True)]
        hindi: list[Word] = [("कहाँ", where, True)]
    else:
        english, hindi = at(draft, place, idea, room - 3)
    return being(draft, subject, (english, hindi), mood=mood, idea=idea, asks=asks, negated=negated)


def existing(draft: Draft, mood: str, room: int, *, parent: int = ROOT) -> Clause:
    """There are some books on the table: मेज़ पर कुछ किताबें हैं."""
    idea = draft.idea(parent)
    noun = thing(draft, LYING)
    while noun.mass or noun.pair:
        noun = thing(draft, LYING)
    subject = unknown(draft, noun, idea)
    english, hindi = at(draft, draft.word(resting_places()), idea, room - 3)
    is_, hai = copula(subject, mood, idea)
    words = [("there", idea, False), *is_, *subject.english, *english]
    return Clause(words, [*hindi, *subject.hindi, *hai], subject, idea)


def copula(subject: Phrase, mood: str, idea: int) -> tuple[list[Word], list[Word]]:
    """Is, was or will be."""
    if mood == "past":
        return [(BEEN[subject.number], idea, True)], [(WAS[subject.form], idea, True)]
    if mood == "future":
        will = HONA.future[subject.who][subject.form >= F]
        return [("will", idea, False), ("be", idea, True)], [(will, idea, True)]
    return [(BE[subject.number], idea, True)], [(COPULA[subject.who], idea, True)]


def being(
    draft: Draft,
    subject: Phrase,
    what: tuple[list[Word], list[Word]],
    *,
    mood: str,
    idea: int,
    asks: str = "",
    negated: bool = False,
) -> Clause:
    """A subject, a copula, and what the subject is."""
    (english, hindi), (is_, hai) = what, copula(subject, mood, idea)
    if negated:
        no = draft.idea(idea)
        is_.insert(1, ("not", no, True))
        hai.insert(0, ("नहीं", no, True))
    said = [*subject.hindi, *hindi, *hai]
    if not asks:
        return Clause([*subject.english, *is_, *english], said, subject, idea)
    turned = [is_[0], *subject.english, *is_[1:]]
    if asks == "where":
        return Clause([*english, *turned], said, subject, idea)
    whether: Word = ("क्या", draft.idea(idea), True)
    return Clause([*turned, *english], [whether, *said], subject, idea)
