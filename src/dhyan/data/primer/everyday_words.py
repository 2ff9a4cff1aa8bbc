"""Word lists of the everyday sentence patterns: nouns by class, phrases, verbs, adjectives."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from dhyan.data.primer.english_morphology import EnglishVerb, noun_plural, verb_forms
from dhyan.data.primer.hindi_morphology import (
    FF,
    MM,
    F,
    HindiVerb,
    M,
    adjective_forms,
    hindi_verb,
    noun_forms,
)
from dhyan.data.primer.lexicon import Adjective, Noun, read_lexicon
from dhyan.data.primer.vocabulary_subsets import held_out_objects
from dhyan.data.text_lines import file_error, read_lines
from dhyan.errors import UserError

EVERYDAY = Path(__file__).with_name("everyday.txt")
HEADING = re.compile(r"\[(nouns|class|phrases|verbs|adjectives|gradable|frames)(?: ([\w ]+))?\]")
TAGS = frozenset(("m", "f", "mm", "ff", "mass", "pair", "fixed", "only"))


@dataclass(frozen=True, slots=True)
class TextPhrase:
    """A phrase that never inflects: a town, an adverb."""

    english: tuple[str, ...]
    hindi: tuple[str, ...]
    feminine: bool
    plural: bool


@dataclass(frozen=True, slots=True)
class VerbPhrase:
    """A verb with its object: drink tea, चाय पीना.

    A transitive one has ने in the perfective, which agrees with the object, of this form.
    """

    english: EnglishVerb
    hindi: HindiVerb
    transitive: bool
    form: int


@dataclass(frozen=True, slots=True)
class WordLists:
    """The lists by name; `nouns` holds the nouns of a class, of the lexicon or of the file itself."""

    nouns: dict[str, tuple[Noun, ...]] = field(default_factory=dict)
    phrases: dict[str, tuple[TextPhrase, ...]] = field(default_factory=dict)
    verbs: dict[str, tuple[VerbPhrase, ...]] = field(default_factory=dict)
    adjectives: dict[str, tuple[Adjective, ...]] = field(default_factory=dict)
    gradable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file, in the section that its heading opens."""

    number: int
    section: str
    name: str
    text: str

    def error(self, reason: str) -> UserError:
        """An error at this line."""
        return file_error(EVERYDAY, self.number, reason)


def read_sections() -> Iterator[Line]:
    """The lines of the file, without comments."""
    section, name = "", ""
    for number, raw in enumerate(read_lines(EVERYDAY), 1):
        text = " ".join(raw.partition("#")[0].split())
        if heading := HEADING.fullmatch(text):
            section, name = heading[1], heading[2] or ""
        elif text and not section:
            raise file_error(EVERYDAY, number, "stands before any [section]; write one above it")
        elif text:
            yield Line(number, section, name, text)


@cache
def read_word_lists() -> WordLists:
    """Every list of the file; word pairs that are held out from training are left out."""
    lines = list(read_sections())
    own = {noun.english: noun for noun in (_noun(x) for x in lines if x.section == "nouns")}
    adjectives: dict[str, list[Adjective]] = {}
    nouns: dict[str, list[Noun]] = {}
    phrases: dict[str, list[TextPhrase]] = {}
    verbs: dict[str, list[VerbPhrase]] = {}
    gradable: list[str] = []
    held_out = _held_out_phrases()
    for line in lines:
        match line.section:
            case "class":
                words = [word.strip() for word in line.text.split(",")]
                nouns.setdefault(line.name, []).extend(_find(word, own, line) for word in words)
            case "adjectives":
                adjectives.setdefault(line.name, []).append(_adjective(line))
            case "phrases":
                phrases.setdefault(line.name, []).append(_phrase(line))
            case "verbs":
                verb = _verb(line)
                if _key(verb.english.base) not in held_out:
                    verbs.setdefault(line.name, []).append(verb)
            case "gradable":
                gradable += [word.strip() for word in line.text.split(",")]
    return WordLists(
        {name: tuple(items) for name, items in nouns.items()},
        {name: tuple(items) for name, items in phrases.items()},
        {name: tuple(items) for name, items in verbs.items()},
        {name: tuple(items) for name, items in adjectives.items()},
        frozenset(gradable),
    )


def _split(line: Line) -> tuple[list[str], str, list[str]]:
    """The English forms of a line, its Hindi, and its tags."""
    english, separator, rest = line.text.partition(" = ")
    hindi, tags = rest.split(), []
    while hindi and hindi[-1] in TAGS:
        tags.append(hindi.pop())
    if not separator or not hindi:
        raise line.error(f"{line.text!r} is no entry: write ENGLISH = HINDI tags")
    return [form.strip() for form in english.split(" / ")], " ".join(hindi), tags


def _noun(line: Line) -> Noun:
    english, hindi, tags = _split(line)
    if not {"m", "f"} & {*tags}:
        raise line.error("has no gender; write m or f")
    gender = "f" if "f" in tags else "m"
    alone = "mass" in tags or "pair" in tags
    plural = english[0] if alone else english[-1] if len(english) > 1 else noun_plural(english[0])
    return Noun(
        english=tuple(english[0].split()),
        plural=tuple(plural.split()),
        hindi=tuple(
            tuple(form.split()) for form in noun_forms(hindi, gender, fixed="fixed" in tags)
        ),
        feminine=gender == "f",
        domain="",
        mass="mass" in tags,
        pair="pair" in tags,
        only="only" in tags,
    )


def _find(word: str, own: dict[tuple[str, ...], Noun], line: Line) -> Noun:
    """A noun of the file, else of the lexicon; of an ambiguous word, its first sense."""
    lexicon = read_lexicon()
    if noun := own.get(tuple(word.split())):
        return noun
    if word in lexicon.senses:
        return lexicon.senses[word][0].noun
    if word not in lexicon.words:
        raise line.error(f"no noun {word!r} here or in the lexicon; write it under [nouns]")
    return lexicon.words[word]


def _adjective(line: Line) -> Adjective:
    """An adjective of people: of the lexicon, or with its Hindi."""
    if " = " in line.text:
        english, hindi, _ = _split(line)
        forms = tuple(tuple(form.split()) for form in adjective_forms(hindi))
        return Adjective(tuple(english[0].split()), forms, frozenset())
    for adjective in read_lexicon().adjectives:
        if adjective.english == (line.text,) and "people" in adjective.domains:
            return adjective
    raise line.error(f"no adjective {line.text!r} of people in the lexicon; write its Hindi")


def _phrase(line: Line) -> TextPhrase:
    english, hindi, tags = _split(line)
    return TextPhrase(
        tuple(english[0].split()),
        tuple(hindi.split()),
        feminine=bool({"f", "ff"} & {*tags}),
        plural=bool({"mm", "ff"} & {*tags}),
    )


def _verb(line: Line) -> VerbPhrase:
    english, hindi, tags = _split(line)
    if not hindi.endswith("ना"):
        raise line.error(f"{hindi!r} is no infinitive; write one that ends in ना")
    form = {"f": F, "mm": MM, "ff": FF}.get(tags[0], M) if tags else M
    return VerbPhrase(verb_forms(*english), hindi_verb(hindi), bool(tags), form)


def _key(words: tuple[str, ...]) -> str:
    return " ".join(word for word in words if word not in ("a", "an", "the", "my"))


@cache
def _held_out_phrases() -> frozenset[str]:
    """Every verb with an object that is held out from training, in the singular and plural."""
    return frozenset(
        " ".join((*verb.english.base, *form))
        for verb in read_lexicon().verbs
        for noun in held_out_objects(verb)
        for form in (noun.english, noun.plural)
    )
