"""Everyday sentence patterns with slots, whose words agree in English and Hindi.

A frame is written as SLOTS || ENGLISH = HINDI; the rules stand at the top of `everyday.txt`.
"""

import re
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from math import log2, prod

from dhyan.data.primer.english_morphology import comparative, superlative, verb_forms
from dhyan.data.primer.everyday_slots import (
    Address,
    Filling,
    SlotContext,
    SlotKind,
    number_kind,
    sample_address,
    slot_kinds,
)
from dhyan.data.primer.everyday_words import Line, read_sections, read_word_lists
from dhyan.data.primer.hindi_morphology import (
    COPULA,
    MM,
    THEY,
    WAS,
    F,
    HindiVerb,
    M,
    adjective_forms,
    hindi_verb,
)
from dhyan.data.primer.lexicon_parser import suggest_spelling
from dhyan.data.primer.noun_phrases import PLURALS, PRONOUNS
from dhyan.data.primer.sentence_builder import SentenceBuilder, punctuation
from dhyan.data.primer.sentence_pair import PUNCTUATION, ROOT, SentencePair, Word, join_words
from dhyan.data.primer.verb_groups import BE, BEEN, DO, HAVE

RANGE = re.compile(r"(\d+)-(\d+)")
ADDRESSABLE = frozenset(("you", "asked", "yours"))
SLOT = re.compile(r"([A-Z]):([\w-]+)(?:\.(\w+))?")
PART = re.compile(
    r"\{(?P<slot>[A-Z])(?:\.(?P<feature>[^/{}*']+))?(?P<oblique>\*)?(?P<genitive>'s)?"
    r"(?:/(?P<with>[A-Z])(?P<case>\*)?)?\}"
    r"|(?:<(?P<by>[A-Z])(?P<bycase>\*)?:(?P<agree>[^<>]+)>|(?P<word>[^_~{}<>]+))"
    r"(?:(?P<role>[_~])(?P<node>\d|[A-Z]))?"
)
BEFORE_VERB = frozenset("नहीं मत क्यों".split())  # they stand next to the verb itself
ADDRESSED = 0.35  # share of the questions and requests that begin with a name or title
CONTRACTED = 0.4  # share of the sentences that are contracted where they can be
CONTRACTIONS = {
    **{(word, "not"): f"{word}n't" for word in "do does did is are was were could should".split()},
    **{(word, "not"): f"{word}n't" for word in "would has have had must".split()},
    ("will", "not"): "won't",
    ("let", "us"): "let's",
    **{("I", word): f"I'{end}" for word, end in (("am", "m"), ("will", "ll"))},
    **{(word, "is"): f"{word}'s" for word in "it he she that what where who".split()},
    **{(word, "are"): f"{word}'re" for word in "we you they".split()},
    **{(word, "will"): f"{word}'ll" for word in "we you he she they it".split()},
}
ENGLISH_FORMS = {
    "be": BE,
    "was": BEEN,
    "have": HAVE,
    "do": DO,
    **{word: (word, plural, word) for word, plural in PLURALS.items()},
}

