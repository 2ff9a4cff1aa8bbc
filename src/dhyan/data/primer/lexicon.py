"""The lexicon: words of both languages by word class, and the words each may combine with."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dhyan.data.primer.english_morphology import EnglishVerb, noun_plural, verb_forms
from dhyan.data.primer.hindi_morphology import HindiVerb, adjective_forms, hindi_verb, noun_forms
from dhyan.data.primer.lexicon_parser import DOMAINS, TAGS, Entry, read_entries, suggest_spelling
from dhyan.errors import UserError

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A person's first name, which never inflects."""

    english: str
    hindi: str
    gender: str


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective: four direct Hindi forms (M, MM, F, FF), then the masculine oblique.

    An attributive one stands before its noun only (an old friend).
    """

    english: Words
    hindi: tuple[Words, ...]
    domains: frozenset[str]
    attributive: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun; its Hindi forms are direct, oblique, plural direct, plural oblique.

    An honorific noun is plural to Hindi verbs, a mass noun has no plural, and a pair (scissors) is
    plural in English only; `only` marks what exists once (the sun). `adpositions` are the English
    preposition and the Hindi postposition of being there, and a `goal` of motion needs no
    postposition.
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
    adpositions: tuple[str, str] | None = None
    adjectives: tuple[Adjective, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb, with the nouns that may be its subject, object and recipient.

    `marker` is the case marker of the object where it is not the usual one; `agrees` the gender of
    a noun inside the verb, with which the perfective agrees instead. The first `apart` words before the
    Hindi verb precede its goal or object (दौड़कर घर जाना), and `vector` is the last word of a compound
    perfective (सड़ गया). An ergative verb puts ने after
    its subject in the perfective, `to` takes a place as goal, `rests` is a state in Hindi (sits,
    wears), and `befalls` is not done on purpose. `named` verbs take people as subjects, so a name
    may be the subject.
    """

    english: EnglishVerb
    hindi: HindiVerb
    subjects: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    marker: str = ""
    agrees: str = ""
    apart: int = 0
    vector: HindiVerb | None = None
    ergative: bool = False
    to: bool = False
    rests: bool = False
    befalls: bool = False
    named: bool = False
    subject_nouns: tuple[Noun, ...] = field(default=(), repr=False)
    object_nouns: tuple[Noun, ...] = field(default=(), repr=False)
    recipient_nouns: tuple[Noun, ...] = field(default=(), repr=False)

    def perfective(self, form: int, *, negated: bool = False, auxiliary: bool = False) -> Words:
        """The perfective: सड़ गया, but नहीं सड़ा; `auxiliary` if है or था follows."""
        last = self.hindi if negated or not self.vector else self.vector
        word = (last.perfect if auxiliary else last.perfective)[form]
        return (word,) if last is self.hindi else (self.hindi.stem, word)


@dataclass(frozen=True, slots=True, eq=False)
class Adverb:
    """An adverb of manner, a month, or an adverb of time with the tense it requires."""

    english: Words
    hindi: Words
    tense: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Cue:
    """A cue: an action that shows which sense is meant; `article` is a, the or none."""

    verb: Verb
    noun: Noun
    article: str
    plural: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sense:
    """A sense of an ambiguous word; its kind is place, thing or maker."""

    noun: Noun
    kind: str
    cues: tuple[Cue, ...]


LEXICON = Path(__file__).with_name("lexicon.txt")
PERSONS = ("people", "family")
DOERS = frozenset("करना देना लेना छींकना खाँसना थूकना".split())  # ergative without an object

