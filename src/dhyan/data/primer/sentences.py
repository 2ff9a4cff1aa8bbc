"""Whole sentences, of two words or sixty: statements alone or joined, and questions."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from dhyan.data.primer.clauses import Clause, Subject, counted, doing, some_subject
from dhyan.data.primer.copula_clauses import described, existing, located, person
from dhyan.data.primer.experiencer_clauses import feeling, having, liking, wanting
from dhyan.data.primer.hindi_morphology import F
from dhyan.data.primer.lexicon import people_verbs, read_lexicon
from dhyan.data.primer.pronouns import PRONOUNS, pronoun_phrase
from dhyan.data.primer.relative_clauses import told_object, told_subject
from dhyan.data.primer.sentence_builder import Draft, Phrase, sign
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.tenses import Mode, Tense
from dhyan.data.primer.word_classes import Verb

MOODS = ("past", "past", "past", "present", "present", "future")
TENSES = {
    "present": (Tense.HABIT, Tense.HABIT, Tense.HABIT, Tense.NOW, Tense.NOW, Tense.DONE),
    "past": (Tense.PAST, Tense.PAST, Tense.PAST, Tense.PAST, Tense.THEN, Tense.BEFORE, Tense.ONCE),
    "future": (Tense.LATER,),
}
FRAMED = {"present": (Tense.HABIT,), "past": (Tense.PAST, Tense.THEN), "future": (Tense.PROVIDED,)}
DENIABLE: tuple[Callable[..., Clause], ...] = (described, described, located, liking, wanting)
LATER: tuple[Callable[..., Clause], ...] = (
    described, described, located, existing, existing, having, having,
)  # fmt: skip
STATES = (*LATER, feeling)
MODES = (Mode.CAN, Mode.WANTS, Mode.HAS_TO, Mode.SHOULD)
BETWEEN = {"and": "और", "but": "लेकिन", "because": "क्योंकि", "so": "इसलिए"}
AROUND = {"when": ("जब", "तब"), "although": ("हालाँकि", "फिर भी"), "if": ("अगर", "तो")}
TOLD = ("who", "whom")
JOINTS = (*BETWEEN, *AROUND, "that", *TOLD)
SHORTEST_JOINED = 11
WHETHER = (Tense.PAST, Tense.HABIT, Tense.NOW, Tense.LATER, Tense.DONE, Tense.THEN)
QUESTIONS = ("who", "what", "how many", "where", "when", "why")


class Course(NamedTuple):
    """What a statement goes on from: its mood, what it hangs on, whom it may take up again.

    `joints` are the ways it may be joined, and `fronts` says that it may begin with a time.
    """

    mood: str
    parent: int = ROOT
    after: Phrase | None = None
    joints: tuple[str, ...] = JOINTS
    fronts: bool = False

    def without(self, *joints: str) -> "Course":
        """The same, joined in fewer ways, unless none were left."""
        left = tuple(one for one in self.joints if one not in joints)
        return self._replace(joints=left or self.joints)


def sentence(draft: Draft, size: int) -> tuple[list[Word], list[Word]]:
    """A statement or a question of about so many English words."""
    if size < 16 and draft.chance(0.16):
        asked = question(draft, size)
        return [*asked.english, sign("?")], [*asked.hindi, sign("?")]
    said = statement(draft, size, Course(draft.one(MOODS), fronts=True))
    return [*said.english, sign(".")], [*said.hindi, sign("।")]


def statement(draft: Draft, size: int, course: Course) -> Clause:
    """A simple clause, or as many joined as the size asks for."""
    if size < SHORTEST_JOINED:
        return simple(draft, size, course)
    joint = draft.one(course.joints)
    if joint == "if" and course.mood == "past":
        joint = "when"
    if joint == "that":
        return reported(draft, size, course.without(joint))
    if joint in TOLD:
        return told(draft, size, course, joint)
    if joint in AROUND:
        return framed(draft, size, course.without(*AROUND), joint)
    return joined(draft, size, course.without(joint, *AROUND), joint)


def simple(draft: Draft, size: int, course: Course) -> Clause:
    """One clause; of the person spoken of before, or of anyone and anything."""
    draft.mood = mood = course.mood
    room, parent = size - 5, course.parent
    again = course.after
    if again and known(draft, again):
        return acting(draft, room, course, draft.word(people_verbs()), taken_up(again))
    if not draft.chance(0.28):
        return acting(draft, room, course, draft.word(read_lexicon().verbs), some_subject)
    if draft.chance(0.55):
        return draft.one(LATER if mood == "future" else STATES)(draft, mood, room, parent=parent)
    state = draft.one(DENIABLE[:3] if mood == "future" else DENIABLE)
    return state(draft, mood, room, parent=parent, negated=draft.chance(0.25))


def acting(draft: Draft, room: int, course: Course, verb: Verb, subject: Subject) -> Clause:
    """Someone does, can do, has to do, wants or began to do something; or not."""
    mode = Mode.PLAIN
    if verb.named and not verb.befalls and draft.chance(0.14):
        mode = {"past": Mode.BEGAN, "present": draft.one(MODES)}.get(course.mood, mode)
    tense = draft.one(TENSES[course.mood])
    deniable = mode not in (Mode.BEGAN, Mode.HAS_TO) and tense != Tense.ONCE
    return doing(
        draft,
        tense,
        room,
        parent=course.parent,
        verb=verb,
        subject=subject,
        mode=mode,
        negated=deniable and draft.chance(0.12),
        fronts=course.fronts,
    )


def known(draft: Draft, who: Phrase) -> bool:
    """Whether someone is spoken of again: half the times that a pronoun would be clear."""
    return who.person and who.label in PRONOUNS and not draft.open(who.label) and draft.chance(0.5)


def taken_up(phrase: Phrase) -> Subject:
    """The same person again, by a pronoun."""

    def subject(draft: Draft, verb: Verb, case: str, idea: int, room: int) -> Phrase:
        return pronoun_phrase(draft, phrase.label, idea, case, feminine=phrase.form >= F)

    return subject


def joined(draft: Draft, size: int, course: Course, joint: str) -> Clause:
    """Two statements with a word between them."""
    left = int(size * (0.35 + 0.3 * draft.random()))
    first = statement(draft, left, course)
    then = course._replace(parent=first.idea, after=first.about, fronts=False)
    second = statement(draft, size - left - 1, then)
    link = draft.idea(second.idea)
    pause = [sign(",")] if first.trails else []
    return Clause(
        [*first.english, (joint, link, True), *second.english],
        [*first.hindi, *pause, (BETWEEN[joint], link, True), *second.hindi],
        second.about,
        first.idea,
        trails=second.trails,
    )


def framed(draft: Draft, size: int, course: Course, joint: str) -> Clause:
    """When, although or if something is so, something else is: जब … तब, अगर … तो."""
    mood = course.mood
    if joint == "if" or (joint == "when" and mood == "present"):  # जब वह आएगा, तब
        mood = "future"
    left = min(int(size * (0.35 + 0.3 * draft.random())), 12)
    draft.mood = mood
    if joint == "although":
        inner = Course(mood, course.parent, course.after, ("and",))
        first = statement(draft, left, inner)
    else:
        tense = draft.one(FRAMED[mood])
        alone = joint == "when"
        first = doing(draft, tense, left - 5, parent=course.parent, fronts=False, alone=alone)
    then = course._replace(mood=mood, parent=first.idea, after=first.about, fronts=False)
    second = statement(draft, size - left - 1, then)
    opening, closing = AROUND[joint]
    link = draft.idea(first.idea)
    closed: list[Word] = [(word, link, False) for word in closing.split()]
    return Clause(
        [(joint, link, True), *first.english, sign(","), *second.english],
        [(opening, link, True), *first.hindi, sign(","), *closed, *second.hindi],
        second.about,
        first.idea,
        trails=second.trails,
    )


def reported(draft: Draft, size: int, course: Course) -> Clause:
    """Someone says, thinks, knows … that something is so."""
    verb = draft.word(read_lexicon().speech)
    tense = {"past": Tense.PAST, "present": Tense.HABIT, "future": Tense.LATER}[course.mood]
    again = course.after
    subject = taken_up(again) if again and known(draft, again) else anyone
    says = doing(draft, tense, 0, parent=course.parent, verb=verb, subject=subject)
    inner = course._replace(parent=says.idea, after=says.about, fronts=False)
    content = statement(draft, size - len(says.english) - 1, inner)
    that = draft.idea(content.idea)
    return Clause(
        [*says.english, ("that", that, True), *content.english],
        [*says.hindi, ("कि", that, True), *content.hindi],
        says.about,
        says.idea,
        trails=content.trails,
    )


def anyone(draft: Draft, verb: Verb, case: str, idea: int, room: int) -> Phrase:
    """A person who may say or think."""
    return person(draft, idea, case, room)


def told(draft: Draft, size: int, course: Course, joint: str) -> Clause:
    """A clause whose subject, or object, is told apart by another clause."""
    draft.mood = course.mood
    room = min(size - 9, 14)
    verb = draft.word(people_verbs() if joint == "who" else telling_verbs())
    tense, parent = draft.one(TENSES[course.mood]), course.parent
    if joint == "who":
        return doing(
            draft, tense, room, parent=parent, verb=verb, subject=told_subject, fronts=False
        )
    return doing(
        draft,
        tense,
        room,
        parent=parent,
        verb=verb,
        subject=no_pronoun,
        object=told_object,
        alone=True,
    )


def no_pronoun(draft: Draft, verb: Verb, case: str, idea: int, room: int) -> Phrase:
    """Whoever may do it, but not by a pronoun: वह वह किताब would be one वह too many."""
    while (found := some_subject(draft, verb, case, idea, room)).label in PRONOUNS:
        if found.hindi[0][0] not in ("वह", "वे"):
            break
    return found


@cache
def telling_verbs() -> tuple[Verb, ...]:
    """Verbs whose object may be told apart: nothing must follow it in English."""
    verbs = read_lexicon().verbs
    return tuple(v for v in verbs if v.object_nouns and not (v.recipient_nouns or v.to))


def question(draft: Draft, size: int) -> Clause:
    """A question that is answered by yes or no, or by a word."""
    draft.mood = "present"
    room = size - 5
    dice = draft.random()
    if dice < 0.1:
        return located(draft, "past" if dice < 0.04 else "present", room, asks="where")
    if dice < 0.22:
        return described(draft, "past" if dice < 0.15 else "present", room, asks="whether")
    if dice < 0.6:
        return doing(draft, draft.one(WHETHER), room, asks="whether")
    asks = draft.one(QUESTIONS)
    verb = draft.word(answering(asks))
    return doing(draft, draft.one(WHETHER), room, verb=verb, asks=asks)


@cache
def answering(asks: str) -> tuple[Verb, ...]:
    """The verbs of which this can be asked; not what, where the object decides what it means."""
    verbs = read_lexicon().verbs
    if asks == "who":
        return people_verbs()
    if asks == "how many":
        return tuple(verb for verb in verbs if counted(verb))
    if asks == "what":
        counts = Counter(verb.english.base for verb in verbs)
        return tuple(verb for verb in verbs if counted(verb) and counts[verb.english.base] == 1)
    return verbs
