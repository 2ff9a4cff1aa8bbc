"""Action clauses: subject, verb and object, in the word order of each language."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from dhyan.data.primer.adverbials import Adverbials, adverbials
from dhyan.data.primer.hindi_morphology import THEY, F
from dhyan.data.primer.lexicon import Noun, Verb, read_lexicon
from dhyan.data.primer.noun_phrases import (
    LIVING,
    name_phrase,
    noun_phrase,
    object_pronoun,
    pronoun_phrase,
)
from dhyan.data.primer.sentence_builder import PLURAL, Phrase, SentenceBuilder, form_of
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.verb_groups import (
    ClausePlan,
    Modality,
    Tense,
    VerbGroup,
    agreement,
    unambiguous_tense,
    verb_group,
)
from dhyan.data.primer.vocabulary_subsets import held_out_objects


@dataclass(slots=True)
class Clause:
    """A clause in both languages; `about` is its subject."""

    english: list[Word]
    hindi: list[Word]
    about: Phrase
    node: int = ROOT
    verb: list[Word] = field(default_factory=list)  # in Hindi
    ends_in_relative: bool = False  # whether its Hindi ends in a relative clause
    patient: Phrase | None = None  # its object


Subject = Callable[[SentenceBuilder, Verb, str, int, int], Phrase]
Object = Callable[[SentenceBuilder, ClausePlan, int, Phrase, int], Phrase]


def sample_subject(builder: SentenceBuilder, verb: Verb, case: str, node: int, room: int) -> Phrase:
    """A subject of the verb: a name, a pronoun, a noun phrase, or two coordinated names."""
    dice = builder.random()
    if verb.named and dice < 0.5:
        if dice < 0.36:
            return name_phrase(builder, node, case)
        key = "he" if dice < 0.41 else "she" if dice < 0.46 else "we"
        if builder.is_ambiguous(key):
            return name_phrase(builder, node, case)
        return pronoun_phrase(builder, key, node, case, feminine=key == "she")
    if verb.named and dice < 0.57 and room > 1:
        return coordinated_names(builder, node, case)
    return noun_phrase(builder, builder.sample(verb.subject_nouns), node, marker=case, room=room)


def pronoun_subject(phrase: Phrase) -> Subject:
    """A pronoun that refers to a phrase, as a subject."""

    def subject(builder: SentenceBuilder, verb: Verb, case: str, node: int, room: int) -> Phrase:
        return pronoun_phrase(builder, phrase.pronoun, node, case, feminine=phrase.form >= F)

    return subject


def coordinated_names(builder: SentenceBuilder, node: int, case: str) -> Phrase:
    """Two coordinated names; the pair is masculine unless both are feminine."""
    first = name_phrase(builder, node)
    conjunction = builder.add_node(first.node)
    second = name_phrase(builder, first.node, case)
    return Phrase(
        english=[*first.english, ("and", conjunction, True), *second.english],
        hindi=[*first.hindi, ("और", conjunction, True), *second.hindi],
        who=THEY,
        form=form_of(feminine=first.form == second.form == F, plural=True),
        number=PLURAL,
        pronoun="they",
        person=True,
        node=first.node,
    )


OBLIQUE = "oblique"  # the marker of an object in the oblique case without any: शहर पहुँचना


def object_marker(verb: Verb, noun: Noun) -> str:
    """The Hindi marker of an object: को for persons and animals, none for things (differential)."""
    return verb.marker or ("को" if noun.domain in LIVING else "")


def sample_object(
    builder: SentenceBuilder, plan: ClausePlan, node: int, subject: Phrase, room: int
) -> Phrase:
    """An object of the verb: a noun phrase, a name or a pronoun."""
    return object_of(builder, plan, node, subject, room, nouns=plan.verb.object_nouns)


def object_of(
    builder: SentenceBuilder,
    plan: ClausePlan,
    node: int,
    subject: Phrase,
    room: int,
    *,
    nouns: tuple[Noun, ...],
) -> Phrase:
    """An object of the verb, one of these nouns."""
    verb = plan.verb
    noun = builder.sample_partner(nouns, held_out_objects(verb))
    marker = object_marker(verb, noun)
    if marker == OBLIQUE:
        return noun_phrase(builder, noun, node, oblique=True, room=room, few=True)
    if noun.domain == "people" and marker and builder.flip(0.15):
        key = "he" if subject.pronoun.startswith("she") or builder.flip(0.5) else "she"
        if builder.is_ambiguous(key):
            return name_phrase(builder, node, marker)
        return object_pronoun(builder, key, node, marker, whose=_whose(marker))
    definite = None
    if noun.domain == "animals" and not verb.marker:  # only an animal mentioned before is marked
        definite = builder.flip(0.6)
        marker = marker if definite else ""
    return noun_phrase(
        builder,
        noun,
        node,
        marker=marker,
        room=room,
        own=subject.pronoun,
        definite=definite,
        negated=plan.negated,
    )


def _whose(marker: str) -> int:
    return {"का": 0, "के": 1}.get(marker, 2)


def action_clause(
    builder: SentenceBuilder,
    tense: Tense,
    room: int,
    *,
    parent: int = ROOT,
    verb: Verb | None = None,
    subject: Subject = sample_subject,
    object: Object = sample_object,
    modality: Modality = Modality.PLAIN,
    negated: bool = False,
    question: str = "",
    fronts: bool = True,
    alone: bool = False,
) -> Clause:
    """A clause with an action verb; `room` is about how many optional words it may have.

    `question` makes it a question: "whether", "who", "what", "how many", "where", "when" or "why".
    `fronts` lets an adverb of time come first; `alone` adds neither time nor place.
    """
    verb = verb or builder.sample(read_lexicon().verbs)
    if not (negated or question):
        tense = unambiguous_tense(verb, tense)
    if question == "when" and tense == Tense.PRESENT_PERFECT:
        tense = Tense.SIMPLE_PAST
    plan = ClausePlan(verb, tense, room, modality, negated, question, fronts, alone)
    node, share = builder.add_node(parent), room // 2
    if question == "who":
        subject_phrase = question_subject(builder, plan.case, node)
    else:
        subject_phrase = subject(builder, verb, plan.case, node, share)
    object_phrase, fronted = None, list[Word]()
    if question in ("what", "how many"):
        object_phrase, fronted = question_object(builder, verb, question, node)
    elif verb.object_nouns:
        object_phrase = object(builder, plan, node, subject_phrase, share)
    clause_adverbials = adverbials(builder, plan, subject_phrase, node)
    if question == "who":  # right before the verb: सैनिक को कौन बुलाता है
        clause_adverbials.before_verb += subject_phrase.hindi
    group = verb_group(
        builder,
        plan,
        node,
        agreement(plan, subject_phrase, object_phrase),
        clause_adverbials.before_verb,
    )
    clause = _linearize(subject_phrase, object_phrase, group, clause_adverbials, fronted, plan=plan)
    clause.node = node
    if question == "whether":
        clause.hindi.insert(0, ("क्या", builder.add_node(node), True))
    return clause


def question_subject(builder: SentenceBuilder, case: str, node: int) -> Phrase:
    """The question word who as a subject."""
    who = builder.add_node(node)
    clause = {"": "कौन", "ने": "किसने", "को": "किसे"}[case]
    return Phrase([("who", who, True)], [(clause, who, True)], person=True, pronoun="", node=who)


def question_object(
    builder: SentenceBuilder, verb: Verb, question: str, node: int
) -> tuple[Phrase, list[Word]]:
    """What, or how many, as an object; English fronts it, Hindi leaves it in place."""
    what = builder.add_node(node)
    if question == "what":
        return Phrase([], [("क्या", what, True)], node=what), [("what", what, True)]
    noun = builder.sample(countable_objects(verb))
    quantity = builder.add_node(what)
    fronted = [("how", quantity, True), ("many", quantity, True)] + [
        (w, what, True) for w in noun.plural
    ]
    clause = "कितनी" if noun.feminine else "कितने"
    hindi = [(clause, quantity, True)] + [(w, what, True) for w in noun.hindi[2]]
    form = form_of(feminine=noun.feminine, plural=True)
    return Phrase([], hindi, who=THEY, form=form, number=PLURAL, node=what), fronted


@cache
def countable_objects(verb: Verb) -> tuple[Noun, ...]:
    """The objects of a verb that "how many" can ask for."""
    if verb.marker:
        return ()
    return tuple(
        noun
        for noun in verb.object_nouns
        if noun not in held_out_objects(verb)
        and not (noun.mass or noun.pair or noun.only or noun.domain in LIVING)
    )


def _linearize(
    subject_phrase: Phrase,
    object_phrase: Phrase | None,
    group: VerbGroup,
    clause_adverbials: Adverbials,
    fronted: list[Word],
    *,
    plan: ClausePlan,
) -> Clause:
    """Word order: an English question starts with its auxiliary, Hindi ends in the verb."""
    english = [*clause_adverbials.english_first, *fronted]
    if plan.inverted:
        english += [*group.auxiliary, *subject_phrase.english]
    else:
        english += [*subject_phrase.english, *group.auxiliary]
    english += group.english
    hindi = [
        *subject_phrase.before,
        *clause_adverbials.hindi_first,
        *([] if plan.question == "who" else subject_phrase.hindi),
        *clause_adverbials.hindi_after_subject,
    ]
    if object_phrase:
        english += object_phrase.english
        hindi += object_phrase.hindi
    english += clause_adverbials.english_last
    hindi += group.hindi
    if object_phrase:
        hindi += object_phrase.after
    ends_in_relative = object_phrase is not None and bool(object_phrase.after)
    return Clause(
        english, hindi, subject_phrase, ROOT, group.hindi, ends_in_relative, object_phrase
    )