__all__ = ["Adjective", "Adverb", "Cue", "Lexicon", "Name", "Noun", "Sense", "Verb", "read_lexicon"]


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """All words by word class; nouns by domain, senses by their English word."""

    names: tuple[Name, ...]
    nouns: dict[str, tuple[Noun, ...]]
    adjectives: tuple[Adjective, ...]
    manner: tuple[Adverb, ...]
    times: tuple[Adverb, ...]
    months: tuple[Adverb, ...]
    words: dict[str, Noun]
    """Nouns by their English word, without ambiguous ones."""
    verbs: tuple[Verb, ...] = ()
    speech: tuple[Verb, ...] = ()
    senses: dict[str, tuple[Sense, ...]] = field(default_factory=dict)
    chosen: dict[tuple[str, ...], tuple[Noun, ...]] = field(default_factory=dict)
    """The cache of `choices`."""

    def noun(self, word: str) -> Noun:
        """The noun of an English word in the singular."""
        if word not in self.words:
            raise UserError(f"no noun {word!r} in the lexicon{suggest_spelling(word, self.words)}")
        return self.words[word]

    def verb(self, word: str, object_noun: Noun | None = None) -> Verb:
        """The verb of an English base form; of several, the first that takes this object."""
        base = _words(word)
        matches = [verb for verb in (*self.verbs, *self.speech) if verb.english.base == base]
        if not matches:
            bases = [" ".join(verb.english.base) for verb in self.verbs]
            raise UserError(f"no verb {word!r} in the lexicon{suggest_spelling(word, bases)}")
        fits = [verb for verb in matches if object_noun is None or object_noun in verb.object_nouns]
        if not fits and len(matches) > 1:
            raise UserError(
                f"no verb {word!r} in the lexicon takes {object_noun and _english_word(object_noun)!r}"
            )
        return (fits or matches)[0]

    def choices(self, entries: tuple[str, ...]) -> tuple[Noun, ...]:
        """The nouns of these domains and of each `=word`, but no `-word`, short ones first."""
        if entries not in self.chosen:
            matches: dict[Noun, None] = {}
            for entry in entries:
                nouns = (self.noun(entry[1:]),) if entry[0] in "=-" else self.nouns[entry]
                matches |= dict.fromkeys(nouns)
            for entry in entries:
                if entry[0] == "-":
                    del matches[self.noun(entry[1:])]
            self.chosen[entries] = tuple(sorted(matches, key=lambda noun: len(_english_word(noun))))
        return self.chosen[entries]


@cache
def read_lexicon(path: Path = LEXICON) -> Lexicon:
    """The lexicon of a file, with every inflected form and every list of partner nouns.

    Short words come first: they are more frequent (Zipf, 1935), and are sampled more often.
    """
    entries: dict[str, list[Entry]] = {section: [] for section in TAGS}
    for entry in sorted(read_entries(path), key=lambda entry: len(entry.english[0])):
        entries[entry.section].append(entry)
    _check_unique([*entries["names"], *entries["nouns"], *entries["senses"]])
    adjectives = tuple(map(_adjective, entries["adjectives"]))
    nouns = [_noun(entry, adjectives) for entry in entries["nouns"]]
    lexicon = Lexicon(
        names=tuple(map(_name, entries["names"])),
        nouns={
            domain: tuple(noun for noun in nouns if noun.domain == domain) for domain in DOMAINS
        },
        adjectives=adjectives,
        manner=tuple(map(_adverb, entries["manner"])),
        times=tuple(map(_adverb, entries["times"])),
        months=tuple(map(_adverb, entries["months"])),
        words={_english_word(noun): noun for noun in nouns},
    )
    described = [_listed(entry, 0, lexicon) for entry in entries["adjectives"]]
    _check_unambiguous(entries["adjectives"], described, lexicon)
    verbs = tuple(_verb(entry, lexicon) for entry in entries["verbs"])
    _check_unambiguous(entries["verbs"], [verb.objects or verb.subjects for verb in verbs], lexicon)
    speech = tuple(_verb(entry, lexicon) for entry in entries["speech"])
    lexicon = replace(lexicon, verbs=verbs, speech=speech)
    return replace(lexicon, senses=_senses(entries["senses"], lexicon))


