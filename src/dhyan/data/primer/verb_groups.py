"""Verb groups: tense, modality and agreement; English auxiliaries, Hindi endings."""

from enum import IntEnum
from typing import NamedTuple

from dhyan.data.primer.hindi_morphology import COPULA, HE, MM, RAHA, WAS, F, M, hindi_verb
from dhyan.data.primer.lexicon import Verb
from dhyan.data.primer.sentence_builder import THIRD_SINGULAR, Phrase, SentenceBuilder
from dhyan.data.primer.sentence_pair import Word


class Tense(IntEnum):
    """Tense and aspect."""

    HABITUAL = 0  # eats, खाता है
    PRESENT_PROGRESSIVE = 1  # is eating, खा रहा है
    SIMPLE_PAST = 2  # ate, खाया
    PRESENT_PERFECT = 3  # has eaten, खाया है
    PAST_PERFECT = 4  # had eaten, खाया था
    PAST_PROGRESSIVE = 5  # was eating, खा रहा था
    PAST_HABITUAL = 6  # used to eat, खाता था
    FUTURE = 7  # will eat, खाएगा
    CONDITIONAL = 8  # if he eats, अगर वह खाएगा


class Modality(IntEnum):
    """Modality: ability, wish, obligation, advice, beginning."""

    PLAIN = 0
    CAN = 1  # can eat, खा सकता है
    WANTS = 2  # wants to eat, खाना चाहता है
    HAS_TO = 3  # has to eat, को खाना है
    SHOULD = 4  # should eat, को खाना चाहिए
    BEGAN = 5  # began to eat, खाने लगा
    PURPOSE = 6  # so that he can eat, ताकि वह खा सके


PERFECTIVE = frozenset((Tense.SIMPLE_PAST, Tense.PRESENT_PERFECT, Tense.PAST_PERFECT))
DATIVE_MODALITIES = frozenset((Modality.HAS_TO, Modality.SHOULD))  # the subject takes को
UNAMBIGUOUS_TENSES = {
    Tense.HABITUAL: Tense.PRESENT_PROGRESSIVE,
    Tense.SIMPLE_PAST: Tense.PAST_PERFECT,
}


class ClausePlan(NamedTuple):
    """Choices for a clause; `alone` leaves out optional adverbials."""

    verb: Verb
    tense: Tense
    room: int = 0
    modality: Modality = Modality.PLAIN
    negated: bool = False
    question: str = ""
    fronts: bool = False
    alone: bool = False

    @property
    def inverted(self) -> bool:
        """Whether English puts its auxiliary before the subject."""
        return self.question not in ("", "who")

    @property
    def case(self) -> str:
        """The Hindi case marker of the subject: ने in an ergative perfective, को under obligation."""
        if self.modality in DATIVE_MODALITIES:
            return "को"
        done = self.modality == Modality.PLAIN and self.tense in PERFECTIVE and self.verb.ergative
        return "ने" if done else ""


def unambiguous_tense(verb: Verb, tense: Tense) -> Tense:
    """The tense, or a similar one where the English form is ambiguous (they read)."""
    same = verb.english.past == verb.english.base
    return UNAMBIGUOUS_TENSES.get(tense, tense) if same else tense


BE, BEEN = ("am", "are", "is"), ("was", "were", "was")
HAVE, DO = ("have", "have", "has"), ("do", "do", "does")
SAKNA, CHAHNA, LAGNA = map(hindi_verb, ("सकना", "चाहना", "लगना"))


class VerbGroup(NamedTuple):
    """A verb in both languages; questions front the English auxiliary."""

    auxiliary: list[Word]
    english: list[Word]
    hindi: list[Word]


class Agreement(NamedTuple):
    """Agreement of a verb: number in English; person, number and gender in Hindi."""

    number: int
    who: int
    form: int