SUBJECTS = {pronoun.possessive: pronoun.subject for pronoun in PRONOUNS.values()}
DEGREES = {"er": comparative, "est": superlative}
FORMS_OF_GENITIVE = {"का": M, "के": MM, "की": F}
BY_PERSON = {"है": COPULA, "यह": ("यह", "यह", "यह", "ये"), "वह": ("वह", "वह", "वह", "वे")}
FIRST_DEVANAGARI = "\u0900"
# The forms of a Hindi verb for a person (I, YOU, HE, THEY) and a gender and number (M, MM, F, FF).
VERB_FORMS: dict[str, Callable[[HindiVerb, int, int], str]] = {
    "habitual": lambda verb, who, form: verb.habitual[form],
    "perfective": lambda verb, who, form: verb.perfective[form],
    "perfect": lambda verb, who, form: verb.perfect[form],
    "due": lambda verb, who, form: verb.infinitive[form],
    "future": lambda verb, who, form: verb.future[who][form >= F],
    "subjunctive": lambda verb, who, form: verb.subjunctive[who],
    "imperative": lambda verb, who, form: verb.imperative[who == THEY],
    "infinitive": lambda verb, who, form: verb.infinitive[M],
    "oblique": lambda verb, who, form: verb.infinitive[MM],
    "stem": lambda verb, who, form: verb.stem,
    "doing": lambda verb, who, form: verb.doing,
}
WITH_OBJECT = frozenset(
    ("perfective", "perfect", "due")
)  # a transitive verb agrees with its object


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a frame: punctuation, a word, a slot, or a word that agrees with a slot."""

    text: str = ""
    slot: str = ""
    feature: str = ""
    partner: str = ""
    oblique: bool = False
    node: str = "1"
    content: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame: slots (letter, kind, mode), the parts of both sides, and its other translations.

    `head` is the slot that is the root of the dependency tree where no word of node 1 is.
    """

    group: str
    slots: tuple[tuple[str, SlotKind, str], ...]
    english: tuple[Part, ...]
    hindi: tuple[tuple[Part, ...], ...]
    digits: tuple[str, ...]
    head: str
    addresses: bool
    size: int


@cache
def frames() -> tuple[Frame, ...]:
    """All frames, in the order of the file."""
    return tuple(_frame(line) for line in read_sections() if line.section == "frames")


@cache
def _cumulative_weights() -> list[float]:
    """A frame with more sentences is sampled more often, but not in proportion to them."""
    return list(accumulate(log2(1 + frame.size) ** 1.5 for frame in frames()))


def everyday_sentence(builder: SentenceBuilder) -> SentencePair:
    """A random frame with its slots filled."""
    weights = _cumulative_weights()
    return fill_frame(builder, frames()[bisect(weights, builder.random() * weights[-1])])


def fill_frame(builder: SentenceBuilder, frame: Frame) -> SentencePair:
    """A frame with its slots filled at random."""
    root = builder.add_node()
    nodes = {digit: builder.add_node(root) for digit in frame.digits} | {"1": root}
    address = sample_address(builder) if frame.addresses and builder.flip(ADDRESSED) else None
    fillings: dict[str, Filling] = {}
    context = SlotContext(root, address, fillings)
    for slot, kind, mode in frame.slots:
        fillings[slot] = kind.fill(builder, mode, context)
    nodes |= {slot: filling.node for slot, filling in fillings.items()}
    if frame.head:
        nodes["1"] = _make_root(builder, root, nodes[frame.head])
    english = _render(frame.english, fillings, nodes, _english)
    if builder.flip(CONTRACTED):
        english = _contract(english)
    variants = [
        _render(parts, dict(zip(fillings, choice, strict=True)), nodes, _hindi)
        for parts in frame.hindi
        for choice in product(*((item, *item.variants) for item in fillings.values()))
    ]
    hindi = variants[0]
    if address:
        english, hindi, variants = _with_address(builder, address, english, variants, nodes["1"])
    text = join_words(hindi)
    others = [join_words(variant) for variant in variants[1:]]
    return SentencePair(
        (tuple(english), tuple(hindi)),
        tuple(builder.parents),
        tuple(dict.fromkeys(other for other in others if other != text)),
    )


def _make_root(builder: SentenceBuilder, root: int, head: int) -> int:
    """Make a node the root of the dependency tree instead of one that has no words."""
    builder.parents = [head if parent == root else parent for parent in builder.parents]
    builder.parents[root], builder.parents[head] = head, ROOT
    return head


def _with_address(
    builder: SentenceBuilder,
    address: Address,
    english: list[Word],
    variants: list[list[Word]],
    root: int,
) -> tuple[list[Word], list[Word], list[list[Word]]]:
    """The sentence after a name or title: Ravi, where are you?"""
    node, comma = builder.add_node(root), punctuation(",")
    name: list[Word] = [(word, node, True) for word in address.hindi.split()]
    addressed = [[*name, comma, *variant] for variant in variants]
    return [(address.english, node, True), comma, *english], addressed[0], addressed


