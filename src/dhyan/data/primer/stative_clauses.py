"""Stative clauses: predicate adjectives, locatives, existentials, possession, liking, hunger.

In the last two, and in wanting, the Hindi subject is an experiencer with a case marker.
"""

from functools import cache

from dhyan.data.primer.clauses import Clause
from dhyan.data.primer.hindi_morphology import COPULA, HE, THEY, WAS, F, M, hindi_verb
from dhyan.data.primer.lexicon import Adjective, Noun, read_lexicon
from dhyan.data.primer.noun_phrases import (
    PRONOUNS,
    indefinite_phrase,
    locative_phrase,
    name_phrase,
    noun_phrase,
    pronoun_phrase,
)
from dhyan.data.primer.sentence_builder import THIRD_SINGULAR, Phrase, SentenceBuilder, form_of
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.verb_groups import BE, BEEN, DO, HAVE
from dhyan.data.primer.vocabulary_subsets import held_out_adjectives

HONA = hindi_verb("होना")
LYING = ("food", "fruits", "kitchen", "school", "clothes", "tools")
# A state: the English verb and its words, the Hindi words, whether feminine.
Feeling = tuple[str, tuple[str, ...], tuple[str, ...], bool]
FEELINGS: tuple[Feeling, ...] = (
    ("be", ("hungry",), ("भूख", "लगी"), True),
    ("be", ("thirsty",), ("प्यास", "लगी"), True),
    ("have", ("a", "fever"), ("बुख़ार",), False),
    ("have", ("a", "cold"), ("ज़ुकाम",), False),
    ("have", ("a", "headache"), ("सिरदर्द",), False),
)
LIKABLE = ("food", "fruits", "drinks", "animals", "games", "music", "clothes")
DESIRABLE = ("food", "fruits", "drinks", "school", "tools", "clothes")
OWNERS = ("he", "she", "we")


def person(builder: SentenceBuilder, node: int, marker: str, room: int) -> Phrase:
    """A person: a name, a pronoun or a noun phrase."""
    dice = builder.random()
    if dice < 0.5:
        return name_phrase(builder, node, marker)
    if dice < 0.68 and marker in ("", "ने", "को"):
        key = "he" if dice < 0.56 else "she" if dice < 0.62 else "we"
        if builder.is_ambiguous(key):
            return name_phrase(builder, node, marker)
        return pronoun_phrase(builder, key, node, marker, feminine=key == "she")
    nouns = read_lexicon().nouns
    noun = builder.sample(nouns["people"] if dice < 0.85 else nouns["family"])
    return noun_phrase(builder, noun, node, marker=marker, room=room)


def sample_noun(builder: SentenceBuilder, domains: tuple[str, ...]) -> Noun:
    """A noun of one of these domains."""
    return builder.sample(read_lexicon().nouns[builder.choose(domains)])


@cache
def with_qualities() -> tuple[Noun, ...]:
    """The nouns that some adjective describes."""
    lexicon = read_lexicon()
    nouns = lexicon.choices(tuple(lexicon.nouns))
    return tuple(noun for noun in nouns if predicate_adjectives(noun))


