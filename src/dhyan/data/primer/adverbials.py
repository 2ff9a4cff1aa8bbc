"""Adverbials: place, time, manner, company, recipient and goal of a clause."""

from dataclasses import dataclass, field
from functools import cache

from dhyan.data.primer.lexicon import Adverb, Verb, read_lexicon
from dhyan.data.primer.noun_phrases import PERSONS, locative_phrase, name_phrase, noun_phrase
from dhyan.data.primer.sentence_builder import PLURAL, Phrase, SentenceBuilder, punctuation
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.verb_groups import ClausePlan, Modality, Tense

QUESTION_WORDS = {"where": "कहाँ", "when": "कब", "why": "क्यों"}
TIMES = {
    Tense.HABITUAL: "habitual",
    Tense.PRESENT_PROGRESSIVE: "progressive",
    Tense.SIMPLE_PAST: "past",
    Tense.PAST_PROGRESSIVE: "past",
    Tense.FUTURE: "future",
}
DATED = frozenset(("past", "future"))
OUTDOORS = frozenset(("places", "nature", "vehicles"))
DEPARTING = ("go",)


@dataclass(slots=True)
class Adverbials:
    """Adverbials by position: at the start, at the end, after the subject, before the verb."""

    english_first: list[Word] = field(default_factory=list)
    english_last: list[Word] = field(default_factory=list)
    hindi_first: list[Word] = field(default_factory=list)
    hindi_after_subject: list[Word] = field(default_factory=list)
    before_verb: list[Word] = field(default_factory=list)


def adverbials(
    builder: SentenceBuilder, plan: ClausePlan, subject: Phrase, node: int
) -> Adverbials:
    """The adverbials of a clause, as far as there is room.

    In Hindi they precede the objects: time, place, company, manner, recipient, goal. In English
    they follow them: recipient, goal, manner, place, company, time.
    """
    result = Adverbials()
    last = list[Word]()
    if plan.verb.recipient_nouns:
        last += _recipient(builder, plan.verb, node, subject, result)
    last += _goal(builder, plan, node, result)
    if plan.question in QUESTION_WORDS:
        _question(builder, plan.question, node, result)
    if plan.room > 1 and not plan.alone:
        last = _circumstances(builder, plan, subject, node, result) + last
    result.hindi_after_subject += last
    return result


def _recipient(
    builder: SentenceBuilder, verb: Verb, node: int, subject: Phrase, result: Adverbials
) -> list[Word]:
    """The recipient: to someone."""
    if "people" in verb.recipients and builder.flip(0.5):
        phrase = name_phrase(builder, node, "को")
    else:
        noun = builder.sample(verb.recipient_nouns)
        phrase = noun_phrase(builder, noun, node, marker="को", room=0, own=subject.pronoun)
    result.english_last += [("to", phrase.node, False), *phrase.english]
    return phrase.hindi


def _goal(builder: SentenceBuilder, plan: ClausePlan, node: int, result: Adverbials) -> list[Word]:
    """The goal or the origin of motion, with the words of the verb that stand apart beside it."""
    verb = plan.verb
    apart = apart_words(verb, node)
    if not verb.to or plan.question == "where":
        return apart
    from_goal = builder.flip(0.25) and verb.english.base != DEPARTING  # not "go from"
    noun = builder.sample(read_lexicon().nouns["places"])
    bare = noun.goal and not from_goal
    phrase = noun_phrase(builder, noun, node, oblique=True, room=0 if bare else 1, few=True)
    at = noun.adpositions[1] if noun.adpositions else "में"
    marker = "से" if from_goal else "" if bare else at
    direction = builder.add_node(phrase.node)
    to = "from" if from_goal else "to"
    if not marker:
        result.english_last += [(to, phrase.node, False), *phrase.english]
        return apart + phrase.hindi
    result.english_last += [(to, direction, True), *phrase.english]
    place: list[Word] = [*phrase.hindi, (marker, direction, True)]
    return place + apart if from_goal else apart + place


def apart_words(verb: Verb, node: int) -> list[Word]:
    """The words of a Hindi verb that precede its goal or object: दौड़कर घर जाना."""
    return [(word, node, True) for word in verb.hindi.before[: verb.apart]]


