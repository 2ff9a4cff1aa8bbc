"""What the words of the primer are: names, nouns, adjectives, verbs, adverbs and senses."""

from dataclasses import dataclass, field

from dhyan.data.primer.english_morphology import EnglishVerb
from dhyan.data.primer.hindi_morphology import HindiVerb

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A person's first name, which never inflects."""

    english: str
    hindi: str
    gender: str


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """A quality; Hindi by form, then the masculine oblique."""

    english: Words
    hindi: tuple[Words, ...]
    domains: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A thing or being; Hindi is direct, oblique, plural direct, plural oblique.

    One that is honorific is plural to Hindi verbs, a mass has no plural, and a pair (scissors) is
    plural in English only; of the sun there is `only` one. `place` says how one is at it in each
    language, and one that is a `goal` is gone to without a postposition.
    """

    english: Words
    plural: Words
    hindi: tuple[Words, ...]
    feminine: bool
    domain: str
    honorific: bool = False
    mass: bool = False
    pair: bool = False
    only: bool = False
    goal: bool = False
    place: tuple[str, str] | None = None
    adjectives: tuple[Adjective, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """An action, with the nouns that may do it, undergo it and receive something by it.

    `marker` is what stands after the object where that is not the usual; `agrees` the gender of a
    noun inside the verb, with which the perfective agrees instead. An ergative verb puts ने after
    its subject in the perfective, `to` takes a place as goal, and what `rests` is a state in Hindi.
    What `befalls` one is not done on purpose.
    It is `named` where people do it, and so a name will do as well.
    """

    english: EnglishVerb
    hindi: HindiVerb
    subjects: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    marker: str = ""
    agrees: str = ""
    ergative: bool = False
    to: bool = False
    rests: bool = False
    befalls: bool = False
    named: bool = False
    subject_nouns: tuple[Noun, ...] = field(default=(), repr=False)
    object_nouns: tuple[Noun, ...] = field(default=(), repr=False)
    recipient_nouns: tuple[Noun, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Adverb:
    """A manner, a month, or a time with the tense it asks for."""

    english: Words
    hindi: Words
    tense: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Cue:
    """An action that shows which sense is meant; its object has the article a, the or none."""

    verb: Verb
    noun: Noun
    article: str
    plural: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sense:
    """One meaning of a word that has several: a place one goes to, a thing, or who makes things."""

    noun: Noun
    kind: str
    cues: tuple[Cue, ...]
