"""Relative clauses: English who, that; Hindi जो … वह; and agreement across one."""

from functools import cache

from dhyan.data.primer.clauses import action_clause, object_marker
from dhyan.data.primer.hindi_morphology import HE, THEY
from dhyan.data.primer.lexicon import Noun, Verb, human_verbs, read_lexicon
from dhyan.data.primer.noun_phrases import PERSONS, noun_phrase
from dhyan.data.primer.sentence_builder import (
    PLURAL,
    THIRD_SINGULAR,
    Phrase,
    SentenceBuilder,
    form_of,
    pronoun_of,
    punctuation,
)
from dhyan.data.primer.sentence_pair import SentencePair, TranslationCheck, Word
from dhyan.data.primer.verb_groups import ClausePlan, Tense
from dhyan.data.primer.vocabulary_subsets import held_out_objects

# By number: relative words, bare and before a marker; and the correlatives that resume them.
RELATIVE_DETERMINERS = (("जो", "जिस"), ("जो", "जिन"))
RELATIVE_PRONOUNS = {("", 0): "जो", ("ने", 0): "जिसने", ("को", 0): "जिसे"} | {
    ("", 1): "जो", ("ने", 1): "जिन्होंने", ("को", 1): "जिन्हें",
}  # fmt: skip
CORRELATIVES = {("", 0): "वह", ("ने", 0): "उसने", ("को", 0): "उसे"} | {
    ("", 1): "वे", ("ने", 1): "उन्होंने", ("को", 1): "उन्हें",
}  # fmt: skip
TENSES = {
    "present": (Tense.HABITUAL, Tense.PRESENT_PROGRESSIVE, Tense.PRESENT_PERFECT),
    "past": (Tense.SIMPLE_PAST, Tense.PAST_PROGRESSIVE, Tense.PAST_PERFECT),
    "future": (Tense.HABITUAL, Tense.PRESENT_PROGRESSIVE),
}


@cache
def verbs_with_subject(noun: Noun) -> tuple[Verb, ...]:
    """The verbs that take a noun as their subject."""
    return tuple(verb for verb in read_lexicon().verbs if noun in verb.subject_nouns)


@cache
def verbs_with_object(noun: Noun) -> tuple[Verb, ...]:
    """The verbs of people that take a noun as an unmarked object."""
    return tuple(
        verb
        for verb in read_lexicon().verbs
        if noun in verb.object_nouns
        and noun not in held_out_objects(verb)
        and verb.named
        and not object_marker(verb, noun)
    )


@cache
def relativizable_subjects(verb: Verb) -> tuple[Noun, ...]:
    """The subjects of a verb that may have a relative clause; kin have a possessor instead."""
    doers = verb.subject_nouns
    return tuple(noun for noun in doers if noun.domain != "family" and verbs_with_subject(noun))


def relativized_subject(
    builder: SentenceBuilder, verb: Verb, case: str, node: int, room: int
) -> Phrase:
    """A subject with a relative clause: the boy who reads the book, जो लड़का किताब पढ़ता है, वह …"""
    noun = builder.sample(relativizable_subjects(verb))
    head = builder.add_node(node)
    plural = not (noun.mass or noun.pair or noun.honorific) and builder.flip(0.3)
    hindi_plural = plural or noun.honorific
    form = form_of(feminine=noun.feminine, plural=hindi_plural)
    number = PLURAL if plural or noun.pair else THIRD_SINGULAR
    person = noun.domain in PERSONS
    label = pronoun_of(person=person, feminine=noun.feminine, plural=plural)

    def which(builder: SentenceBuilder, verb: Verb, marked: str, node: int, room: int) -> Phrase:
        who = builder.add_node(node)
        shape = (2 if plural else 0) + bool(marked)
        hindi: list[Word] = [(RELATIVE_DETERMINERS[hindi_plural][bool(marked)], who, True)]
        hindi += [(word, head, True) for word in noun.hindi[shape]]
        if marked:
            hindi.append((marked, head, False))
        english: list[Word] = [("who" if person else "that", who, True)]
        return Phrase(
            english,
            hindi,
            THEY if hindi_plural else HE,
            form,
            number,
            label,
            person=person,
            animate=True,
        )

    inner = action_clause(
        builder,
        builder.choose(TENSES[builder.time]),
        room,
        parent=head,
        verb=builder.sample(verbs_with_subject(noun)),
        subject=which,
        fronts=False,
    )
    words = noun.plural if plural or noun.pair else noun.english
    named: list[Word] = [("the", head, False), *((word, head, True) for word in words)]
    return Phrase(
        english=[*named, *inner.english],
        hindi=[(CORRELATIVES[case, hindi_plural], head, False)],
        who=THEY if hindi_plural else HE,
        form=form,
        number=number,
        pronoun=label,
        before=[*inner.hindi, punctuation(",")],
        person=person,
        animate=person or noun.domain == "animals",
        node=head,
    )


