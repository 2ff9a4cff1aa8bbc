"""Sentence templates with slots: idioms, attachment ambiguities, examples of lecture notes."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dhyan.data.primer.adverbials import times_of
from dhyan.data.primer.hindi_morphology import F
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import locative_phrase
from dhyan.data.primer.sentence_builder import SentenceBuilder, form_of, punctuation
from dhyan.data.primer.sentence_pair import (
    PUNCTUATION,
    SentencePair,
    TranslationCheck,
    Word,
    join_words,
)
from dhyan.data.text_lines import file_error, read_lines

TEMPLATES = Path(__file__).with_name("templates.txt")
HEADING = re.compile(r"\[(idiom|attachment|notes): (.+)\]")
SLOT = re.compile(r"([A-Z]):(\S+)")
# `word_2` names node 2, `word~2` goes with it, `{A}` and oblique `{A*}` are slots, and
# `<A:था|थी>_1` takes the form that agrees in gender with what fills A.
PART = re.compile(
    r"\{(?P<slot>[A-Z])(?P<mark>\*|'s)?\}"
    r"|(?:<(?P<by>[A-Z]):(?P<his>[^|>]+)\|(?P<her>[^>]+)>|(?P<word>[^_~{}<>]+))"
    r"(?P<role>[_~])(?P<node>\d+|[A-Z])"
)


@dataclass(frozen=True, slots=True)
class Template:
    """A template: slots, both sentences, and the words of right and wrong translations."""

    kind: str
    about: str
    slots: tuple[tuple[str, str], ...]
    english: str
    hindi: tuple[str, ...]
    right: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filling:
    """The words that fill a slot."""

    english: tuple[Word, ...]
    hindi: tuple[Word, ...]
    oblique: tuple[Word, ...]
    feminine: bool
    node: int

    def text(self, mark: str, *, side: int) -> tuple[Word, ...]:
        """The words of one side, in the form that a mark asks for: oblique or genitive."""
        if side:
            return self.oblique if mark else self.hindi
        if not mark:
            return self.english
        *rest, (last, node, names) = self.english
        return (*rest, (last + mark, node, names))


@cache
def templates(kind: str = "") -> tuple[Template, ...]:
    """The templates of a kind, or all."""
    parsed, current_kind, about = [], "", ""
    for number, raw in enumerate(read_lines(TEMPLATES), 1):
        line = raw.partition("#")[0].strip()
        if heading := HEADING.fullmatch(line):
            current_kind, about = heading[1], heading[2]
        elif line:
            parsed.append(_template(line, current_kind, about, number))
    return tuple(template for template in parsed if kind in ("", template.kind))


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
    return tuple(item.strip() for item in text.split(",") if item.strip())


def sample_template(builder: SentenceBuilder, kind: str = "") -> SentencePair:
    """A random template with its slots filled."""
    return fill_template(builder, builder.choose(templates(kind)))


def fill_template(builder: SentenceBuilder, template: Template) -> SentencePair:
    """A template with its slots filled at random."""
    nodes = {"1": builder.add_node()}
    fillings = {slot: _fill_slot(builder, kind, nodes["1"]) for slot, kind in template.slots}
    nodes |= {slot: filling.node for slot, filling in fillings.items()}
    for digit in sorted({*re.findall(r"[_~](\d+)", template.english + " ".join(template.hindi))}):
        if digit not in nodes:
            nodes[digit] = builder.add_node(nodes["1"])
    english = _words(template.english, fillings, nodes, side=0)
    hindi, *others = (_words(item, fillings, nodes, side=1) for item in template.hindi)
    check = TranslationCheck(template.kind, template.about, template.right, template.wrong)
    sides = (tuple(english), tuple(hindi))
    return SentencePair(
        sides,
        tuple(builder.parents),
        tuple(map(join_words, others)),
        (check,) * bool(template.right),
    )


def _words(
    text: str, fillings: dict[str, Filling], nodes: dict[str, int], *, side: int
) -> list[Word]:
    words: list[Word] = []
    for part in text.split():
        if part in PUNCTUATION:
            words.append(punctuation(part))
        elif (match := PART.fullmatch(part)) is None:
            raise file_error(
                TEMPLATES, 0, f"{part!r} is no word of a template; write it as word_1 or {{A}}"
            )
        elif match["slot"]:
            filling = fillings[match["slot"]]
            words += filling.text(match["mark"] or "", side=side)
        else:
            text = match["word"] or match["her" if fillings[match["by"]].feminine else "his"]
            words += [
                (item, nodes[match["node"]], match["role"] == "_") for item in text.split("+")
            ]
    return words


def _fill_slot(builder: SentenceBuilder, kind: str, parent: int) -> Filling:
    """A filling: a name, a time, a place, or a noun of a domain or of a list."""
    lexicon = read_lexicon()
    if kind in ("name", "man", "woman"):
        name = builder.sample_new(lexicon.names)
        while kind != "name" and (name.gender == "f") != (kind == "woman"):
            name = builder.sample_new(lexicon.names)
        node = builder.add_node(parent)
        words: tuple[Word, ...] = ((name.hindi, node, True),)
        return Filling(((name.english, node, True),), words, words, name.gender == "f", node)
    if kind in ("past", "future", "habitual", "progressive"):
        time, node = builder.sample(times_of(kind)), builder.add_node(parent)
        words = tuple((item, node, True) for item in time.hindi)
        return Filling(
            tuple((item, node, True) for item in time.english), words, words, False, node
        )
    if kind == "place":
        return _fill_location(builder, parent)
    noun = builder.sample(lexicon.choices(tuple(kind.split("+"))))
    node = builder.add_node(parent)
    return Filling(
        tuple((item, node, True) for item in noun.english),
        tuple((item, node, True) for item in noun.hindi[0]),
        tuple((item, node, True) for item in noun.hindi[1]),
        form_of(feminine=noun.feminine, plural=False) == F,
        node,
    )


def _fill_location(builder: SentenceBuilder, parent: int) -> Filling:
    english, hindi = locative_phrase(
        builder, builder.sample(read_lexicon().nouns["places"]), parent, 0
    )
    words = tuple(hindi)
    return Filling(tuple(english), words, words, False, english[-1][1])
