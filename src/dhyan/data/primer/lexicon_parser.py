"""Parser of the lexicon file: lines into entries, with every error named by line."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from dhyan.data.text_lines import file_error, read_lines
from dhyan.errors import UserError

DOMAINS = (
    "people family animals food drinks fruits clothes furniture kitchen tools vehicles places "
    "nature body school games music writings ideas events money materials"
).split()

ADPOSITIONS = tuple(f"{english}:{hindi}" for english in ("in", "on", "at") for hindi in ("में", "पर"))
MARKERS = tuple(f"object:{word}" for word in ("को", "से", "का", "की", "के", "पर", "में", "oblique"))
VECTORS = ("perfective:जाना", "perfective:देना")
SPEECH = ("plain", "ergative", "agrees:m", "agrees:f")
TAGS = {
    "names": ("m", "f"),
    "nouns": ("m", "f", "honorific", "fixed", "mass", "pair", "only", "goal", *ADPOSITIONS),
    "adjectives": ("fixed", "attributive"),
    "verbs": (*SPEECH, "to", "rests", "befalls", *MARKERS, *VECTORS),
    "speech": SPEECH,
    "manner": (),
    "times": ("past", "future", "habitual", "progressive"),
    "months": (),
    "senses": (
        "m",
        "f",
        "fixed",
        "mass",
        "pair",
        "place",
        "thing",
        "maker",
        "animal",
        "goal",
        *ADPOSITIONS,
    ),
}
FIELDS = {
    "adjectives": 1,
    "verbs": 3,
    "speech": 1,
    "senses": 1,
}  # at most; other sections have none
HEADING = re.compile(r"\[(\w+)(?: +(\w+))?\]")
HINDI = re.compile(r"[\u0900-\u097f]+(?:(?: … |[ -])[\u0900-\u097f]+)*")
ENGLISH = re.compile(r"[A-Za-z]+(?:[ '-][A-Za-z]+)*")
LINE = re.compile(r"(?P<english>[^=|]+) = (?P<hindi>[^=|A-Za-z]+?)(?: (?P<tags>[a-z][^=|]*))?")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the lexicon: English forms, a Hindi word, tags, and fields of partner nouns."""

    path: Path
    line: int
    section: str
    domain: str
    english: tuple[str, ...]
    hindi: str
    tags: tuple[str, ...]
    fields: tuple[str, ...]

    def error(self, reason: str) -> UserError:
        """An error at this line."""
        return file_error(self.path, self.line, f"{self.english[0]}: {reason}")

    def exactly_one(self, *tags: str) -> str:
        """The tag of these that the entry has; it must have exactly one."""
        parts = [tag for tag in self.tags if tag in tags]
        if len(parts) != 1:
            present = " and ".join(parts) or "none"
            raise self.error(f"has {present} of {', '.join(tags)}; write exactly one of them")
        return parts[0]

    def value(self, key: str) -> str:
        """The value of a tag `key:value`, or nothing."""
        parts = [tag.partition(":")[2] for tag in self.tags if tag.startswith(key + ":")]
        if len(parts) > 1:
            raise self.error(f"has {key}: twice; write it once")
        return parts[0] if parts else ""

    def form(self, index: int = 0, *, of: int = 1) -> str:
        """A form of the English word, out of at most `of`, or nothing where it is left out."""
        if len(self.english) > of:
            raise self.error(f"has {len(self.english)} forms; write at most {of}")
        return self.english[index] if index < len(self.english) else ""

    def field(self, index: int) -> str:
        """The text after the first, second or third |, or nothing."""
        return self.fields[index] if index < len(self.fields) else ""

    def listed(self, index: int) -> tuple[str, ...]:
        """The domains and nouns of a field; a noun may have several words."""
        parts: list[str] = []
        for word in self.field(index).split():
            if parts and parts[-1][0] in "=-" and not (word in DOMAINS or word[0] in "=-"):
                parts[-1] += " " + word
            else:
                parts.append(word)
        return tuple(parts)


def suggest_spelling(word: str, words: Iterable[str]) -> str:
    """A suggestion: the word with the nearest spelling, or nothing."""
    matches = get_close_matches(word, list(words), n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


def read_entries(path: Path) -> Iterator[Entry]:
    """The entries of a lexicon, in the order of its lines."""
    section, domain = "", ""
    for number, raw in enumerate(read_lines(path), 1):
        text = " ".join(unicodedata.normalize("NFC", raw).partition("#")[0].split())
        if text.startswith("["):
            section, domain = _heading(text, path, number)
        elif text and not section:
            raise file_error(
                path, number, f"{text!r} stands before any [section]; write one above it"
            )
        elif text:
            yield _entry(text, path, number, section, domain)


def _heading(text: str, path: Path, number: int) -> tuple[str, str]:
    parts = HEADING.fullmatch(text)
    section, domain = (parts[1], parts[2] or "") if parts else (text, "")
    if section not in TAGS:
        raise file_error(path, number, f"no section {section!r}: write one of {', '.join(TAGS)}")
    if section == "nouns" and domain not in DOMAINS:
        reason = f"no domain {domain!r}: write [nouns DOMAIN] with one of {', '.join(DOMAINS)}"
        raise file_error(path, number, reason)
    return section, domain


def _entry(text: str, path: Path, number: int, section: str, domain: str) -> Entry:
    first, *fields = (part.strip() for part in text.split("|"))
    parts = LINE.fullmatch(first)
    if not parts:
        raise file_error(path, number, f"{first!r} is no entry: write ENGLISH = HINDI tags | field")
    english = tuple(form.strip() for form in parts["english"].split("/"))
    tags = tuple((parts["tags"] or "").split())
    entry = Entry(path, number, section, domain, english, parts["hindi"], tags, tuple(fields))
    _check(entry)
    return entry


def _check(entry: Entry) -> None:
    for form in entry.english:
        if not ENGLISH.fullmatch(form):
            raise entry.error(f"{form!r} is no English word; write letters only")
    if not HINDI.fullmatch(entry.hindi):
        raise entry.error(f"{entry.hindi!r} is not written in Devanagari; write it so")
    max_fields = FIELDS.get(entry.section, 0)
    if len(entry.fields) > max_fields:
        raise entry.error(f"has {len(entry.fields)} fields after |; write at most {max_fields}")
    for tag in entry.tags:
        if tag not in TAGS[entry.section]:
            allowed = ", ".join(TAGS[entry.section]) or "none"
            raise entry.error(f"no tag {tag!r} in [{entry.section}]; it may have {allowed}")
