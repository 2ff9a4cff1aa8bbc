"""Slots of the everyday sentence patterns: persons, things, numbers, phrases, verbs, qualities."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

from dhyan.data.primer.dialogue import FORMS_OF_ADDRESS
from dhyan.data.primer.english_morphology import a_or_an
from dhyan.data.primer.everyday_words import TextPhrase, VerbPhrase, read_word_lists
from dhyan.data.primer.hindi_morphology import FF, GENITIVE, HE, MM, THEY, YOU, F, M
from dhyan.data.primer.lexicon import Adjective, Noun, read_lexicon
from dhyan.data.primer.noun_phrases import DEMONSTRATIVES, PLURALS, PRONOUNS, Pronoun
from dhyan.data.primer.sentence_builder import (
    PLURAL,
    THIRD_SINGULAR,
    SentenceBuilder,
    form_of,
)
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.vocabulary_subsets import held_out_adjectives
from dhyan.data.synthetic import english_number, hindi_number

ATTACHED = frozenset(("से", "में"))  # markers that join a pronoun: मुझसे, उसमें
FEW = 6  # of a counted noun, at most


@dataclass(slots=True)
class Filling:
    """What fills a slot: its words in both languages, and what agrees with it.

    `possessive` is its English genitive, `own` the pronoun that resumes it as a possessor; `variants`
    are other correct Hindi translations: of "I" as a woman, of "you" as तुम.
    """

    node: int
    english: list[Word]
    hindi: list[Word]
    oblique: list[Word]
    who: int = HE
    form: int = M
    number: int = THIRD_SINGULAR
    pronoun: Pronoun | None = None
    possessive: str = ""
    own: str = "its"
    noun: Noun | None = None
    verb: VerbPhrase | None = None
    adjective: Adjective | None = None
    variants: tuple["Filling", ...] = field(default=())

    def marked(self, marker: str) -> list[Word]:
        """The Hindi words with a case marker: मुझे, उससे, रवि ने."""
        pronoun, node = self.pronoun, self.node
        if not pronoun:
            return [*self.oblique, (marker, node, False)]
        fused = {"ने": pronoun.agent, "को": pronoun.dative}.get(marker)
        if fused or marker in ATTACHED:
            return [(fused or pronoun.oblique + marker, node, True)]
        return [(pronoun.oblique, node, True), (marker, node, False)]

    def genitive(self, form: int) -> list[Word]:
        """The Hindi genitive before a noun of this form: मेरा, रवि की."""
        if self.pronoun:
            return [(self.pronoun.whose[form], self.node, True)]
        return [*self.oblique, (GENITIVE[form], self.node, False)]


@dataclass(frozen=True, slots=True)
class Address:
    """Who is spoken to: name or title in both languages, the pronoun (आप, तुम), the gender."""

    english: str
    hindi: str
    pronoun: str
    feminine: bool


def sample_address(builder: SentenceBuilder) -> Address:
    """A name or a title that decides between आप and तुम."""
    if builder.flip(0.3):
        return Address(*builder.choose(FORMS_OF_ADDRESS))
    name = builder.sample_new(read_lexicon().names)
    return Address(name.english, name.hindi, "you", name.gender == "f")


def _new_noun(builder: SentenceBuilder, nouns: tuple[Noun, ...]) -> Noun:
    """A noun that the sentence does not have."""
    while (noun := builder.choose(nouns)) in builder.used:
        pass
    builder.used.append(noun)
    return noun


def _pronoun(
    builder: SentenceBuilder, key: str, parent: int, *, feminine: bool = False, node: int = -1
) -> Filling:
    pronoun = PRONOUNS[key]
    node = builder.add_node(parent) if node < 0 else node
    return Filling(
        node,
        [(pronoun.subject, node, True)],
        [(pronoun.direct, node, True)],
        [(pronoun.oblique, node, True)],
        pronoun.who,
        form_of(feminine=feminine, plural=pronoun.who in (YOU, THEY)),
        pronoun.number,
        pronoun,
        pronoun.possessive,
        pronoun.possessive,
    )


def _speaker(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    """I: a man, or in another translation a woman."""
    man = _pronoun(builder, "I", parent)
    return replace(man, variants=(replace(man, form=F),))


def _listener(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    """You: as the form of address requires, else आप, in other translations तुम."""
    if address:
        return _pronoun(builder, address.pronoun, parent, feminine=address.feminine)
    sir = _pronoun(builder, "you, sir", parent)
    friend = _pronoun(builder, "you", parent, node=sir.node)
    madam, girl = (replace(filling, form=F + 1) for filling in (sir, friend))
    return replace(sir, variants=(madam, friend, girl))


def _name(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    name = builder.sample_new(read_lexicon().names)
    node = builder.add_node(parent)
    hindi: list[Word] = [(name.hindi, node, True)]
    feminine = name.gender == "f"
    own = "her" if feminine else "his"
    return Filling(
        node,
        [(name.english, node, True)],
        hindi,
        hindi,
        form=form_of(feminine=feminine, plural=False),
        possessive=name.english + "'s",
        own=own,
    )


def _namesake(builder: SentenceBuilder, whose: Filling, parent: int) -> Filling:
    """A name of the gender of a person; of the speaker, any."""
    name = _name(builder, parent, None)
    while not whose.variants and (whose.form >= F) != (name.form >= F):
        name = _name(builder, parent, None)
    return name


def _he(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    return _pronoun(builder, "he", parent)


def _she(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    return _pronoun(builder, "she", parent, feminine=True)


def _we(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    return _pronoun(builder, "we", parent)


def _they(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    return _pronoun(builder, "they", parent)


def _my_relative(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    noun = builder.choose(read_word_lists().nouns["relative"])
    owner = builder.choose((_i, _i, _i, _name, _we))(builder, parent, None)
    return _possession(builder, noun, owner, parent)


def _your_relative(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    noun = builder.choose(read_word_lists().nouns["relative"])
    return _possession(builder, noun, _listener(builder, parent, address), parent)


def _i(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    return _pronoun(builder, "I", parent)


def _stranger(builder: SentenceBuilder, parent: int, address: Address | None) -> Filling:
    return _the(builder, builder.choose(read_word_lists().nouns["somebody"]), parent)


def _possession(builder: SentenceBuilder, noun: Noun, owner: Filling, parent: int) -> Filling:
    """What belongs to a person: my brother, मेरा भाई."""
    result = _noun(builder, noun, parent)
    options = [_with_owner(result, noun, item) for item in (owner, *owner.variants)]
    texts: dict[str, Filling] = {}
    for option in options:
        texts.setdefault(option.hindi[0][0], option)
    first, *others = texts.values()
    return replace(first, variants=tuple(others))


def _with_owner(result: Filling, noun: Noun, owner: Filling) -> Filling:
    english: list[Word] = [(owner.possessive, owner.node, True), *result.english]
    oblique_form = 4 if result.form == M else result.form
    own = PRONOUNS["she" if noun.feminine else "he"].possessive
    return replace(
        result,
        english=english,
        hindi=[*owner.genitive(result.form), *result.hindi],
        oblique=[*owner.genitive(oblique_form), *result.oblique],
        possessive=f"{owner.possessive} {' '.join(noun.english)}'s",
        own=own if noun.domain in ("people", "family") else "its",
    )


Person = Callable[[SentenceBuilder, int, Address | None], Filling]
# Kinds of persons: about how many there are, and how they are sampled.
PERSONS: dict[str, tuple[int, tuple[Person, ...]]] = {
    "I": (1, (_speaker,)),
    "you": (2, (_listener,)),
    "we": (1, (_we,)),
    "name": (84, (_name,)),
    "relative": (40, (_my_relative,)),
    "yours": (20, (_your_relative,)),
    "known": (120, (_he, _she, _name, _name, _my_relative, _my_relative)),
    "adult": (90, (_speaker, _speaker, _speaker, _we, _he, _she, _name, _name)),
    "third": (
        140,
        (_he, _she, _name, _name, _name, _my_relative, _my_relative, _stranger, _they),
    ),
    "single": (140, (_he, _she, _name, _name, _my_relative, _my_relative, _stranger)),
    "person": (
        140,
        (
            *(_speaker, _speaker, _speaker, _speaker, _we, _he, _she, _they),
            *(_name, _name, _name, _my_relative, _my_relative, _stranger),
        ),
    ),
    "asked": (
        140,
        (*(_listener,) * 6, _he, _she, _they, _name, _name, _your_relative, _your_relative),
    ),
}


def _noun(builder: SentenceBuilder, noun: Noun, parent: int, *, plural: bool = False) -> Filling:
    """A noun without determiner."""
    node = builder.add_node(parent)
    hindi_plural = plural or noun.honorific
    return Filling(
        node,
        [(word, node, True) for word in (noun.plural if plural or noun.pair else noun.english)],
        [(word, node, True) for word in noun.hindi[2 * plural]],
        [(word, node, True) for word in noun.hindi[2 * plural + 1]],
        THEY if hindi_plural else HE,
        form_of(feminine=noun.feminine, plural=hindi_plural),
        PLURAL if plural or noun.pair else THIRD_SINGULAR,
        possessive=f"{' '.join(noun.english)}'s",
        own="their" if plural else "its",
        noun=noun,
    )


def _countable(noun: Noun) -> bool:
    return not (noun.mass or noun.pair or noun.only)


def _determined(
    builder: SentenceBuilder, filling: Filling, english: str, hindi: str, oblique: str = ""
) -> Filling:
    """A noun after a determiner that has a translation."""
    own = builder.add_node(filling.node)
    word = a_or_an(filling.english[0][0]) if english == "a" else english
    return replace(
        filling,
        english=[(word, own, True), *filling.english],
        hindi=[(hindi, own, True), *filling.hindi],
        oblique=[(oblique or hindi, own, True), *filling.oblique],
    )


def _with_article(filling: Filling, article: str) -> Filling:
    """A noun after an article without translation."""
    word = a_or_an(filling.english[0][0]) if article == "a" else article
    return replace(filling, english=[(word, filling.node, False), *filling.english])


def _indefinite(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """A pen, two pens, some pens; milk."""
    if not _countable(noun):
        return _noun(builder, noun, parent)
    dice = builder.random()
    if dice < 0.7:
        return _one(builder, noun, parent)
    if dice < 0.88:
        return _counted(builder, noun, parent)
    english, hindi = ("some", "कुछ") if dice < 0.95 else ("many", "कई")
    return _determined(builder, _noun(builder, noun, parent, plural=True), english, hindi)


def _one(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    filling = _noun(builder, noun, parent)
    return _determined(builder, filling, "a", "एक") if _countable(noun) else filling


def _counted(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    number = 2 + int(builder.random() ** 2 * (FEW - 1))
    filling = _noun(builder, noun, parent, plural=True)
    return _determined(builder, filling, english_number(number), hindi_number(number))


def _questioned(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """In a question: a pen, any pens, any milk; the determiner has no translation."""
    if not _countable(noun):
        filling = _noun(builder, noun, parent)
        return filling if noun.pair else _with_article(filling, "any")
    plural = builder.flip(0.25)
    return _with_article(_noun(builder, noun, parent, plural=plural), "any" if plural else "a")


def _negated(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """After a negation: a pen, any pens, कोई क़लम; any milk."""
    if not _countable(noun):
        return _questioned(builder, noun, parent)
    filling = _noun(builder, noun, parent)
    if builder.flip(0.6):
        return _determined(builder, filling, "a", "कोई", "किसी")
    several = replace(filling, english=[(word, filling.node, True) for word in noun.plural])
    return _determined(builder, several, "any", "कोई", "किसी")


def _the(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    filling = _with_article(_noun(builder, noun, parent), "the")
    own = PRONOUNS["she" if noun.feminine else "he"].possessive
    return replace(filling, possessive=f"the {filling.possessive}", own=own)


def _these(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """This pen, those pens."""
    plural = _countable(noun) and builder.flip(0.25)
    word = "this" if builder.flip(0.7) else "that"
    filling = _noun(builder, noun, parent, plural=plural)
    hindi, oblique = DEMONSTRATIVES[word, plural]
    return _determined(
        builder, filling, PLURALS[word] if plural or noun.pair else word, hindi, oblique
    )


def _this(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """This pen, that pen."""
    word = "this" if builder.flip(0.7) else "that"
    english = PLURALS[word] if noun.pair else word
    return _determined(builder, _noun(builder, noun, parent), english, *DEMONSTRATIVES[word, False])


def _near(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """This pen."""
    return _determined(
        builder, _noun(builder, noun, parent), "this", *DEMONSTRATIVES["this", False]
    )


def _my(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """My pen, Ravi's pen."""
    owner = builder.choose((_i, _i, _i, _name, _we, _he, _she))(builder, parent, None)
    return _possession(builder, noun, owner, parent)