def agreement(plan: ClausePlan, subject: Phrase, object: Phrase | None) -> Agreement:
    """Agreement: with an unmarked subject, else a noun in the verb, an unmarked object, or none."""
    if not plan.case:
        return Agreement(subject.number, subject.who, subject.form)
    if plan.verb.agrees:
        return Agreement(subject.number, HE, F if plan.verb.agrees == "f" else M)
    if object and object.unmarked and not plan.verb.marker:
        return Agreement(subject.number, object.who, object.form)
    return Agreement(subject.number, HE, M)


def verb_group(
    builder: SentenceBuilder,
    plan: ClausePlan,
    node: int,
    agrees_with: Agreement,
    question_words: list[Word],
) -> VerbGroup:
    """The verb in both languages; Hindi puts question words right before it."""
    if plan.modality != Modality.PLAIN:
        return _with_mode(builder, plan, node, agrees_with, question_words)
    helper = builder.add_node(node)
    auxiliary, english = _english(plan, node, helper, agrees_with.number)
    main, rest = _hindi(plan, agrees_with)
    hindi = _before_verb(plan.verb, node, question_words)
    if plan.negated:
        no = builder.add_node(node)
        english.insert(0, ("not", no, True))
        hindi.append(("नहीं", no, True))
    hindi += [(word, node, True) for word in main]
    if rest:
        *going, last = rest
        hindi += [(word, node, False) for word in going]
        shared = bool(auxiliary) and auxiliary[0][2]
        hindi.append((last, helper if shared else node, shared))
    return VerbGroup(auxiliary, english, hindi)


def _english(
    plan: ClausePlan, node: int, helper: int, number: int
) -> tuple[list[Word], list[Word]]:
    """The auxiliary, aligned with the Hindi one in compound tenses, and the verb."""
    forms, helped = plan.verb.english, plan.negated or plan.inverted
    match plan.tense:
        case Tense.HABITUAL | Tense.CONDITIONAL if not helped:
            return [], _named(forms.third if number == THIRD_SINGULAR else forms.base, node)
        case Tense.SIMPLE_PAST if not helped:
            return [], _named(forms.past, node)
        case Tense.HABITUAL | Tense.CONDITIONAL | Tense.SIMPLE_PAST | Tense.FUTURE:
            first = {Tense.SIMPLE_PAST: "did", Tense.FUTURE: "will"}.get(plan.tense, DO[number])
            return [(first, node, False)], _named(forms.base, node)
        case Tense.PAST_HABITUAL:
            used: list[Word] = [("used", node, False), ("to", node, False)]
            return [], used + _named(forms.base, node)
    helpers = {
        Tense.PRESENT_PROGRESSIVE: BE,
        Tense.PAST_PROGRESSIVE: BEEN,
        Tense.PRESENT_PERFECT: HAVE,
    }.get(plan.tense, ("had",) * 3)
    rest = (
        forms.ing
        if plan.tense in (Tense.PRESENT_PROGRESSIVE, Tense.PAST_PROGRESSIVE)
        else forms.participle
    )
    return [(helpers[number], helper, True)], _named(rest, node)