@cache
def predicate_adjectives(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may be predicates of a noun."""
    return tuple(adjective for adjective in noun.adjectives if not adjective.attributive)


@cache
def surfaces() -> tuple[Noun, ...]:
    """Furniture that things are in or on."""
    return tuple(noun for noun in read_lexicon().nouns["furniture"] if noun.adpositions)


def adjective_clause(
    builder: SentenceBuilder,
    time: str,
    room: int,
    *,
    parent: int = ROOT,
    question: str = "",
    negated: bool = False,
) -> Clause:
    """A predicate adjective: The house is big."""
    noun = builder.sample(with_qualities())
    node = builder.add_node(parent)
    subject = noun_phrase(builder, noun, node, room=1 if room > 3 else 0, definite=True)
    quality = builder.add_node(node)
    adjective = builder.sample_partner(predicate_adjectives(noun), held_out_adjectives(noun))
    english: list[Word] = [(word, quality, True) for word in adjective.english]
    hindi: list[Word] = [(word, quality, True) for word in adjective.hindi[subject.form]]
    return copular_clause(
        builder, subject, (english, hindi), time=time, node=node, question=question, negated=negated
    )


def locative_clause(
    builder: SentenceBuilder,
    time: str,
    room: int,
    *,
    parent: int = ROOT,
    question: str = "",
    negated: bool = False,
) -> Clause:
    """A location: The book is on the table; in a question with where, the location is कहाँ."""
    node = builder.add_node(parent)
    if builder.flip(0.5):
        subject, location = (
            person(builder, node, "", 1),
            builder.sample(read_lexicon().nouns["places"]),
        )
    else:
        definite = True if question else None
        subject = noun_phrase(
            builder, sample_noun(builder, LYING), node, room=room - 3, definite=definite
        )
        location = builder.sample(surfaces())
    if question == "where":
        where = builder.add_node(node)
        english: list[Word] = [("where", where, True)]
        hindi: list[Word] = [("कहाँ", where, True)]
    else:
        english, hindi = locative_phrase(builder, location, node, room - 3)
    return copular_clause(
        builder, subject, (english, hindi), time=time, node=node, question=question, negated=negated
    )


def existential_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT
) -> Clause:
    """An existential: There are some books on the table, मेज़ पर कुछ किताबें हैं."""
    node = builder.add_node(parent)
    noun = sample_noun(builder, LYING)
    while noun.mass or noun.pair:
        noun = sample_noun(builder, LYING)
    subject = indefinite_phrase(builder, noun, node)
    english, hindi = locative_phrase(builder, builder.sample(surfaces()), node, room - 3)
    is_, hai = copula(subject, time, node)
    words = [("there", node, False), *is_, *subject.english, *english]
    return Clause(words, [*hindi, *subject.hindi, *hai], subject, node)


def copula(subject: Phrase, time: str, node: int) -> tuple[list[Word], list[Word]]:
    """The copula: is, was or will be."""
    if time == "past":
        return [(BEEN[subject.number], node, True)], [(WAS[subject.form], node, True)]
    if time == "future":
        will = HONA.future[subject.who][subject.form >= F]
        return [("will", node, False), ("be", node, True)], [(will, node, True)]
    return [(BE[subject.number], node, True)], [(COPULA[subject.who], node, True)]


def copular_clause(
    builder: SentenceBuilder,
    subject: Phrase,
    what: tuple[list[Word], list[Word]],
    *,
    time: str,
    node: int,
    question: str = "",
    negated: bool = False,
) -> Clause:
    """A clause of a subject, a copula and a predicate."""
    (english, hindi), (is_, hai) = what, copula(subject, time, node)
    if negated:
        no = builder.add_node(node)
        is_.insert(1, ("not", no, True))
        hai.insert(0, ("नहीं", no, True))
    hindi_words = [*subject.hindi, *hindi, *hai]
    if not question:
        return Clause([*subject.english, *is_, *english], hindi_words, subject, node)
    inverted = [is_[0], *subject.english, *is_[1:]]
    if question == "where":
        return Clause([*english, *inverted], hindi_words, subject, node)
    whether: Word = ("क्या", builder.add_node(node), True)
    return Clause([*inverted, *english], [whether, *hindi_words], subject, node)


def possession_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT
) -> Clause:
    """Possession: Ravi has a book, रवि के पास एक किताब है."""
    node = builder.add_node(parent)
    owner = (
        person(builder, node, "के", 0) if builder.flip(0.75) else _possessor_pronoun(builder, node)
    )
    owned = indefinite_phrase(
        builder, builder.sample(read_lexicon().verb("buy").object_nouns), node
    )
    has: list[Word] = [("had" if time == "past" else HAVE[owner.number], node, True)]
    if time == "future":
        has = [("will", node, False), ("have", node, True)]
    _, hai = copula(owned, time, node)
    near: Word = ("पास", node, False)
    return Clause(
        [*owner.english, *has, *owned.english],
        [*owner.hindi, near, *owned.hindi, *hai],
        owner,
        node,
    )


def _possessor_pronoun(builder: SentenceBuilder, node: int) -> Phrase:
    """A possessor as a pronoun: मेरे पास."""
    key, owner = builder.choose(OWNERS), builder.add_node(node)
    if builder.is_ambiguous(key):
        key = "we"
    pronoun_forms = PRONOUNS[key]
    return Phrase(
        english=[(pronoun_forms.subject, owner, True)],
        hindi=[(pronoun_forms.whose[1], owner, True)],
        who=pronoun_forms.who,
        form=form_of(feminine=key == "she", plural=key == "we"),
        number=pronoun_forms.number,
        pronoun=key,
        person=True,
        node=owner,
    )


def liking_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Liking: Ravi likes mangoes, रवि को आम पसंद हैं."""
    node = builder.add_node(parent)
    experiencer = person(builder, node, "को", 1)
    noun, liked = sample_noun(builder, LIKABLE), builder.add_node(node)
    plural = not (noun.mass or noun.pair)
    words = noun.english if noun.mass else noun.plural
    hindi_words = noun.hindi[2 if plural else 0]
    end = WAS[form_of(feminine=noun.feminine, plural=plural)]
    if time != "past":
        end = COPULA[THEY if plural else HE]
    verb, no = _experiencer_verb(builder, "like", time, experiencer, node, negated=negated)
    return Clause(
        [*experiencer.english, *verb, *((word, liked, True) for word in words)],
        [
            *experiencer.hindi,
            *((word, liked, True) for word in hindi_words),
            ("पसंद", node, True),
            *no,
            (end, node, False),
        ],
        experiencer,
        node,
    )


def wanting_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Wanting: Ravi wants a pen, रवि को एक क़लम चाहिए."""
    node = builder.add_node(parent)
    experiencer = person(builder, node, "को", 1)
    desired = indefinite_phrase(builder, sample_noun(builder, DESIRABLE), node, negated=negated)
    verb, no = _experiencer_verb(builder, "want", time, experiencer, node, negated=negated)
    end: list[Word] = [("चाहिए", node, True)]
    if time == "past":
        end.append((WAS[desired.form], node, False))
    return Clause(
        [*experiencer.english, *verb, *desired.english],
        [*experiencer.hindi, *desired.hindi, *no, *end],
        experiencer,
        node,
    )


def _experiencer_verb(
    builder: SentenceBuilder, base: str, time: str, experiencer: Phrase, node: int, *, negated: bool
) -> tuple[list[Word], list[Word]]:
    """The English verb, and the Hindi negation if it is negated."""
    past = time == "past"
    if negated:
        no = builder.add_node(node)
        helper: Word = ("did" if past else DO[experiencer.number], node, False)
        return [helper, ("not", no, True), (base, node, True)], [("नहीं", no, True)]
    if past:
        return [(base + ("d" if base.endswith("e") else "ed"), node, True)], []
    return [(base + ("s" if experiencer.number == THIRD_SINGULAR else ""), node, True)], []


def feeling_clause(builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT) -> Clause:
    """A feeling: Ravi is hungry, रवि को भूख लगी है."""
    node = builder.add_node(parent)
    return experienced(person(builder, node, "को", 1), builder.choose(FEELINGS), time, node)


def experienced(experiencer: Phrase, feeling: Feeling, time: str, node: int) -> Clause:
    """A feeling of this person, who has the marker को."""
    verb, words, hindi_words, feminine = feeling
    past = time == "past"
    forms = (BEEN if past else BE) if verb == "be" else (("had",) * 3 if past else HAVE)
    end = WAS[F if feminine else M] if past else COPULA[HE]
    return Clause(
        [
            *experiencer.english,
            (forms[experiencer.number], node, False),
            *((w, node, True) for w in words),
        ],
        [*experiencer.hindi, *((word, node, True) for word in hindi_words), (end, node, False)],
        experiencer,
        node,
    )