def _your(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """Your pen: आपका, in other translations तुम्हारा."""
    return _possession(builder, noun, _listener(builder, parent, None), parent)


def _generic(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """Mangoes, milk."""
    return _noun(builder, noun, parent, plural=_countable(noun))


def _predicate(builder: SentenceBuilder, noun: Noun, parent: int) -> Filling:
    """A doctor, डॉक्टर: the article has no translation."""
    filling = _noun(builder, noun, parent)
    return _with_article(filling, "a") if _countable(noun) else filling


DETERMINERS: dict[str, Callable[[SentenceBuilder, Noun, int], Filling]] = {
    "": _noun,
    "a": _indefinite,
    "one": _one,
    "counted": _counted,
    "question": _questioned,
    "negated": _negated,
    "the": _the,
    "this": _this,
    "these": _these,
    "near": _near,
    "my": _my,
    "your": _your,
    "generic": _generic,
    "predicate": _predicate,
}


def _number(builder: SentenceBuilder, number: int, parent: int) -> Filling:
    node = builder.add_node(parent)
    hindi: list[Word] = [(word, node, True) for word in hindi_number(number).split()]
    english: list[Word] = [(english_number(number).replace(" ", "-"), node, True)]
    return Filling(node, english, hindi, hindi, THEY, MM, PLURAL)


def _phrase(builder: SentenceBuilder, phrase: TextPhrase, parent: int) -> Filling:
    node = builder.add_node(parent)
    hindi: list[Word] = [(word, node, True) for word in phrase.hindi]
    english: list[Word] = [(word, node, True) for word in phrase.english]
    form = form_of(feminine=phrase.feminine, plural=phrase.plural)
    number, who = (PLURAL, THEY) if phrase.plural else (THIRD_SINGULAR, HE)
    return Filling(node, english, hindi, hindi, who, form, number)


def _adjective(builder: SentenceBuilder, adjective: Adjective, parent: int) -> Filling:
    node = builder.add_node(parent)
    english: list[Word] = [(word, node, True) for word in adjective.english]
    return Filling(node, english, [], [], adjective=adjective)


@cache
def qualities(noun: Noun) -> tuple[Adjective, ...]:
    """The gradable adjectives that are predicates of a noun in training."""
    gradable = read_word_lists().gradable
    return tuple(
        adjective
        for adjective in noun.adjectives
        if not adjective.attributive
        and " ".join(adjective.english) in gradable
        and adjective not in held_out_adjectives(noun)
    )


class SlotContext(NamedTuple):
    """Where a slot stands: its parent node, who is spoken to, and the slots before it."""

    parent: int
    address: Address | None
    fillings: dict[str, Filling]


Filler = Callable[[SentenceBuilder, str, SlotContext], Filling]


class SlotKind(NamedTuple):
    """A kind of slot: about how many fillings it has, and how one is sampled with a mode."""

    size: int
    fill: Filler


@cache
def slot_kinds() -> dict[str, SlotKind]:
    """The kinds of slots: persons, qualities, and every list of the file."""
    lists = read_word_lists()
    kinds = {name: SlotKind(size, _fill_person(people)) for name, (size, people) in PERSONS.items()}
    kinds["namesake"] = SlotKind(40, _fill_namesake)
    kinds["quality"] = SlotKind(6, _fill_quality)
    for name, adjectives in lists.adjectives.items():
        kinds[name] = SlotKind(len(adjectives), _fill_adjective(adjectives))
    for name, phrases in lists.phrases.items():
        kinds[name] = SlotKind(len(phrases), _fill_phrase(phrases))
    for name, verbs in lists.verbs.items():
        kinds[name] = SlotKind(len(verbs), _fill_verb(verbs))
    for name, nouns in lists.nouns.items():
        kinds[name] = SlotKind(2 * len(nouns), _fill_noun(nouns))
    return kinds


@cache
def number_kind(low: int, high: int) -> SlotKind:
    """The kind of a slot for a number from low to high."""

    def fill(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
        number = low + int(builder.random() * (high - low + 1))
        return _number(builder, number, context.parent)

    return SlotKind(high - low + 1, fill)


def _fill_person(people: tuple[Person, ...]) -> Filler:
    def fill(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
        return builder.choose(people)(builder, context.parent, context.address)

    return fill


def _fill_namesake(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
    return _namesake(builder, context.fillings[mode], context.parent)


def _fill_quality(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
    noun = context.fillings[mode].noun
    assert noun, f"slot {mode} has no noun"
    return _adjective(builder, builder.choose(qualities(noun)), context.parent)


def _fill_adjective(adjectives: tuple[Adjective, ...]) -> Filler:
    def fill(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
        return _adjective(builder, builder.choose(adjectives), context.parent)

    return fill


def _fill_phrase(phrases: tuple[TextPhrase, ...]) -> Filler:
    def fill(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
        return _phrase(builder, builder.choose(phrases), context.parent)

    return fill


def _fill_verb(verbs: tuple[VerbPhrase, ...]) -> Filler:
    def fill(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
        verb, node = builder.choose(verbs), builder.add_node(context.parent)
        who = THEY if verb.form in (MM, FF) else HE
        return Filling(node, [], [], [], who, verb.form, verb=verb)

    return fill


def _fill_noun(nouns: tuple[Noun, ...]) -> Filler:
    def fill(builder: SentenceBuilder, mode: str, context: SlotContext) -> Filling:
        return DETERMINERS[mode](builder, _new_noun(builder, nouns), context.parent)

    return fill