@cache
def human_verbs() -> tuple[Verb, ...]:
    """The verbs that take people as subjects."""
    return tuple(verb for verb in read_lexicon().verbs if verb.named)


def _english_word(noun: Noun) -> str:
    return " ".join(noun.english)


def _check_unique(entries: Iterable[Entry]) -> None:
    """Check that each word has one entry, unless all its entries are senses."""
    first: dict[str, Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.english[0], entry)
        if other is not entry and not other.section == entry.section == "senses":
            raise entry.error(f"stands on line {other.line} already; write it once")


def _check_unambiguous(
    entries: list[Entry], partners: list[tuple[str, ...]], lexicon: Lexicon
) -> None:
    """Check that entries of one English word share no noun, which would be ambiguous."""
    entries_by_noun: dict[tuple[str, bool, Noun], Entry] = {}
    for entry, listed in zip(entries, partners, strict=True):
        for noun in lexicon.choices(listed):
            other = entries_by_noun.setdefault(
                (entry.english[0], len(entry.fields) > 1, noun), entry
            )
            if other is not entry:
                word = _english_word(noun)
                reason = f"goes with {word} on line {other.line} too; name it in one of them"
                raise entry.error(reason)


def _name(entry: Entry) -> Name:
    return Name(entry.form(), entry.hindi, entry.exactly_one("m", "f"))


def _adverb(entry: Entry) -> Adverb:
    tense = entry.exactly_one(*TAGS["times"]) if entry.section == "times" else ""
    return Adverb(_words(entry.form()), _words(entry.hindi), tense)


def _adjective(entry: Entry) -> Adjective:
    forms = adjective_forms(entry.hindi, fixed="fixed" in entry.tags)
    domains = frozenset(entry.listed(0))
    if not domains:
        raise entry.error("has no nouns to describe; write | domains or =nouns")
    return Adjective(
        _words(entry.form()), tuple(map(_words, forms)), domains, "attributive" in entry.tags
    )


def _noun(entry: Entry, adjectives: Iterable[Adjective] = ()) -> Noun:
    tags, word = entry.tags, entry.english[0]
    keys = (entry.domain, f"={word}")
    gender = entry.exactly_one("m", "f")
    locations = [tag.partition(":") for tag in tags if ":" in tag]
    alone = "mass" in tags or "pair" in tags
    plural = word if alone else entry.form(1, of=2) or noun_plural(word)
    return Noun(
        english=_words(word),
        plural=_words(plural),
        hindi=tuple(map(_words, noun_forms(entry.hindi, gender, fixed="fixed" in tags))),
        feminine=gender == "f",
        domain=entry.domain or _sense_domain(tags),
        honorific="honorific" in tags,
        mass="mass" in tags,
        pair="pair" in tags,
        only="only" in tags,
        goal="goal" in tags,
        adpositions=(locations[0][0], locations[0][2]) if locations else None,
        adjectives=tuple(
            adjective
            for adjective in adjectives
            if f"-{word}" not in adjective.domains and not adjective.domains.isdisjoint(keys)
        ),
    )


def _sense_domain(tags: tuple[str, ...]) -> str:
    """The domain of a sense of an ambiguous word."""
    return "places" if "place" in tags else "animals" if "animal" in tags else ""


