"""The lexicon: words of both languages by word class, and the words each may combine with."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dhyan.data.primer.english_morphology import EnglishVerb, noun_plural, verb_forms
from dhyan.data.primer.hindi_morphology import HindiVerb, adjective_forms, hindi_verb, noun_forms
from dhyan.data.primer.lexicon_parser import DOMAINS, TAGS, Entry, near, read_entries
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
    """A manner, a month, or a time with the tense it requires."""

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


LEXICON = Path(__file__).with_name("lexicon.txt")
PERSONS = ("people", "family")
DOERS = frozenset("करना देना लेना छींकना खाँसना थूकना".split())  # ने though there is no object

__all__ = ["Adjective", "Adverb", "Cue", "Lexicon", "Name", "Noun", "Sense", "Verb", "read_lexicon"]


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """All words, by what they are; nouns by domain, senses by their English word."""

    names: tuple[Name, ...]
    nouns: dict[str, tuple[Noun, ...]]
    adjectives: tuple[Adjective, ...]
    manner: tuple[Adverb, ...]
    times: tuple[Adverb, ...]
    months: tuple[Adverb, ...]
    words: dict[str, Noun]
    """Nouns by their English word; those of several senses are not among them."""
    verbs: tuple[Verb, ...] = ()
    speech: tuple[Verb, ...] = ()
    senses: dict[str, tuple[Sense, ...]] = field(default_factory=dict)
    chosen: dict[tuple[str, ...], tuple[Noun, ...]] = field(default_factory=dict)
    """What `choices` gave before."""

    def noun(self, word: str) -> Noun:
        """The noun of an English word in the singular."""
        if word not in self.words:
            raise UserError(f"no noun {word!r} in the lexicon{near(word, self.words)}")
        return self.words[word]

    def verb(self, word: str, thing: Noun | None = None) -> Verb:
        """The verb of an English one; of several, the first that takes this object."""
        base = _words(word)
        matches = [verb for verb in (*self.verbs, *self.speech) if verb.english.base == base]
        if not matches:
            known = [" ".join(verb.english.base) for verb in self.verbs]
            raise UserError(f"no verb {word!r} in the lexicon{near(word, known)}")
        fits = [verb for verb in matches if thing is None or thing in verb.object_nouns]
        if not fits and len(matches) > 1:
            raise UserError(
                f"no verb {word!r} in the lexicon takes {thing and _english_word(thing)!r}"
            )
        return (fits or matches)[0]

    def choices(self, entries: tuple[str, ...]) -> tuple[Noun, ...]:
        """The nouns of these domains and of each `=word`, but no `-word`, short ones first."""
        if entries not in self.chosen:
            matches: dict[Noun, None] = {}
            for entry in entries:
                one = (self.noun(entry[1:]),) if entry[0] in "=-" else self.nouns[entry]
                matches |= dict.fromkeys(one)
            for entry in entries:
                if entry[0] == "-":
                    del matches[self.noun(entry[1:])]
            self.chosen[entries] = tuple(sorted(matches, key=lambda noun: len(_english_word(noun))))
        return self.chosen[entries]


@cache
def read_lexicon(path: Path = LEXICON) -> Lexicon:
    """The words of a file, with every form made and every list of partners drawn up.

    All lists have short words first: they are the commoner ones (Zipf, 1935), and drawn more often.
    """
    entries: dict[str, list[Entry]] = {section: [] for section in TAGS}
    for entry in sorted(read_entries(path), key=lambda entry: len(entry.english[0])):
        entries[entry.section].append(entry)
    _once([*entries["names"], *entries["nouns"], *entries["senses"]])
    adjectives = tuple(map(_adjective, entries["adjectives"]))
    nouns = [_noun(entry, adjectives) for entry in entries["nouns"]]
    lexicon = Lexicon(
        names=tuple(map(_name, entries["names"])),
        nouns={one: tuple(noun for noun in nouns if noun.domain == one) for one in DOMAINS},
        adjectives=adjectives,
        manner=tuple(map(_adverb, entries["manner"])),
        times=tuple(map(_adverb, entries["times"])),
        months=tuple(map(_adverb, entries["months"])),
        words={_english_word(noun): noun for noun in nouns},
    )
    described = [_listed(entry, 0, lexicon) for entry in entries["adjectives"]]
    _apart(entries["adjectives"], described, lexicon)
    verbs = tuple(_verb(entry, lexicon) for entry in entries["verbs"])
    _apart(entries["verbs"], [verb.objects or verb.subjects for verb in verbs], lexicon)
    speech = tuple(_verb(entry, lexicon) for entry in entries["speech"])
    lexicon = replace(lexicon, verbs=verbs, speech=speech)
    return replace(lexicon, senses=_senses(entries["senses"], lexicon))


@cache
def human_verbs() -> tuple[Verb, ...]:
    """What people do."""
    return tuple(verb for verb in read_lexicon().verbs if verb.named)


def _english_word(noun: Noun) -> str:
    return " ".join(noun.english)


def _once(entries: Iterable[Entry]) -> None:
    """A word stands once, unless all its entries are senses."""
    first: dict[str, Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.english[0], entry)
        if other is not entry and not other.section == entry.section == "senses":
            raise entry.fault(f"stands on line {other.line} already; write it once")


def _apart(entries: list[Entry], partners: list[tuple[str, ...]], lexicon: Lexicon) -> None:
    """Entries of one English word share no noun, which would leave their translation open."""
    taken: dict[tuple[str, bool, Noun], Entry] = {}
    for entry, listed in zip(entries, partners, strict=True):
        for noun in lexicon.choices(listed):
            other = taken.setdefault((entry.english[0], len(entry.fields) > 1, noun), entry)
            if other is not entry:
                word = _english_word(noun)
                reason = f"goes with {word} on line {other.line} too; name it in one of them"
                raise entry.fault(reason)


def _name(entry: Entry) -> Name:
    return Name(entry.form(), entry.hindi, entry.one_of("m", "f"))


def _adverb(entry: Entry) -> Adverb:
    tense = entry.one_of(*TAGS["times"]) if entry.section == "times" else ""
    return Adverb(_words(entry.form()), _words(entry.hindi), tense)


def _adjective(entry: Entry) -> Adjective:
    forms = adjective_forms(entry.hindi, fixed="fixed" in entry.tags)
    domains = frozenset(entry.listed(0))
    if not domains:
        raise entry.fault("does not say what it describes; write | domains or =nouns")
    return Adjective(_words(entry.form()), tuple(map(_words, forms)), domains)


def _noun(entry: Entry, adjectives: Iterable[Adjective] = ()) -> Noun:
    tags, word = entry.tags, entry.english[0]
    named = (entry.domain, f"={word}")
    gender = entry.one_of("m", "f")
    ways = [tag.partition(":") for tag in tags if ":" in tag]
    alone = "mass" in tags or "pair" in tags
    plural = word if alone else entry.form(1, of=2) or noun_plural(word)
    return Noun(
        english=_words(word),
        plural=_words(plural),
        hindi=tuple(map(_words, noun_forms(entry.hindi, gender, fixed="fixed" in tags))),
        feminine=gender == "f",
        domain=entry.domain or _kind(tags),
        honorific="honorific" in tags,
        mass="mass" in tags,
        pair="pair" in tags,
        only="only" in tags,
        goal="goal" in tags,
        place=(ways[0][0], ways[0][2]) if ways else None,
        adjectives=tuple(
            one
            for one in adjectives
            if f"-{word}" not in one.domains and not one.domains.isdisjoint(named)
        ),
    )


def _kind(tags: tuple[str, ...]) -> str:
    """The domain of a word of several senses."""
    return "places" if "place" in tags else "animals" if "animal" in tags else ""


def _verb(entry: Entry, lexicon: Lexicon) -> Verb:
    if not entry.hindi.endswith("ना"):
        raise entry.fault(f"{entry.hindi!r} is no infinitive; write one that ends in ना")
    subjects, objects, recipients = (_listed(entry, place, lexicon) for place in range(3))
    if not subjects and entry.section == "speech":
        subjects = PERSONS
    if not subjects:
        raise entry.fault("does not say who does it; write | people family, or other domains")
    does = bool(objects) or entry.section == "speech" or bool(entry.value("agrees"))
    does = does or entry.hindi.split(" ")[-1] in DOERS or "ergative" in entry.tags
    return Verb(
        english=verb_forms(*(entry.form(place, of=4) for place in range(4))),
        hindi=hindi_verb(entry.hindi),
        subjects=subjects,
        objects=objects,
        recipients=recipients,
        marker=entry.value("object"),
        agrees=entry.value("agrees"),
        ergative=does and "plain" not in entry.tags,
        to="to" in entry.tags,
        rests="rests" in entry.tags,
        befalls="befalls" in entry.tags,
        named="people" in subjects,
        subject_nouns=lexicon.choices(subjects),
        object_nouns=lexicon.choices(objects),
        recipient_nouns=lexicon.choices(recipients),
    )


def _listed(entry: Entry, place: int, lexicon: Lexicon) -> tuple[str, ...]:
    """What a field lists: domains, nouns by `=word`, and those that are left out by `-word`."""
    listed = entry.listed(place)
    for one in listed:
        if one not in DOMAINS and not (one[0] in "=-" and one[1:] in lexicon.words):
            known = [*DOMAINS, *(f"={word}" for word in lexicon.words)]
            raise entry.fault(f"{one!r} is no domain and no =noun{near(one, known)}")
    if listed and not lexicon.choices(listed):
        raise entry.fault(f"nothing is listed under {' '.join(listed)} yet; write its nouns first")
    return listed


def _senses(entries: list[Entry], lexicon: Lexicon) -> dict[str, tuple[Sense, ...]]:
    matches: dict[str, tuple[Sense, ...]] = {}
    things = _things(lexicon)
    for entry in entries:
        kind, word = entry.one_of("place", "thing", "maker"), entry.english[0].lower()
        cues = [_cue(entry, cue.strip(), lexicon, things) for cue in entry.field(0).split(",")]
        sense = Sense(_noun(entry), kind, tuple(cues))
        matches[word] = (*matches.get(word, ()), sense)
    return matches


def _things(lexicon: Lexicon) -> dict[str, tuple[Noun, bool]]:
    """Nouns by each of their English forms, with whether it is a plural."""
    countable_objects = [noun for noun in lexicon.words.values() if not (noun.mass or noun.pair)]
    singular = {word: (noun, False) for word, noun in lexicon.words.items()}
    return singular | {" ".join(noun.plural): (noun, True) for noun in countable_objects}


def _cue(entry: Entry, cue: str, lexicon: Lexicon, things: dict[str, tuple[Noun, bool]]) -> Cue:
    """An action such as "row a boat": a verb, perhaps an article, and a noun."""
    words = cue.split(" ")
    known = {verb.english.base for verb in lexicon.verbs if verb.objects}
    cuts = [cut for cut in range(1, len(words)) if tuple(words[:cut]) in known]
    if not cuts:
        raise entry.fault(f"cue {cue!r} begins with no verb that takes an object; write one")
    verb, rest = " ".join(words[: cuts[-1]]), words[cuts[-1] :]
    article = {"a": "a", "an": "a", "the": "the"}.get(rest[0], "")
    word = " ".join(rest[bool(article) :])
    if word not in things:
        raise entry.fault(f"cue {cue!r} names {word!r}, which is no noun{near(word, things)}")
    noun, plural = things[word]
    if not article and not (plural or noun.mass or noun.pair):
        raise entry.fault(f"cue {cue!r} has a bare {word}; write a, the, or its plural")
    try:
        return Cue(lexicon.verb(verb, noun), noun, article, plural and article != "a")
    except UserError as error:
        raise entry.fault(f"cue {cue!r}: {error}") from None


def _words(text: str) -> Words:
    return (*text.split(" "),)