def relativized_object(
    builder: SentenceBuilder, plan: ClausePlan, node: int, subject: Phrase, room: int
) -> Phrase:
    """An object with a relative clause: the book that Ravi bought, वह किताब …, जो रवि ने ख़रीदी."""
    verb = plan.verb
    noun = builder.sample_partner(verb.object_nouns, held_out_objects(verb))
    done_by, done_to = verbs_with_subject(noun), verbs_with_object(noun)
    phrase = noun_phrase(
        builder,
        noun,
        node,
        marker=object_marker(verb, noun),
        room=0,
        own=subject.pronoun,
        that=noun.domain != "family" and bool(done_by or done_to),
        few=True,
    )
    if not done_by and not done_to:
        return phrase
    gap = Phrase([], [], phrase.who, phrase.form, phrase.number, "")
    by_itself = bool(done_by) and (noun.domain in PERSONS or not done_to)
    who = builder.add_node(phrase.node)
    person = noun.domain in PERSONS
    relative: Word = ("who" if person else "that", who, True)
    hindi_plural = noun.honorific

    def which(builder: SentenceBuilder, verb: Verb, marked: str, node: int, room: int) -> Phrase:
        clause: Word = (RELATIVE_PRONOUNS[marked, hindi_plural], who, True)
        return Phrase(
            [],
            [clause],
            phrase.who,
            phrase.form,
            phrase.number,
            phrase.pronoun,
            person=person,
            animate=True,
        )

    tense = builder.choose(TENSES[builder.time])
    if by_itself:
        inner = action_clause(
            builder,
            tense,
            room,
            parent=phrase.node,
            verb=builder.sample(done_by),
            subject=which,
            fronts=False,
        )
        hindi = inner.hindi
    else:
        inner = action_clause(
            builder,
            tense,
            room,
            parent=phrase.node,
            verb=builder.sample(done_to),
            object=lambda *_: gap,
            fronts=False,
        )
        by_agent = inner.about.hindi[-1][0].endswith("ने")  # otherwise जो might be the subject
        hindi = [
            ("जो" if by_agent else RELATIVE_PRONOUNS["को", hindi_plural], who, True),
            *inner.hindi,
        ]
    phrase.english = [*phrase.english, relative, *inner.english]
    phrase.after = [punctuation(","), *hindi]
    return phrase


MIN_DISTANCE = 6  # Hindi words between the noun and its verb
AGREEMENT_TENSES = {
    "present": (Tense.HABITUAL, Tense.PRESENT_PROGRESSIVE),
    "past": (Tense.PAST_PROGRESSIVE, Tense.PAST_HABITUAL),
    "future": (Tense.FUTURE,),
}


def long_distance_agreement(builder: SentenceBuilder, max_words: int) -> SentencePair | None:
    """Agreement across a relative clause: जो लड़की …, वह जा रही है; None if it is too short."""
    builder.time = builder.choose(tuple(AGREEMENT_TENSES))
    verb = builder.sample(human_verbs())
    clause = action_clause(
        builder,
        builder.choose(AGREEMENT_TENSES[builder.time]),
        min(max_words - 8, 10),
        verb=verb,
        subject=relativized_subject,
        fronts=False,
    )
    head = next(index for index, word in enumerate(clause.hindi) if word[1] == clause.about.node)
    if len(clause.hindi) - len(clause.verb) - head < MIN_DISTANCE:
        return None
    verb_text = " ".join(word[0] for word in clause.verb)
    builder.checks.append(TranslationCheck("agreement", " ".join(verb.english.base), (verb_text,)))
    sides = ((*clause.english, punctuation(".")), (*clause.hindi, punctuation("।")))
    return SentencePair(sides, tuple(builder.parents), (), tuple(builder.checks))