def _contract(words: list[Word]) -> list[Word]:
    """The contracted words: do not to don't, I am to I'm."""
    result: list[Word] = []
    nodes = [node for _, node, _ in words]
    skip = False
    for position, word in enumerate(words):
        following = words[position + 1] if position + 1 < len(words) else punctuation(".")
        last = position + 2 >= len(words) or words[position + 2][0] in PUNCTUATION
        text = CONTRACTIONS.get((word[0], following[0]))
        if skip:
            skip = False
        elif text and not (last and following[0] != "not"):
            verb, other = (word, following) if following[0] == "not" else (following, word)
            only = nodes.count(verb[1]) == 1  # a clause keeps its verb
            result.append((text, (verb if only else other)[1], True))
            skip = True
        else:
            result.append(word)
    return result


def _render(
    parts: tuple[Part, ...],
    fillings: dict[str, Filling],
    nodes: dict[str, int],
    slot_words: Callable[[Part, dict[str, Filling]], list[Word]],
) -> list[Word]:
    words: list[Word] = []
    for part in parts:
        if part.text in PUNCTUATION:
            words.append(punctuation(part.text))
        elif not part.slot:
            words += [(item, nodes[part.node], part.content) for item in part.text.split("+")]
        elif part.text:
            text = _agreement(part.text, fillings[part.slot], oblique=part.oblique)
            words += [(item, nodes[part.node], part.content) for item in text.split("+")]
        else:
            filling = slot_words(part, fillings)
            verb = fillings[part.slot].verb
            before = len(verb.hindi.before) if verb and slot_words is _hindi else 0
            if before and words and words[-1][0] in BEFORE_VERB:
                words[-1:] = [*filling[:before], words[-1], *filling[before:]]
            else:
                words += filling
    return words


@cache
def _hindi_forms(word: str) -> tuple[str, ...]:
    return adjective_forms(word)


def _agreement(text: str, filling: Filling, *, oblique: bool) -> str:
    """The form of a word that agrees: of an English verb in number, of a Hindi word with a noun."""
    if text[0] < FIRST_DEVANAGARI:
        return (ENGLISH_FORMS.get(text) or (text, text, _third(text)))[filling.number]
    infinitive, colon, feature = text.partition(":")
    if colon:
        return VERB_FORMS[feature](hindi_verb_of(infinitive), filling.who, filling.form)
    if text in BY_PERSON:
        return BY_PERSON[text][filling.who]
    forms: tuple[str, ...] = WAS if text == "था" else _hindi_forms(text)
    return forms[4 if oblique and filling.form == M else filling.form]


hindi_verb_of = cache(hindi_verb)


@cache
def _third(base: str) -> str:
    return verb_forms(base).third[0]


def _english(part: Part, fillings: dict[str, Filling]) -> list[Word]:
    filling, node = fillings[part.slot], fillings[part.slot].node
    if filling.verb:
        present = ("base", "base", "third")
        form = present[fillings[part.partner].number] if part.partner else part.feature or "base"
        words = getattr(filling.verb.english, form)
    elif part.feature == "'s":
        return _genitive(filling)
    elif part.feature in DEGREES:
        words = DEGREES[part.feature](_text(filling))
    elif part.feature == "own":
        words = (filling.own,)
    elif part.feature == "again":
        words = (SUBJECTS[filling.own],)
    elif part.feature == "object" and filling.pronoun:
        words = (filling.pronoun.object,)
    else:
        return filling.english
    return [(word, node, True) for word in words]


def _genitive(filling: Filling) -> list[Word]:
    """My, Ravi's, my brother's: the words with the nodes they have."""
    if filling.pronoun:
        return [(filling.possessive, filling.node, True)]
    *rest, (last, node, content) = filling.english
    return [*rest, (last + "'s", node, content)]


def _text(filling: Filling) -> str:
    return " ".join(word for word, _, _ in filling.english)


