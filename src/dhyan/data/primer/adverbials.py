"""Where, when, how, with whom and to whom: what a clause says besides who does what."""

from dataclasses import dataclass, field
from functools import cache

from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import PERSONS, at, noun_phrase, someone
from dhyan.data.primer.sentence_builder import SEVERAL, Draft, Phrase, sign
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.tenses import Mode, Plan, Tense
from dhyan.data.primer.word_classes import Adverb, Verb

ASKED = {"where": "कहाँ", "when": "कब", "why": "क्यों"}
TIMES = {
    Tense.HABIT: "habitual",
    Tense.NOW: "progressive",
    Tense.PAST: "past",
    Tense.THEN: "past",
    Tense.LATER: "future",
}
DATED = frozenset(("past", "future"))
OUTDOORS = frozenset(("places", "nature", "vehicles"))
STRAIGHT = frozenset(("जा", "आ", "लौट", "भाग", "चल"))  # one goes घर, but runs घर तक
FLEEING, LEAVING = "भाग", ("go",)


@dataclass(slots=True)
class Setting:
    """What English says first and last; Hindi first, after the doer, and before the verb."""

    english_first: list[Word] = field(default_factory=list)
    english_last: list[Word] = field(default_factory=list)
    hindi_first: list[Word] = field(default_factory=list)
    hindi_between: list[Word] = field(default_factory=list)
    before_verb: list[Word] = field(default_factory=list)


def setting(draft: Draft, plan: Plan, doer: Phrase, idea: int) -> Setting:
    """All that is said around a verb, as far as there is room.

    Hindi says it before the objects, as time, place, company, manner, recipient, goal; English
    after them, as recipient, goal, manner, place, company, time.
    """
    around = Setting()
    last = list[Word]()
    if plan.verb.recipient_nouns:
        last += _recipient(draft, plan.verb, idea, doer, around)
    if plan.verb.to and plan.asks != "where":
        last += _goal(draft, plan.verb, idea, around)
    if plan.asks in ASKED:
        _question(draft, plan.asks, idea, around)
    if plan.room > 1 and not plan.alone:
        last = _circumstances(draft, plan, doer, idea, around) + last
    around.hindi_between += last
    return around


def _recipient(draft: Draft, verb: Verb, idea: int, doer: Phrase, around: Setting) -> list[Word]:
    """To whom."""
    if "people" in verb.recipients and draft.chance(0.5):
        found = someone(draft, idea, "को")
    else:
        noun = draft.word(verb.recipient_nouns)
        found = noun_phrase(draft, noun, idea, marker="को", room=0, own=doer.label)
    around.english_last += [("to", found.idea, False), *found.english]
    return found.hindi


def _goal(draft: Draft, verb: Verb, idea: int, around: Setting) -> list[Word]:
    """Where to, or where from."""
    away = draft.chance(0.25) and verb.english.base != LEAVING  # one leaves a place, and goes to it
    noun = draft.word(read_lexicon().nouns["places"])
    straight = verb.hindi.stem in STRAIGHT and "हुए" not in verb.hindi.before
    into = straight and verb.hindi.stem != FLEEING  # सराय में भागना is to run about in it
    bare = straight and noun.goal and not away
    found = noun_phrase(draft, noun, idea, oblique=True, room=0 if bare else 1, few=True)
    at = noun.place[1] if noun.place else "में"
    marker = "से" if away else "" if bare else at if into else "तक"
    way = draft.idea(found.idea)
    to = "from" if away else "to"
    if not marker:
        around.english_last += [(to, found.idea, False), *found.english]
        return found.hindi
    around.english_last += [(to, way, True), *found.english]
    return [*found.hindi, (marker, way, True)]


def _question(draft: Draft, asks: str, idea: int, around: Setting) -> None:
    """Where, when or why; Hindi asks it right before the verb."""
    asked = draft.idea(idea)
    around.english_first.append((asks, asked, True))
    around.before_verb.append((ASKED[asks], asked, True))


def _circumstances(
    draft: Draft, plan: Plan, doer: Phrase, idea: int, around: Setting
) -> list[Word]:
    """A manner, a place, company and a time; returns what Hindi says of them before the objects."""
    verb, asks, room = plan.verb, plan.asks, plan.room
    between, manner = list[Word](), list[Word]()
    if doer.person and not _even(plan) and draft.chance(0.12):
        manner = _said(draft, draft.word(read_lexicon().manner), idea, around.english_last)
    if room > 2 and doer.lives and not (asks or placed(verb)) and draft.chance(0.25):
        english, hindi = at(draft, draft.word(read_lexicon().nouns["places"]), idea, room - 3)
        around.english_last += english
        between += hindi
    if (
        room > 3
        and doer.person
        and doer.number != SEVERAL
        and not (manner or met(verb))
        and draft.chance(0.12)
    ):
        between += _company(draft, idea, around)
    between += manner
    times = times_of(TIMES.get(plan.tense, "")) if plan.mode == Mode.PLAIN else ()
    if not times or asks == "when" or not draft.chance(0.3):
        return between
    if plan.fronts and not asks and draft.chance(0.4):
        around.hindi_first += _time(draft, times, idea, around.english_first)
        around.english_first.append(sign(","))
        return between
    return _time(draft, times, idea, around.english_last) + between


def _time(draft: Draft, times: tuple[Adverb, ...], idea: int, english: list[Word]) -> list[Word]:
    """One of these times or, where they are past or to come, now and then a date."""
    if times[0].tense in DATED and draft.chance(0.2):
        return _date(draft, idea, english)
    return _said(draft, draft.word(times), idea, english)


def _date(draft: Draft, idea: int, english: list[Word]) -> list[Word]:
    """On 5 March: 5 मार्च को."""
    month, day = draft.one(read_lexicon().months), str(1 + int(28 * draft.random()))
    own = draft.idea(idea)
    number, on = draft.idea(own), draft.idea(own)
    english += [("on", on, True), (day, number, True)]
    english += [(word, own, True) for word in month.english]
    said = [(word, own, True) for word in month.hindi]
    return [(day, number, True), *said, ("को", on, True)]


def _said(draft: Draft, adverb: Adverb, idea: int, english: list[Word]) -> list[Word]:
    """An adverb, put at the end of the English words; returns the Hindi ones."""
    own = draft.idea(idea)
    english += [(word, own, True) for word in adverb.english]
    return [(word, own, True) for word in adverb.hindi]


def _even(plan: Plan) -> bool:
    """Whether there is no manner in which it is done."""
    return bool(plan.verb.rests or plan.verb.befalls or plan.asks or plan.negated)


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


def _company(draft: Draft, idea: int, around: Setting) -> list[Word]:
    friend = someone(draft, idea)
    beside = draft.idea(friend.idea)
    around.english_last += [("with", beside, True), *friend.english]
    return [*friend.hindi, ("के", beside, True), ("साथ", beside, True)]
