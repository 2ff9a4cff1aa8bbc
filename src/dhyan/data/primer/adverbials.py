"""Where, when, how, with whom and to whom: what a clause says besides who does what."""

from dataclasses import dataclass, field
from functools import cache

from dhyan.data.primer.lexicon import Adverb, Verb, read_lexicon
from dhyan.data.primer.noun_phrases import PERSONS, locative_phrase, name_phrase, noun_phrase
from dhyan.data.primer.sentence_builder import PLURAL, Phrase, SentenceBuilder, punctuation
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.verb_groups import ClausePlan, Modality, Tense

ASKED = {"where": "कहाँ", "when": "कब", "why": "क्यों"}
TIMES = {
    Tense.HABITUAL: "habitual",
    Tense.PRESENT_PROGRESSIVE: "progressive",
    Tense.SIMPLE_PAST: "past",
    Tense.PAST_PROGRESSIVE: "past",
    Tense.FUTURE: "future",
}
DATED = frozenset(("past", "future"))
OUTDOORS = frozenset(("places", "nature", "vehicles"))
STRAIGHT = frozenset(("जा", "आ", "लौट", "भाग", "चल"))  # one goes घर, but runs घर तक
FLEEING, LEAVING = "भाग", ("go",)


@dataclass(slots=True)
class Adverbials:
    """What English says first and last; Hindi first, after the doer, and before the verb."""

    english_first: list[Word] = field(default_factory=list)
    english_last: list[Word] = field(default_factory=list)
    hindi_first: list[Word] = field(default_factory=list)
    hindi_between: list[Word] = field(default_factory=list)
    before_verb: list[Word] = field(default_factory=list)


def adverbials(builder: SentenceBuilder, plan: ClausePlan, doer: Phrase, node: int) -> Adverbials:
    """All that is said around a verb, as far as there is room.

    Hindi says it before the objects, as time, place, company, manner, recipient, goal; English
    after them, as recipient, goal, manner, place, company, time.
    """
    around = Adverbials()
    last = list[Word]()
    if plan.verb.recipient_nouns:
        last += _recipient(builder, plan.verb, node, doer, around)
    if plan.verb.to and plan.question != "where":
        last += _goal(builder, plan.verb, node, around)
    if plan.question in ASKED:
        _question(builder, plan.question, node, around)
    if plan.room > 1 and not plan.alone:
        last = _circumstances(builder, plan, doer, node, around) + last
    around.hindi_between += last
    return around


def _recipient(
    builder: SentenceBuilder, verb: Verb, node: int, doer: Phrase, around: Adverbials
) -> list[Word]:
    """To whom."""
    if "people" in verb.recipients and builder.flip(0.5):
        found = name_phrase(builder, node, "को")
    else:
        noun = builder.sample(verb.recipient_nouns)
        found = noun_phrase(builder, noun, node, marker="को", room=0, own=doer.pronoun)
    around.english_last += [("to", found.node, False), *found.english]
    return found.hindi


def _goal(builder: SentenceBuilder, verb: Verb, node: int, around: Adverbials) -> list[Word]:
    """Where to, or where from."""
    away = builder.flip(0.25) and verb.english.base != LEAVING  # one leaves a place, and goes to it
    noun = builder.sample(read_lexicon().nouns["places"])
    straight = verb.hindi.stem in STRAIGHT and "हुए" not in verb.hindi.before
    into = straight and verb.hindi.stem != FLEEING  # सराय में भागना is to run about in it
    bare = straight and noun.goal and not away
    found = noun_phrase(builder, noun, node, oblique=True, room=0 if bare else 1, few=True)
    at = noun.place[1] if noun.place else "में"
    marker = "से" if away else "" if bare else at if into else "तक"
    way = builder.add_node(found.node)
    to = "from" if away else "to"
    if not marker:
        around.english_last += [(to, found.node, False), *found.english]
        return found.hindi
    around.english_last += [(to, way, True), *found.english]
    return [*found.hindi, (marker, way, True)]