def _hindi(plan: ClausePlan, agrees_with: Agreement) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the Hindi verb itself, and its auxiliaries."""
    verb, tense, form = plan.verb, plan.tense, agrees_with.form
    forms = verb.hindi
    end = (
        COPULA[agrees_with.who]
        if tense in (Tense.HABITUAL, Tense.PRESENT_PROGRESSIVE, Tense.PRESENT_PERFECT)
        else WAS[form]
    )
    match tense:
        case Tense.SIMPLE_PAST:
            return verb.perfective(form, negated=plan.negated), ()
        case Tense.FUTURE | Tense.CONDITIONAL:
            return (forms.future[agrees_with.who][form >= F],), ()
        case Tense.HABITUAL | Tense.PAST_HABITUAL:
            return (forms.habitual[form],), (end,)
        case Tense.PRESENT_PROGRESSIVE | Tense.PAST_PROGRESSIVE if not verb.rests:
            return (forms.stem,), (RAHA[form], end)
        case Tense.PRESENT_PROGRESSIVE | Tense.PAST_PROGRESSIVE if (
            verb.object_nouns
        ):  # wearing: पहने हुए
            return (forms.perfective[MM],), ("हुए", end)
    return verb.perfective(form, negated=plan.negated, auxiliary=True), (end,)


def _with_mode(
    builder: SentenceBuilder,
    plan: ClausePlan,
    node: int,
    agrees_with: Agreement,
    question_words: list[Word],
) -> VerbGroup:
    """A verb under a modal verb, in the present."""
    other, forms, modality = builder.add_node(node), plan.verb.hindi, plan.modality
    number, who, form = agrees_with
    base, to = _named(plan.verb.english.base, node), ("to", node, False)
    auxiliary: list[Word] = []
    joined: tuple[str, ...]
    helped = plan.negated or plan.inverted
    match modality:
        case Modality.CAN:
            auxiliary, english = [("can", other, True)], base
            main_verb, joined = forms.stem, (SAKNA.habitual[form], COPULA[who])
        case Modality.PURPOSE:
            can = "could" if plan.tense in PERFECTIVE else "can"
            auxiliary, english = [(can, other, True)], base
            main_verb, joined = forms.stem, (SAKNA.subjunctive[who],)
        case Modality.SHOULD:
            auxiliary, english = [("should", other, True)], base
            main_verb, joined = forms.infinitive[form], ("चाहिए",)
        case Modality.WANTS:
            auxiliary = [(DO[number], other, False)] if helped else []
            wants = "wants" if number == THIRD_SINGULAR and not helped else "want"
            english = [(wants, other, True), to, *base]
            main_verb, joined = forms.infinitive[M], (CHAHNA.habitual[form], COPULA[who])
        case Modality.HAS_TO:
            auxiliary = [(DO[number], other, False)] if helped else []
            english = [("have" if helped else HAVE[number], other, True), to, *base]
            main_verb, joined = forms.infinitive[form], (COPULA[who],)
        case _:
            english = [("began", other, True), to, *base]
            main_verb, joined = forms.infinitive[MM], (LAGNA.perfective[form],)
    hindi = [*_before_verb(plan.verb, node, question_words), (main_verb, node, True)]
    hindi += [(word, other, negation == 0) for negation, word in enumerate(joined)]
    if plan.negated:
        start = len(hindi) - len(joined) - 1
        _negate(builder, auxiliary, english, hindi, NegationPosition(start, modality, other))
    return VerbGroup(auxiliary, english, hindi)


class NegationPosition(NamedTuple):
    """The position of a negation, and the node it negates."""

    start: int
    modality: Modality
    node: int


def _negate(
    builder: SentenceBuilder,
    auxiliary: list[Word],
    english: list[Word],
    hindi: list[Word],
    negation: NegationPosition,
) -> None:
    """Insert not and नहीं before the verb, but after the infinitive of WANTS."""
    where = negation.start + (negation.modality == Modality.WANTS)
    if negation.modality == Modality.CAN:
        auxiliary[0] = ("cannot", negation.node, True)
        hindi.insert(where, ("नहीं", negation.node, False))
        return
    no = builder.add_node(negation.node)
    english.insert(0, ("not", no, True))
    hindi.insert(where, ("नहीं", no, True))


def _before_verb(verb: Verb, node: int, question_words: list[Word]) -> list[Word]:
    """Hindi words before the verb; a question word follows a noun that is part of the verb."""
    before: list[Word] = [(word, node, True) for word in verb.hindi.before[verb.apart :]]
    incorporates_noun = verb.agrees and (verb.marker or not verb.object_nouns)
    return before + question_words if incorporates_noun else question_words + before


def _named(words: tuple[str, ...], node: int) -> list[Word]:
    return [(word, node, True) for word in words]