def _hindi(part: Part, fillings: dict[str, Filling]) -> list[Word]:
    filling, feature = fillings[part.slot], part.feature
    partner = fillings[part.partner] if part.partner else filling
    form = 4 if part.oblique and partner.form == M else partner.form
    if filling.verb:
        return _hindi_verb_words(filling, feature, partner)
    if filling.adjective:
        same = filling.adjective.hindi[F] == filling.adjective.hindi[M]
        more = feature == "more" and same  # ज़्यादा आलसी, but बड़ा
        words = (*("ज़्यादा",) * more, *filling.adjective.hindi[form])
        return [(word, filling.node, True) for word in words]
    if feature in FORMS_OF_GENITIVE:
        return filling.genitive(form if part.partner else FORMS_OF_GENITIVE[feature])
    if feature == "again" and not filling.pronoun:
        return [(BY_PERSON["वह"][filling.who], filling.node, True)]
    if feature == "agent":
        feature = "ने" if partner.verb and partner.verb.transitive else ""
    if feature in ("", "*", "again"):
        return filling.oblique if feature == "*" else filling.hindi
    return filling.marked(feature)


def _hindi_verb_words(filling: Filling, feature: str, partner: Filling) -> list[Word]:
    assert filling.verb
    verb, form = filling.verb.hindi, partner.form
    if feature in WITH_OBJECT and (filling.verb.transitive or feature == "due"):
        form = filling.verb.form
    word = VERB_FORMS[feature](verb, partner.who, form)
    return [(item, filling.node, True) for item in (*verb.before, word)]


def _frame(line: Line) -> Frame:
    head, separator, body = line.text.rpartition("|| ")
    english, *hindi = body.split(" = ")
    if not hindi:
        raise line.error("is no frame; write SLOTS || ENGLISH = HINDI")
    found = SLOT.findall(head) if separator else []
    slots = tuple((slot, _slot_kind(kind, line), mode) for slot, kind, mode in found)
    letters = {slot for slot, _, _ in slots}
    sides = [
        tuple(_part(text, line, letters) for text in side.split()) for side in (english, *hindi)
    ]
    digits = {part.node for side in sides for part in side} - {"1"} - letters
    return Frame(
        line.name,
        slots,
        sides[0],
        tuple(sides[1:]),
        tuple(sorted(digits)),
        _head(found, sides),
        any(kind in ADDRESSABLE for _, kind, _ in found),
        prod(kind.size for _, kind, _ in slots),
    )


def _head(slots: list[tuple[str, str, str]], sides: list[tuple[Part, ...]]) -> str:
    """The slot that heads a frame; none if node 1 has a content word on each side."""
    if all(any(part.node == "1" and part.content for part in side) for side in sides):
        return ""
    verbs = [slot for slot, kind, _ in slots if kind in read_word_lists().verbs]
    with_words = [part.node for side in sides for part in side if part.node.isupper()]
    return (verbs or with_words or [slots[-1][0]])[0]


def _slot_kind(kind: str, line: Line) -> SlotKind:
    if bounds := RANGE.fullmatch(kind):
        return number_kind(int(bounds[1]), int(bounds[2]))
    if kind not in slot_kinds():
        raise line.error(f"no list {kind!r}; write it above{suggest_spelling(kind, slot_kinds())}")
    return slot_kinds()[kind]


def _part(text: str, line: Line, letters: set[str]) -> Part:
    if text in PUNCTUATION:
        return Part(text)
    match = PART.fullmatch(text)
    if match is None:
        raise line.error(f"{text!r} is no word of a frame; write word_1, {{A}} or <A:word>")
    slot, partner = match["slot"] or match["by"] or "", match["with"] or ""
    if {slot, partner} - letters - {""}:
        raise line.error(f"{text!r} names a slot that is not filled")
    feature = match["feature"] or ("'s" if match["genitive"] else "*" if match["oblique"] else "")
    return Part(
        match["word"] or match["agree"] or "",
        slot,
        feature,
        partner,
        bool(match["case"] or match["bycase"]),
        match["node"] or "1",
        match["role"] == "_",
    )