def _question(builder: SentenceBuilder, question: str, node: int, around: Adverbials) -> None:
    """Where, when or why; Hindi question it right before the verb."""
    asked = builder.add_node(node)
    around.english_first.append((question, asked, True))
    around.before_verb.append((ASKED[question], asked, True))


def _circumstances(
    builder: SentenceBuilder, plan: ClausePlan, doer: Phrase, node: int, around: Adverbials
) -> list[Word]:
    """A manner, a place, company and a time; returns what Hindi says of them before the objects."""
    verb, question, room = plan.verb, plan.question, plan.room
    between, manner = list[Word](), list[Word]()
    if doer.person and not _even(plan) and builder.flip(0.12):
        manner = _said(builder, builder.sample(read_lexicon().manner), node, around.english_last)
    if room > 2 and doer.animate and not (question or placed(verb)) and builder.flip(0.25):
        english, hindi = locative_phrase(
            builder, builder.sample(read_lexicon().nouns["places"]), node, room - 3
        )
        around.english_last += english
        between += hindi
    if (
        room > 3
        and doer.person
        and doer.number != PLURAL
        and not (manner or met(verb))
        and builder.flip(0.12)
    ):
        between += _company(builder, node, around)
    between += manner
    times = times_of(TIMES.get(plan.tense, "")) if plan.modality == Modality.PLAIN else ()
    if not times or question == "when" or not builder.flip(0.3):
        return between
    if plan.fronts and not question and builder.flip(0.4):
        around.hindi_first += _time(builder, times, node, around.english_first)
        around.english_first.append(punctuation(","))
        return between
    return _time(builder, times, node, around.english_last) + between


def _time(
    builder: SentenceBuilder, times: tuple[Adverb, ...], node: int, english: list[Word]
) -> list[Word]:
    """One of these times or, where they are past or to come, now and then a date."""
    if times[0].tense in DATED and builder.flip(0.2):
        return _date(builder, node, english)
    return _said(builder, builder.sample(times), node, english)


def _date(builder: SentenceBuilder, node: int, english: list[Word]) -> list[Word]:
    """On 5 March: 5 मार्च को."""
    month, day = builder.choose(read_lexicon().months), str(1 + int(28 * builder.random()))
    own = builder.add_node(node)
    number, on = builder.add_node(own), builder.add_node(own)
    english += [("on", on, True), (day, number, True)]
    english += [(word, own, True) for word in month.english]
    said = [(word, own, True) for word in month.hindi]
    return [(day, number, True), *said, ("को", on, True)]


def _said(builder: SentenceBuilder, adverb: Adverb, node: int, english: list[Word]) -> list[Word]:
    """An adverb, put at the end of the English words; returns the Hindi ones."""
    own = builder.add_node(node)
    english += [(word, own, True) for word in adverb.english]
    return [(word, own, True) for word in adverb.hindi]


def _even(plan: ClausePlan) -> bool:
    """Whether there is no manner in which it is done."""
    return bool(plan.verb.rests or plan.verb.befalls or plan.question or plan.negated)


@cache
def met(verb: Verb) -> bool:
    """Whether it is done to people: one who helps a man with Ravi may help Ravi's companion."""
    return any(noun.domain in PERSONS for noun in (*verb.object_nouns, *verb.recipient_nouns))


@cache
def placed(verb: Verb) -> bool:
    """Whether one can hardly do it at a place: it has a goal, or is done to a place itself."""
    return verb.to or any(noun.domain in OUTDOORS for noun in verb.object_nouns)


@cache
def times_of(tense: str) -> tuple[Adverb, ...]:
    """The times that go with a tense."""
    return tuple(time for time in read_lexicon().times if tense and time.tense == tense)


def _company(builder: SentenceBuilder, node: int, around: Adverbials) -> list[Word]:
    friend = name_phrase(builder, node)
    beside = builder.add_node(friend.node)
    around.english_last += [("with", beside, True), *friend.english]
    return [*friend.hindi, ("के", beside, True), ("साथ", beside, True)]
