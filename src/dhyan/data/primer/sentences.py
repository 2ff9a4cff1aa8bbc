"""Sentence generation: statements, simple and complex, and questions, of two to sixty words."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from dhyan.data.primer.clauses import (
    OBLIQUE,
    Clause,
    Subject,
    action_clause,
    countable_objects,
    pronoun_subject,
    sample_subject,
)
from dhyan.data.primer.lexicon import Verb, human_verbs, read_lexicon
from dhyan.data.primer.noun_phrases import PRONOUNS
from dhyan.data.primer.reasons import TIMES as LINKED_TIMES
from dhyan.data.primer.reasons import linked_clauses
from dhyan.data.primer.relative_clauses import relativized_object, relativized_subject
from dhyan.data.primer.sentence_builder import Phrase, SentenceBuilder, punctuation
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.stative_clauses import (
    adjective_clause,
    existential_clause,
    feeling_clause,
    liking_clause,
    locative_clause,
    person,
    possession_clause,
    wanting_clause,
)
from dhyan.data.primer.verb_groups import Modality, Tense

TIME_CHOICES = ("past", "past", "past", "present", "present", "future")
TENSES = {
    "present": (
        Tense.HABITUAL,
        Tense.HABITUAL,
        Tense.HABITUAL,
        Tense.PRESENT_PROGRESSIVE,
        Tense.PRESENT_PROGRESSIVE,
        Tense.PRESENT_PERFECT,
    ),
    "past": (
        Tense.SIMPLE_PAST,
        Tense.SIMPLE_PAST,
        Tense.SIMPLE_PAST,
        Tense.SIMPLE_PAST,
        Tense.PAST_PROGRESSIVE,
        Tense.PAST_PERFECT,
        Tense.PAST_HABITUAL,
    ),
    "future": (Tense.FUTURE,),
}
SUBORDINATE_TENSES = {
    "present": (Tense.HABITUAL,),
    "past": (Tense.SIMPLE_PAST, Tense.PAST_PROGRESSIVE),
    "future": (Tense.CONDITIONAL,),
}
NEGATABLE_CLAUSES: tuple[Callable[..., Clause], ...] = (
    adjective_clause,
    adjective_clause,
    locative_clause,
    liking_clause,
    wanting_clause,
)
FUTURE_STATE_CLAUSES: tuple[Callable[..., Clause], ...] = (
    *(locative_clause, existential_clause, possession_clause),
)
STATE_CLAUSES = (
    *(adjective_clause, adjective_clause, feeling_clause),
    *(FUTURE_STATE_CLAUSES * 2)[1:],
)
MODES = (Modality.CAN, Modality.WANTS, Modality.HAS_TO, Modality.SHOULD)
COORDINATORS = {"and": "और", "but": "लेकिन"}
SUBORDINATORS = {"when": ("जब", "तब"), "if": ("अगर", "तो")}
LINKS = ("because", "so", "although", "so that")  # between clauses of one topic
RELATIVES = ("who", "whom")
CONNECTIVES = (*COORDINATORS, *LINKS, *SUBORDINATORS, "that", *RELATIVES)
SHORTEST_JOINED, LONGEST_LINKED = 11, 14
WHETHER = (
    Tense.SIMPLE_PAST,
    Tense.HABITUAL,
    Tense.PRESENT_PROGRESSIVE,
    Tense.FUTURE,
    Tense.PRESENT_PERFECT,
    Tense.PAST_PROGRESSIVE,
)
QUESTIONS = ("who", "what", "how many", "where", "when", "why")


class DiscourseContext(NamedTuple):
    """Context of a statement: its time, its parent node, and whom a pronoun may refer to (`after`).

    `connectives` are those it may use, and `fronts` lets it begin with an adverb of time.
    """

    time: str
    parent: int = ROOT
    after: Phrase | None = None
    connectives: tuple[str, ...] = CONNECTIVES
    fronts: bool = False

    def without(self, *connectives: str) -> "DiscourseContext":
        """The context with fewer connectives, unless none would be left."""
        left = tuple(connective for connective in self.connectives if connective not in connectives)
        return self._replace(connectives=left or self.connectives)


def sentence(builder: SentenceBuilder, size: int) -> tuple[list[Word], list[Word]]:
    """A statement or a question of about so many English words."""
    if size < 16 and builder.flip(0.16):
        clause = question(builder, size)
        return [*clause.english, punctuation("?")], [*clause.hindi, punctuation("?")]
    clause = statement(builder, size, DiscourseContext(builder.choose(TIME_CHOICES), fronts=True))
    return [*clause.english, punctuation(".")], [*clause.hindi, punctuation("।")]


def statement(builder: SentenceBuilder, size: int, context: DiscourseContext) -> Clause:
    """A simple clause, or several joined until the size is reached."""
    if size < SHORTEST_JOINED:
        return simple(builder, size, context)
    connective = builder.choose(context.connectives)
    if connective in LINKS or (connective == "but" and builder.flip(0.5)):
        if size <= LONGEST_LINKED and context.time in LINKED_TIMES:
            room, parent = size - SHORTEST_JOINED, context.parent
            return linked_clauses(builder, room, context.time, connective, parent=parent)
        connective = "and"
    if connective == "if" and context.time == "past":
        connective = "when"
    if connective == "that":
        return reported_speech(builder, size, context.without(connective))
    if connective in RELATIVES:
        return with_relative_clause(builder, size, context, connective)
    if connective in SUBORDINATORS:
        return subordinate(builder, size, context.without(*SUBORDINATORS), connective)
    left = context.without(connective, "although", *SUBORDINATORS)
    return coordinate(builder, size, left, connective)


def simple(builder: SentenceBuilder, size: int, context: DiscourseContext) -> Clause:
    """One clause about the person mentioned before, or about anyone or anything."""
    builder.time = time = context.time
    room, parent = size - 5, context.parent
    again = context.after
    if again and can_use_pronoun(builder, again):
        return sample_action(
            builder, room, context, builder.sample(human_verbs()), pronoun_subject(again)
        )
    if not builder.flip(0.28):
        return sample_action(
            builder, room, context, builder.sample(read_lexicon().verbs), sample_subject
        )
    if builder.flip(0.55):
        return builder.choose(FUTURE_STATE_CLAUSES if time == "future" else STATE_CLAUSES)(
            builder, time, room, parent=parent
        )
    state = locative_clause if time == "future" else builder.choose(NEGATABLE_CLAUSES)
    return state(builder, time, room, parent=parent, negated=builder.flip(0.25))


def sample_action(
    builder: SentenceBuilder, room: int, context: DiscourseContext, verb: Verb, subject: Subject
) -> Clause:
    """An action clause with a modality (can, has to, wants, began) or without, perhaps negated."""
    modality = Modality.PLAIN
    if verb.named and not verb.befalls and builder.flip(0.14):
        modality = {"past": Modality.BEGAN, "present": builder.choose(MODES)}.get(
            context.time, modality
        )
    tense = builder.choose(TENSES[context.time])
    deniable = modality not in (Modality.BEGAN, Modality.HAS_TO) and tense != Tense.PAST_HABITUAL
    return action_clause(
        builder,
        tense,
        room,
        parent=context.parent,
        verb=verb,
        subject=subject,
        modality=modality,
        negated=deniable and builder.flip(0.12),
        fronts=context.fronts,
    )


def can_use_pronoun(builder: SentenceBuilder, who: Phrase) -> bool:
    """Whether a person is mentioned again: in half of the cases where a pronoun is unambiguous."""
    return (
        who.person
        and who.pronoun in PRONOUNS
        and not builder.is_ambiguous(who.pronoun)
        and builder.flip(0.5)
    )


def coordinate(
    builder: SentenceBuilder, size: int, context: DiscourseContext, connective: str
) -> Clause:
    """Two coordinated statements: and, but."""
    left = int(size * (0.35 + 0.3 * builder.random()))
    first = statement(builder, left, context)
    then = context._replace(parent=first.node, after=first.about, fronts=False)
    second = statement(builder, size - left - 1, then)
    link = builder.add_node(second.node)
    pause = [punctuation(",")] if first.ends_in_relative or connective == "but" else []
    return Clause(
        [*first.english, (connective, link, True), *second.english],
        [*first.hindi, *pause, (COORDINATORS[connective], link, True), *second.hindi],
        second.about,
        first.node,
        ends_in_relative=second.ends_in_relative,
    )


def subordinate(
    builder: SentenceBuilder, size: int, context: DiscourseContext, connective: str
) -> Clause:
    """A subordinate clause and its main clause: when, if; जब … तब, अगर … तो."""
    time = context.time
    if connective == "if" or (connective == "when" and time == "present"):  # जब वह आएगा, तब
        time = "future"
    left = min(int(size * (0.35 + 0.3 * builder.random())), 12)
    builder.time = time
    tense = builder.choose(SUBORDINATE_TENSES[time])
    alone = connective == "when"
    first = action_clause(
        builder, tense, left - 5, parent=context.parent, fronts=False, alone=alone
    )
    then = context._replace(time=time, parent=first.node, after=first.about, fronts=False)
    second = statement(builder, size - left - 1, then)
    opening, closing = SUBORDINATORS[connective]
    link = builder.add_node(first.node)
    closed: list[Word] = [(word, link, False) for word in closing.split()]
    return Clause(
        [(connective, link, True), *first.english, punctuation(","), *second.english],
        [(opening, link, True), *first.hindi, punctuation(","), *closed, *second.hindi],
        second.about,
        first.node,
        ends_in_relative=second.ends_in_relative,
    )


def reported_speech(builder: SentenceBuilder, size: int, context: DiscourseContext) -> Clause:
    """Reported speech: someone says, thinks or knows that …"""
    verb = builder.sample(read_lexicon().speech)
    tense = {"past": Tense.SIMPLE_PAST, "present": Tense.HABITUAL, "future": Tense.FUTURE}[
        context.time
    ]
    again = context.after
    subject = pronoun_subject(again) if again and can_use_pronoun(builder, again) else anyone
    matrix = action_clause(builder, tense, 0, parent=context.parent, verb=verb, subject=subject)
    inner = context._replace(parent=matrix.node, after=matrix.about, fronts=False)
    content = statement(builder, size - len(matrix.english) - 1, inner)
    that = builder.add_node(content.node)
    return Clause(
        [*matrix.english, ("that", that, True), *content.english],
        [*matrix.hindi, ("कि", that, True), *content.hindi],
        matrix.about,
        matrix.node,
        ends_in_relative=content.ends_in_relative,
    )


def anyone(builder: SentenceBuilder, verb: Verb, case: str, node: int, room: int) -> Phrase:
    """A person as a subject."""
    return person(builder, node, case, room)


def with_relative_clause(
    builder: SentenceBuilder, size: int, context: DiscourseContext, connective: str
) -> Clause:
    """A clause whose subject or object has a relative clause."""
    builder.time = context.time
    room = min(size - 9, 14)
    verb = builder.sample(
        human_verbs() if connective == "who" else verbs_with_relativizable_objects()
    )
    tense, parent = builder.choose(TENSES[context.time]), context.parent
    if connective == "who":
        return action_clause(
            builder,
            tense,
            room,
            parent=parent,
            verb=verb,
            subject=relativized_subject,
            fronts=False,
        )
    return action_clause(
        builder,
        tense,
        room,
        parent=parent,
        verb=verb,
        subject=no_pronoun,
        object=relativized_object,
        alone=True,
    )


def no_pronoun(builder: SentenceBuilder, verb: Verb, case: str, node: int, room: int) -> Phrase:
    """A subject that is not a pronoun, to avoid वह वह किताब."""
    while (subject := sample_subject(builder, verb, case, node, room)).pronoun in PRONOUNS:
        if subject.hindi[0][0] not in ("वह", "वे"):
            break
    return subject


@cache
def verbs_with_relativizable_objects() -> tuple[Verb, ...]:
    """Verbs whose object may have a relative clause: in English nothing follows the object."""
    verbs = read_lexicon().verbs
    return tuple(
        v
        for v in verbs
        if v.object_nouns and not (v.recipient_nouns or v.to or v.marker == OBLIQUE)
    )


def question(builder: SentenceBuilder, size: int) -> Clause:
    """A yes-no question, or one with a question word."""
    builder.time = "present"
    room = size - 5
    dice = builder.random()
    if dice < 0.1:
        return locative_clause(
            builder, "past" if dice < 0.04 else "present", room, question="where"
        )
    if dice < 0.22:
        return adjective_clause(
            builder, "past" if dice < 0.15 else "present", room, question="whether"
        )
    if dice < 0.6:
        return action_clause(builder, builder.choose(WHETHER), room, question="whether")
    question = builder.choose(QUESTIONS)
    verb = builder.sample(answering(question))
    return action_clause(builder, builder.choose(WHETHER), room, verb=verb, question=question)


@cache
def answering(question: str) -> tuple[Verb, ...]:
    """The verbs that a question word fits; not "what" where the object decides the sense."""
    verbs = read_lexicon().verbs
    if question == "who":
        return human_verbs()
    if question == "how many":
        return tuple(verb for verb in verbs if countable_objects(verb))
    if question == "what":
        counts = Counter(verb.english.base for verb in verbs)
        return tuple(
            verb for verb in verbs if countable_objects(verb) and counts[verb.english.base] == 1
        )
    return verbs
