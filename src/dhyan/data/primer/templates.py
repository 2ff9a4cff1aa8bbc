"""Sentences written by hand, with places to fill: idioms, attachments, the notes' own examples."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dhyan.data.primer.adverbials import times_of
from dhyan.data.primer.hindi_morphology import F
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import at
from dhyan.data.primer.sentence_builder import Draft, form_of, sign
from dhyan.data.primer.sentence_pair import SIGNS, Twin, Wanted, Word, written
from dhyan.data.read_text import file_error, read_lines

TEMPLATES = Path(__file__).with_name("templates.txt")
HEADING = re.compile(r"\[(idiom|attachment|notes): (.+)\]")
SLOT = re.compile(r"([A-Z]):(\S+)")
# `word_2` names idea 2, `word~2` goes with it, `{A}` and oblique `{A*}` are filled, and
# `<A:था|थी>_1` is written as the gender of what fills A asks.
PART = re.compile(
    r"\{(?P<slot>[A-Z])(?P<mark>\*|'s)?\}"
    r"|(?:<(?P<by>[A-Z]):(?P<his>[^|>]+)\|(?P<her>[^>]+)>|(?P<word>[^_~{}<>]+))"
    r"(?P<role>[_~])(?P<idea>\d+|[A-Z])"
)


@dataclass(frozen=True, slots=True)
class Template:
    """One line: what may fill its slots, both sentences, and what shows that one is right."""

    kind: str
    about: str
    slots: tuple[tuple[str, str], ...]
    english: str
    hindi: tuple[str, ...]
    right: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filling:
    """What stands in a slot."""

    english: tuple[Word, ...]
    hindi: tuple[Word, ...]
    oblique: tuple[Word, ...]
    feminine: bool
    idea: int

    def said(self, mark: str, *, side: int) -> tuple[Word, ...]:
        """Its words on one side, as a mark asks: oblique, or whose."""
        if side:
            return self.oblique if mark else self.hindi
        if not mark:
            return self.english
        *rest, (last, idea, names) = self.english
        return (*rest, (last + mark, idea, names))


@cache
def templates(kind: str = "") -> tuple[Template, ...]:
    """The sentences of one kind, or all."""
    found, kind_now, about = [], "", ""
    for number, raw in enumerate(read_lines(TEMPLATES), 1):
        line = raw.partition("#")[0].strip()
        if heading := HEADING.fullmatch(line):
            kind_now, about = heading[1], heading[2]
        elif line:
            found.append(_template(line, kind_now, about, number))
    return tuple(one for one in found if kind in ("", one.kind))


def _template(line: str, kind: str, about: str, number: int) -> Template:
    slots, _, rest = line.partition("|| ")
    body, _, check = rest.partition(" => ")
    english, *hindi = body.split(" = ")
    right, _, wrong = check.partition(";")
    if not kind or not hindi:
        raise file_error(
            TEMPLATES, number, "is no template; write SLOTS || ENGLISH = HINDI => RIGHT ; WRONG"
        )
    return Template(
        kind, about, tuple(SLOT.findall(slots)), english, tuple(hindi), _list(right), _list(wrong)
    )


def _list(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def from_template(draft: Draft, kind: str = "") -> Twin:
    """One of them, filled."""
    return filled(draft, draft.one(templates(kind)))


def filled(draft: Draft, template: Template) -> Twin:
    """A template with its slots filled by chance."""
    ideas = {"1": draft.idea()}
    fillings = {slot: _filling(draft, kind, ideas["1"]) for slot, kind in template.slots}
    ideas |= {slot: filling.idea for slot, filling in fillings.items()}
    for digit in sorted({*re.findall(r"[_~](\d+)", template.english + " ".join(template.hindi))}):
        if digit not in ideas:
            ideas[digit] = draft.idea(ideas["1"])
    english = _words(template.english, fillings, ideas, side=0)
    hindi, *others = (_words(one, fillings, ideas, side=1) for one in template.hindi)
    wanted = Wanted(template.kind, template.about, template.right, template.wrong)
    sides = (tuple(english), tuple(hindi))
    return Twin(
        sides, tuple(draft.parents), tuple(map(written, others)), (wanted,) * bool(template.right)
    )


def _words(
    text: str, fillings: dict[str, Filling], ideas: dict[str, int], *, side: int
) -> list[Word]:
    words: list[Word] = []
    for part in text.split():
        if part in SIGNS:
            words.append(sign(part))
        elif (found := PART.fullmatch(part)) is None:
            raise file_error(
                TEMPLATES, 0, f"{part!r} is no word of a template; write it as word_1 or {{A}}"
            )
        elif found["slot"]:
            filling = fillings[found["slot"]]
            words += filling.said(found["mark"] or "", side=side)
        else:
            said = found["word"] or found["her" if fillings[found["by"]].feminine else "his"]
            words += [(one, ideas[found["idea"]], found["role"] == "_") for one in said.split("+")]
    return words


def _filling(draft: Draft, kind: str, parent: int) -> Filling:
    """A name, a time, a place, or a noun of a domain or one of those named."""
    lexicon = read_lexicon()
    if kind in ("name", "man", "woman"):
        name = draft.fresh(lexicon.names)
        while kind != "name" and (name.gender == "f") != (kind == "woman"):
            name = draft.fresh(lexicon.names)
        idea = draft.idea(parent)
        words: tuple[Word, ...] = ((name.hindi, idea, True),)
        return Filling(((name.english, idea, True),), words, words, name.gender == "f", idea)
    if kind in ("past", "future", "habitual", "progressive"):
        time, idea = draft.word(times_of(kind)), draft.idea(parent)
        words = tuple((one, idea, True) for one in time.hindi)
        return Filling(tuple((one, idea, True) for one in time.english), words, words, False, idea)
    if kind == "place":
        return _place(draft, parent)
    noun = draft.word(lexicon.choices(tuple(kind.split("+"))))
    idea = draft.idea(parent)
    return Filling(
        tuple((one, idea, True) for one in noun.english),
        tuple((one, idea, True) for one in noun.hindi[0]),
        tuple((one, idea, True) for one in noun.hindi[1]),
        form_of(feminine=noun.feminine, plural=False) == F,
        idea,
    )


def _place(draft: Draft, parent: int) -> Filling:
    english, hindi = at(draft, draft.word(read_lexicon().nouns["places"]), parent, 0)
    words = tuple(hindi)
    return Filling(tuple(english), words, words, False, english[-1][1])