def _question(builder: SentenceBuilder, question: str, node: int, result: Adverbials) -> None:
    """A question word, where, when or why; in Hindi it stands right before the verb."""
    question_node = builder.add_node(node)
    result.english_first.append((question, question_node, True))
    result.before_verb.append((QUESTION_WORDS[question], question_node, True))


def _circumstances(
    builder: SentenceBuilder,
    plan: ClausePlan,
    subject: Phrase,
    node: int,
    result: Adverbials,
) -> list[Word]:
    """Manner, place, company and time; returns the Hindi words that precede the objects."""
    verb, question, room = plan.verb, plan.question, plan.room
    after_subject, manner = list[Word](), list[Word]()
    if subject.person and not _excludes_manner(plan) and builder.flip(0.12):
        manner = _adverb_words(
            builder, builder.sample(read_lexicon().manner), node, result.english_last
        )
    if (
        room > 2
        and subject.animate
        and not (question or excludes_place(verb))
        and builder.flip(0.25)
    ):
        english, hindi = locative_phrase(
            builder, builder.sample(read_lexicon().nouns["places"]), node, room - 3
        )
        result.english_last += english
        after_subject += hindi
    if (
        room > 3
        and subject.person
        and subject.number != PLURAL
        and not (manner or has_human_object(verb))
        and builder.flip(0.12)
    ):
        after_subject += _company(builder, node, result)
    after_subject += manner
    times = times_of(TIMES.get(plan.tense, "")) if plan.modality == Modality.PLAIN else ()
    if not times or question == "when" or not builder.flip(0.3):
        return after_subject
    if plan.fronts and not question and builder.flip(0.4):
        result.hindi_first += _time(builder, times, node, result.english_first)
        result.english_first.append(punctuation(","))
        return after_subject
    return _time(builder, times, node, result.english_last) + after_subject


def _time(
    builder: SentenceBuilder, times: tuple[Adverb, ...], node: int, english: list[Word]
) -> list[Word]:
    """An adverb of time or, in the past and future, sometimes a date."""
    if times[0].tense in DATED and builder.flip(0.2):
        return _date(builder, node, english)
    return _adverb_words(builder, builder.sample(times), node, english)


def _date(builder: SentenceBuilder, node: int, english: list[Word]) -> list[Word]:
    """A date: on 5 March, 5 मार्च को."""
    month, day = builder.choose(read_lexicon().months), str(1 + int(28 * builder.random()))
    own = builder.add_node(node)
    number, on = builder.add_node(own), builder.add_node(own)
    english += [("on", on, True), (day, number, True)]
    english += [(word, own, True) for word in month.english]
    month_words = [(word, own, True) for word in month.hindi]
    return [(day, number, True), *month_words, ("को", on, True)]


def _adverb_words(
    builder: SentenceBuilder, adverb: Adverb, node: int, english: list[Word]
) -> list[Word]:
    """Append an adverb to the English words; returns the Hindi ones."""
    own = builder.add_node(node)
    english += [(word, own, True) for word in adverb.english]
    return [(word, own, True) for word in adverb.hindi]


def _excludes_manner(plan: ClausePlan) -> bool:
    """Whether a clause takes no adverb of manner."""
    return bool(plan.verb.rests or plan.verb.befalls or plan.question or plan.negated)


@cache
def has_human_object(verb: Verb) -> bool:
    """Whether people are objects or recipients; company ("with Ravi") would then be ambiguous."""
    return any(noun.domain in PERSONS for noun in (*verb.object_nouns, *verb.recipient_nouns))


@cache
def excludes_place(verb: Verb) -> bool:
    """Whether a verb takes no place: it has a goal, or a place as its object."""
    return verb.to or any(noun.domain in OUTDOORS for noun in verb.object_nouns)


@cache
def times_of(tense: str) -> tuple[Adverb, ...]:
    """The adverbs of time that go with a tense."""
    return tuple(time for time in read_lexicon().times if tense and time.tense == tense)


def _company(builder: SentenceBuilder, node: int, result: Adverbials) -> list[Word]:
    friend = name_phrase(builder, node)
    company_node = builder.add_node(friend.node)
    result.english_last += [("with", company_node, True), *friend.english]
    return [*friend.hindi, ("के", company_node, True), ("साथ", company_node, True)]
