"""Linked clauses of one topic: cause (because, so), contrast (although, but), purpose (so that)."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from dhyan.data.primer.clauses import (
    Clause,
    Object,
    Subject,
    action_clause,
    object_marker,
    object_of,
    pronoun_subject,
)
from dhyan.data.primer.hindi_morphology import COPULA, HE, WAS, F
from dhyan.data.primer.lexicon import Adjective, Noun, Verb, read_lexicon
from dhyan.data.primer.lexicon_parser import DOMAINS
from dhyan.data.primer.noun_phrases import (
    name_phrase,
    noun_phrase,
    object_pronoun,
    pronoun_phrase,
)
from dhyan.data.primer.sentence_builder import (
    PLURAL,
    Phrase,
    SentenceBuilder,
    punctuation,
)
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.stative_clauses import (
    FEELINGS,
    copular_clause,
    experienced,
    predicate_adjectives,
)
from dhyan.data.primer.verb_groups import ClausePlan, Modality, Tense
from dhyan.data.primer.vocabulary_subsets import held_out_adjectives, held_out_objects
from dhyan.data.text_lines import file_error, read_lines

REASONS = Path(__file__).with_name("reasons.txt")
WEATHER = {  # English, then the Hindi words, and those that follow them: all are feminine
    "rain": ("raining", ("बारिश", "हो"), ("रही",)),
    "cold": ("cold", ("ठंड",), ()),
    "hot": ("hot", ("गर्मी",), ()),
}
TIMES = ("past", "present")  # that linked clauses have
# By time: the tense of the action, and of another action that is its cause.
ACTION_TENSES = {"past": Tense.SIMPLE_PAST, "present": Tense.PRESENT_PROGRESSIVE}
CAUSE_TENSES = {"past": Tense.PAST_PERFECT, "present": Tense.PRESENT_PERFECT}
CONNECTIVES = {
    "because": "क्योंकि",
    "so": "इसलिए",
    "but": "लेकिन",
    "although": "हालाँकि",
    "so that": "ताकि",
}
CONTRASTS = frozenset(("although", "but"))
RESUMED = ("फिर", "भी")  # opens the main clause after हालाँकि


class Action(NamedTuple):
    """An action, with the objects that go with its cause."""

    verb: Verb
    nouns: tuple[Noun, ...]
    negated: bool


class Cause(NamedTuple):
    """A cause: "be" or "have" a state, "it" and a quality of the object, "weather", or an action."""

    kind: str
    word: str
    action: Action | None = None


class Topic(NamedTuple):
    """Actions that have a cause or a purpose in common."""

    actions: tuple[Action, ...]
    causes: tuple[Cause, ...]
    purposes: tuple[Action, ...]


@cache
def topics() -> tuple[Topic, ...]:
    """All topics, in the order of the file."""
    parsed = []
    for number, raw in enumerate(read_lines(REASONS), 1):
        line = raw.partition("#")[0].strip()
        if line:
            actions, separator, rest = line.partition("|" if "|" in line else ">")
            if not separator:
                raise file_error(REASONS, number, "is no topic; write ACTIONS | CAUSES")
            items = [item.strip() for item in rest.split(",")]
            parsed.append(
                Topic(
                    tuple(_action(item.strip(), number) for item in actions.split(",")),
                    tuple(_cause(item, number) for item in items if separator == "|"),
                    tuple(_action(item, number) for item in items if separator == ">"),
                )
            )
    return tuple(parsed)


def _action(text: str, number: int) -> Action:
    """The action of a text such as "not eat food =rice"."""
    words = text.removeprefix("not ").split(" ")
    count = next(
        (i for i, word in enumerate(words) if word[0] == "=" or word in DOMAINS), len(words)
    )
    base, listed = " ".join(words[:count]), " ".join(words[count:])
    lexicon = read_lexicon()
    nouns = lexicon.choices(_listed(listed)) if listed else ()
    verb = lexicon.verb(base, nouns[0] if nouns else None)
    if not nouns and verb.objects:
        others = [item for item in lexicon.verbs if item.english.base == verb.english.base]
        verb = next((item for item in others if not item.objects), verb)
    nouns = tuple(noun for noun in nouns if noun in verb.object_nouns)
    if not verb.named or bool(nouns) != bool(verb.objects):
        raise file_error(
            REASONS, number, f"{text!r} is no action of people; write a verb and =nouns"
        )
    return Action(verb, nouns, text.startswith("not "))


def _listed(text: str) -> tuple[str, ...]:
    """Domains and =nouns, of which some have several words."""
    parts: list[str] = []
    for word in text.split():
        if word[0] == "=" or word in DOMAINS:
            parts.append(word)
        else:
            parts[-1] += " " + word
    return tuple(parts)


def _cause(text: str, number: int) -> Cause:
    kind, _, word = text.partition(" ")
    if kind in ("be", "have", "it", "weather"):
        return Cause(kind, word)
    return Cause("action", "", _action(text, number))


def linked_clauses(
    builder: SentenceBuilder, room: int, time: str, connective: str, *, parent: int
) -> Clause:
    """Two clauses of one topic; a pronoun in the second refers to the first."""
    if connective == "so that":
        return _purpose(builder, room, time, parent)
    causal = tuple(topic for topic in topics() if topic.causes)
    topic = builder.choose(causal)
    cause = builder.choose(topic.causes)
    action = builder.choose(_affected(topic, cause))
    if connective in CONTRASTS:
        action = action._replace(negated=not action.negated)
    if cause.kind == "it":
        return _quality(builder, action, cause.word, connective, parent, room=room, time=time)
    subject = _person_with(cause.word if cause.kind == "be" else "")
    if connective == "because":
        first = _act(builder, action, subject, parent, ACTION_TENSES[time], room=room)
        again = pronoun_subject(first.about)
        second = _state(builder, cause, again, first.node, CAUSE_TENSES[time], time=time)
        return _join(builder, connective, first, second)
    tense = Tense.SIMPLE_PAST if time == "past" else Tense.PRESENT_PERFECT
    first = _state(builder, cause, subject, parent, tense, time=time)
    again = subject if cause.kind == "weather" else pronoun_subject(first.about)
    second = _act(builder, action, again, first.node, ACTION_TENSES[time], room=room)
    return _join(builder, connective, first, second)


def _affected(topic: Topic, cause: Cause) -> tuple[Action, ...]:
    """The actions of a topic that a cause fits: an object must have the quality."""
    if cause.kind != "it":
        return topic.actions
    return tuple(action for action in topic.actions if _with_quality(action, cause.word))


@cache
def _with_quality(action: Action, word: str) -> tuple[Noun, ...]:
    """The objects of an action that an adjective describes, in training too."""
    return tuple(
        noun
        for noun in action.nouns
        if _quality_of(noun, word) and not noun.pair and noun not in held_out_objects(action.verb)
    )


@cache
def _quality_of(noun: Noun, word: str) -> Adjective | None:
    """The adjective of an English word, if it describes a noun in training."""
    for adjective in predicate_adjectives(noun):
        if adjective.english == (word,) and adjective not in held_out_adjectives(noun):
            return adjective
    return None


def _person_with(state: str) -> Subject:
    """A person as a subject; if the state is an adjective, one that it describes."""
    feeling = not state or any(words == (state,) for _, words, _, _ in FEELINGS)

    def subject(builder: SentenceBuilder, verb: Verb, case: str, node: int, room: int) -> Phrase:
        dice = builder.random()
        if dice < 0.16:
            key = "he" if dice < 0.06 else "she" if dice < 0.12 else "we"
            if not builder.is_ambiguous(key):
                return pronoun_phrase(builder, key, node, case, feminine=key == "she")
        noun = builder.sample(read_lexicon().nouns["people"])
        if dice < 0.55 or not (feeling or _quality_of(noun, state)):
            return name_phrase(builder, node, case)
        return noun_phrase(builder, noun, node, marker=case, room=0)

    return subject


def _act(
    builder: SentenceBuilder,
    action: Action,
    subject: Subject,
    parent: int,
    tense: Tense,
    *,
    room: int = 0,
    object: Object | None = None,
    modality: Modality = Modality.PLAIN,
) -> Clause:
    """The clause of an action."""

    def sample(
        builder: SentenceBuilder, plan: ClausePlan, node: int, subject: Phrase, room: int
    ) -> Phrase:
        return object_of(builder, plan, node, subject, min(room, 2), nouns=action.nouns)

    return action_clause(
        builder,
        tense,
        room,
        parent=parent,
        verb=action.verb,
        subject=subject,
        object=object or sample,
        modality=modality,
        negated=action.negated,
        fronts=False,
        alone=True,
    )


def _state(
    builder: SentenceBuilder,
    cause: Cause,
    subject: Subject,
    parent: int,
    tense: Tense,
    *,
    time: str,
) -> Clause:
    """The clause of a cause: a state, the weather, or another action."""
    if cause.action:
        return _act(builder, cause.action, subject, parent, tense)
    node = builder.add_node(parent)
    if cause.kind == "weather":
        return _weather(cause.word, time, node)
    verb = read_lexicon().verbs[0]  # the subject of a state depends on no verb
    for feeling in FEELINGS:
        if (cause.kind, cause.word) == (feeling[0], " ".join(feeling[1])):
            return experienced(subject(builder, verb, "को", node, 0), feeling, time, node)
    person = subject(builder, verb, "", node, 0)
    return _described(builder, person, _human_adjective(cause.word), time, node)


@cache
def _human_adjective(word: str) -> Adjective:
    """The adjective of an English word that describes people."""
    adjectives = read_lexicon().adjectives
    return next(a for a in adjectives if a.english == (word,) and "people" in a.domains)


def _described(
    builder: SentenceBuilder, subject: Phrase, adjective: Adjective, time: str, node: int
) -> Clause:
    quality = builder.add_node(node)
    english: list[Word] = [(word, quality, True) for word in adjective.english]
    hindi: list[Word] = [(word, quality, True) for word in adjective.hindi[subject.form]]
    return copular_clause(builder, subject, (english, hindi), time=time, node=node)


def _weather(kind: str, time: str, node: int) -> Clause:
    """The weather: it was raining, बारिश हो रही थी."""
    word, hindi, following = WEATHER[kind]
    past = time == "past"
    end = WAS[F] if past else COPULA[HE]
    return Clause(
        [("it", node, False), ("was" if past else "is", node, False), (word, node, True)],
        [
            *((part, node, True) for part in hindi),
            *((part, node, False) for part in (*following, end)),
        ],
        Phrase([], []),
        node,
    )


def _quality(
    builder: SentenceBuilder,
    action: Action,
    word: str,
    connective: str,
    parent: int,
    *,
    room: int,
    time: str,
) -> Clause:
    """An action because of a quality of its object, which a pronoun resumes."""
    noun = builder.sample(_with_quality(action, word))
    adjective = _quality_of(noun, word)
    assert adjective  # `_with_quality` has checked it
    person, tense = _person_with(""), ACTION_TENSES[time]

    def named(
        builder: SentenceBuilder, plan: ClausePlan, node: int, subject: Phrase, room: int
    ) -> Phrase:
        marker = object_marker(plan.verb, noun)
        return noun_phrase(builder, noun, node, marker=marker, room=0, definite=True)

    if connective == "because":
        first = _act(builder, action, person, parent, tense, room=room, object=named)
        node = builder.add_node(first.node)
        patient = first.patient
        assert patient  # an action with a quality has an object
        key = "they" if patient.number == PLURAL else "it"
        it = pronoun_phrase(builder, key, node, "", feminine=noun.feminine)
        return _join(builder, connective, first, _described(builder, it, adjective, time, node))
    node = builder.add_node(parent)
    what = noun_phrase(builder, noun, node, room=0, definite=True)
    first = _described(builder, what, adjective, time, node)
    key = "they" if what.number == PLURAL else "it"

    def resumed(
        builder: SentenceBuilder, plan: ClausePlan, node: int, subject: Phrase, room: int
    ) -> Phrase:
        marker = plan.verb.marker or "को"
        return object_pronoun(builder, key, node, marker, whose={"का": 0, "के": 1}.get(marker, 2))

    second = _act(builder, action, person, first.node, tense, room=room, object=resumed)
    return _join(builder, connective, first, second)


def _purpose(builder: SentenceBuilder, room: int, time: str, parent: int) -> Clause:
    """An action and its purpose: so that he can read, ताकि वह पढ़ सके."""
    topic = builder.choose(tuple(topic for topic in topics() if topic.purposes))
    action, purpose = builder.choose(topic.actions), builder.choose(topic.purposes)
    tense = ACTION_TENSES[time]
    first = _act(builder, action, _person_with(""), parent, tense, room=room)
    again = pronoun_subject(first.about)
    second = _act(builder, purpose, again, first.node, tense, modality=Modality.PURPOSE)
    return _join(builder, "so that", first, second)


def _join(builder: SentenceBuilder, connective: str, first: Clause, second: Clause) -> Clause:
    """Two clauses with their connective; in Hindi a comma precedes it, except before क्योंकि and ताकि."""
    comma = punctuation(",")
    about = first.about if first.about.person else second.about
    if connective == "although":
        link = builder.add_node(first.node)
        resumed: list[Word] = [(word, link, False) for word in RESUMED]
        english = [(connective, link, True), *first.english, comma, *second.english]
        hindi = [(CONNECTIVES[connective], link, True), *first.hindi, comma, *resumed]
        return Clause(english, [*hindi, *second.hindi], about, first.node)
    link = builder.add_node(second.node)
    pause = [comma] if connective in ("so", "but") else []
    words: list[Word] = [(word, link, True) for word in connective.split()]
    return Clause(
        [*first.english, *pause, *words, *second.english],
        [*first.hindi, *pause, (CONNECTIVES[connective], link, True), *second.hindi],
        about,
        first.node,
    )