def _verb(entry: Entry, lexicon: Lexicon) -> Verb:
    if not entry.hindi.endswith("ना"):
        raise entry.error(f"{entry.hindi!r} is no infinitive; write one that ends in ना")
    subjects, objects, recipients = (_listed(entry, index, lexicon) for index in range(3))
    if not subjects and entry.section == "speech":
        subjects = PERSONS
    if not subjects:
        raise entry.error("has no subjects; write | people family, or other domains")
    vector = entry.value("perfective")
    transitive = bool(objects) or entry.section == "speech" or bool(entry.value("agrees"))
    transitive = transitive or entry.hindi.split(" ")[-1] in DOERS or "ergative" in entry.tags
    return Verb(
        english=verb_forms(*(entry.form(index, of=4) for index in range(4))),
        hindi=hindi_verb(entry.hindi.replace(" … ", " ")),
        subjects=subjects,
        objects=objects,
        recipients=recipients,
        marker=entry.value("object"),
        agrees=entry.value("agrees"),
        apart=len(entry.hindi.partition(" … ")[0].split(" ")) if " … " in entry.hindi else 0,
        vector=hindi_verb(vector) if vector else None,
        ergative=transitive and "plain" not in entry.tags,
        to="to" in entry.tags,
        rests="rests" in entry.tags,
        befalls="befalls" in entry.tags,
        named="people" in subjects,
        subject_nouns=lexicon.choices(subjects),
        object_nouns=lexicon.choices(objects),
        recipient_nouns=lexicon.choices(recipients),
    )


def _listed(entry: Entry, index: int, lexicon: Lexicon) -> tuple[str, ...]:
    """The names in a field: domains, nouns as `=word`, and excluded nouns as `-word`."""
    listed = entry.listed(index)
    for name in listed:
        if name not in DOMAINS and not (name[0] in "=-" and name[1:] in lexicon.words):
            names = [*DOMAINS, *(f"={word}" for word in lexicon.words)]
            raise entry.error(f"{name!r} is no domain and no =noun{suggest_spelling(name, names)}")
    if listed and not lexicon.choices(listed):
        raise entry.error(f"nothing is listed under {' '.join(listed)} yet; write its nouns first")
    return listed


def _senses(entries: list[Entry], lexicon: Lexicon) -> dict[str, tuple[Sense, ...]]:
    matches: dict[str, tuple[Sense, ...]] = {}
    nouns_by_form = _noun_forms(lexicon)
    for entry in entries:
        kind, word = entry.exactly_one("place", "thing", "maker"), entry.english[0].lower()
        cues = [
            _cue(entry, cue.strip(), lexicon, nouns_by_form) for cue in entry.field(0).split(",")
        ]
        sense = Sense(_noun(entry), kind, tuple(cues))
        matches[word] = (*matches.get(word, ()), sense)
    return matches


def _noun_forms(lexicon: Lexicon) -> dict[str, tuple[Noun, bool]]:
    """Nouns by each of their English forms, and whether the form is a plural."""
    countable_objects = [noun for noun in lexicon.words.values() if not (noun.mass or noun.pair)]
    singular = {word: (noun, False) for word, noun in lexicon.words.items()}
    return singular | {" ".join(noun.plural): (noun, True) for noun in countable_objects}


def _cue(
    entry: Entry, cue: str, lexicon: Lexicon, nouns_by_form: dict[str, tuple[Noun, bool]]
) -> Cue:
    """The cue of a phrase such as "row a boat": a verb, perhaps an article, and a noun."""
    words = cue.split(" ")
    bases = {verb.english.base for verb in lexicon.verbs if verb.objects}
    splits = [split for split in range(1, len(words)) if tuple(words[:split]) in bases]
    if not splits:
        raise entry.error(f"cue {cue!r} begins with no verb that takes an object; write one")
    verb, rest = " ".join(words[: splits[-1]]), words[splits[-1] :]
    article = {"a": "a", "an": "a", "the": "the"}.get(rest[0], "")
    word = " ".join(rest[bool(article) :])
    if word not in nouns_by_form:
        raise entry.error(
            f"cue {cue!r} names {word!r}, which is no noun{suggest_spelling(word, nouns_by_form)}"
        )
    noun, plural = nouns_by_form[word]
    if not article and not (plural or noun.mass or noun.pair):
        raise entry.error(f"cue {cue!r} has a bare {word}; write a, the, or its plural")
    try:
        return Cue(lexicon.verb(verb, noun), noun, article, plural and article != "a")
    except UserError as error:
        raise entry.error(f"cue {cue!r}: {error}") from None


def _words(text: str) -> Words:
    return (*text.split(" "),)
