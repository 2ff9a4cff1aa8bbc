"""Everything in a sentence of the primer that should agree, looked at."""

from collections import Counter

from dhyan.data.primer import SentencePair
from tests.data.primer.phrases import GOES, NAMES, Sentence, Someone
from tests.data.primer.tables import (
    BEFORE,
    BEING,
    HE,
    HELPERS,
    MARKERS,
    POINTERS,
    SHAPES,
    SHE,
    SUBJECTS,
    WHICH,
    WHOSE,
    WITHIN,
    Act,
    Words,
    adjectives,
    pairs,
)

ADJECTIVES, PAIRS = adjectives(), pairs()
STATES = frozenset((*BEING, "पसंद", "चाहिए", "लगी", "बुख़ार", "ज़ुकाम", "सिरदर्द"))
ENGLISH_STATES = frozenset(
    "am is are was were be have has had like likes liked want wants wanted".split()
)
FEELINGS = frozenset("hungry thirsty fever cold headache".split())
AGENTS = frozenset(word for (_, word), (_, case) in SUBJECTS.items() if case == "ने")
AGENTS |= {word for word, case in WHICH.items() if case == "ने"} | {"ने"}
TOLD = {"का": "m", "की": "f"}  # रवि का स्वागत, रवि की मदद
WAYS: dict[Words, str] = dict.fromkeys(GOES, "में पर") | {
    ("returned", "from"): "से",
    ("stopped", "near"): "के",
}


def disagreements(twin: SentencePair, seen: Counter[str]) -> list[tuple[str, str]]:
    """What does not agree, and why; `seen` counts all that was looked at."""
    said = Sentence(twin, seen)
    _look(said)
    return said.wrong


def _look(said: Sentence) -> None:
    """At every idea that both languages name."""
    for idea, hindi in said.named.items():
        english = said.english.get(idea)
        if english is None:
            continue
        pair = english, hindi
        _linked(said, english, hindi)
        above = said.parents[idea]
        if said.someone(idea) and above in said.first:
            _marked(said, idea, above)
        ways = said.acts(idea)
        if ways and (pair not in ADJECTIVES or idea in said.below):
            _acts(said, idea, ways)
        elif hindi[-1] in STATES and english[-1] in ENGLISH_STATES | FEELINGS:
            if not _helps(said, idea, above):
                _is(said, idea, hindi)
        elif above >= 0:
            _goes_with(said, idea, above, english, hindi)
    for word, idea, _ in said.hindi:
        if word in AGENTS:
            _agent(said, idea)


def _agent(said: Sentence, idea: int) -> None:
    """ने stands only where something was done, by that one or by the one it is told apart by."""
    above = said.above(idea)
    near = {idea, above, said.above(above), *said.below.get(idea, ())}
    if said.named.get(idea, ("",))[0] in WHICH:
        near.update(said.below[above])
    said.note("agents", right=not said.done.isdisjoint(near), why=said.named.get(idea))


def _helps(said: Sentence, idea: int, above: int) -> bool:
    """Whether it is only a helper: nothing hangs on it, and what it hangs on is done."""
    return idea not in said.below and bool(said.acts(above))


def _linked(said: Sentence, english: Words, hindi: Words) -> None:
    right = (english, hindi) in PAIRS
    if not right and len(english) == 1:
        word = english[0]
        if word.endswith("'s"):
            right = len(hindi) == 2 and NAMES[word[:-2]][0] == hindi[0] and hindi[1] in "का के की"
        elif word in WHOSE:
            right = hindi[0][:-1] in WHOSE[word].split() and hindi[0][-1] in SHAPES
    said.note("links", right=right, why=(english, hindi))


def _marked(said: Sentence, idea: int, verb: int) -> None:
    """An object has the marker that its verb asks for, and one to whom it is done को."""
    ways = said.acts(verb)
    after = said.last[idea] + 1
    word, other, named = said.hindi[after] if after < len(said.hindi) else ("", -1, True)
    if (
        not ways
        or named
        or other != idea
        or word not in MARKERS
        or said.subject(verb) is said.someone(idea)
    ):
        return
    way = WAYS.get(said.english[verb], "").split()
    right = any(
        word == "को"
        or word in way
        or (word == act.verb.marker and TOLD.get(word, act.verb.agrees) == act.verb.agrees)
        for act in ways
    )
    said.note("markers", right=right, why=(said.named[idea], word))


def _goes_with(said: Sentence, idea: int, above: int, english: Words, hindi: Words) -> None:
    noun = said.someone(above)
    if english == ("that",):
        told = noun or said.someone(said.above(above))
        said.note("that", right=bool(told) == (hindi != ("कि",)), why=hindi)
    if noun is None:
        if shapes := ADJECTIVES.get((english, hindi)):
            _said_of(said, above, shapes, hindi)
    elif not noun.shapes:
        return
    elif shapes := ADJECTIVES.get((english, hindi)):
        said.note("adjectives", right=bool(shapes & noun.shapes), why=(hindi, noun))
    elif english[0] in WHOSE or english[0].endswith("'s"):
        right = bool(SHAPES.get(hindi[-1][-1], 0) & noun.shapes)
        said.note("owners", right=right, why=(hindi, noun))
        _own(said, above, english[0], hindi[0])
    elif english[0] in POINTERS and hindi[0] not in WHICH:
        said.points(english[0], hindi[0], noun)
    elif english == ("how", "many"):
        right = bool(SHAPES[hindi[0][-1]] & noun.shapes)
        said.note("how many", right=right, why=(hindi, noun))


def _own(said: Sentence, noun: int, whose: str, hindi: str) -> None:
    """What is the subject's own is अपना, and nothing else is, least of all the subject."""
    verb, own = said.above(noun), hindi.startswith("अपन")
    subject = None
    if said.acts(verb):
        subject = said.subject(verb)
    if subject is None or subject is said.someone(noun):
        right = not own or (subject is None and whose == "your")  # open your door
    elif subject.whose:
        right = (whose == subject.whose) == own
    else:
        return
    said.note("own", right=right, why=(subject, whose, hindi))


def _said_of(said: Sentence, verb: int, shapes: int, hindi: Words) -> None:
    """The house is big."""
    if said.english.get(verb, ("",))[-1] not in ENGLISH_STATES:
        return
    bare = said.bare(verb)
    right = len(bare) == 1 and bool(bare[0].shapes & shapes)
    said.note("predicates", right=right, why=(hindi, bare))


def _is(said: Sentence, verb: int, hindi: Words) -> None:
    """Being, having, liking, wanting and feeling agree with the one bare noun there is."""
    shown = [word for word in (*hindi, *said.group(verb)) if word in HELPERS or word in BEING]
    cells = WITHIN.get(hindi[0], 0)
    if not cells:
        bare = said.bare(verb)
        cells = bare[0].cells if len(bare) == 1 else 0
    for word in shown:
        cells &= HELPERS.get(word) or BEING[word]
    said.note("states", right=bool(cells), why=shown)
    _held(said, verb)


def _held(said: Sentence, verb: int) -> None:
    """One has something के पास, and likes, wants or feels it को."""
    word = said.english[verb][-1]
    near = [place for place, one in said.loose.get(verb, ()) if one == "पास"]
    if near:
        said.note("holders", right=said.hindi[near[0] - 1][0][-1] == "े", why="पास")
    elif word in FEELINGS or word[:4] in ("like", "want"):
        cases = [one.case for idea in said.below.get(verb, ()) if (one := said.someone(idea))]
        said.note("holders", right=cases.count("को") == 1, why=cases)


def _acts(said: Sentence, verb: int, ways: list[Act]) -> None:
    """The helpers fit the verb's form, the subject its case, and all agree with one noun."""
    group = said.group(verb)
    first = group[0] if group else ""
    kinds = BEFORE.get(first, "").split()
    fits = [act for act in ways if act.kind in kinds]
    said.note("helpers", right=bool(fits), why=(said.named[verb], group))
    if not fits:
        return
    subject = said.subject(verb)
    if subject is None:
        said.note("requests", right=any(act.kind == "imperative" for act in fits), why=verb)
        return
    cased = [act for act in fits if _asked(act) == subject.case]
    said.note(
        "ने" if subject.case == "ने" else "doers",
        right=bool(cased),
        why=(subject, said.named[verb], group),
    )
    if cased and subject.case == "ने":
        said.done.add(verb)
    for act in cased:
        cells = act.cells & _controller(said, act, verb, subject)
        for word in group:
            cells &= HELPERS.get(word, 0)
        if cells:
            break
    else:
        if cased:
            said.note("verbs", right=False, why=(subject, said.named[verb], group))
    said.seen["verbs"] += 1


def _controller(said: Sentence, act: Act, verb: int, subject: Someone) -> int:
    """What a verb agrees with: a bare subject, its own noun, a bare object, or nothing."""
    if not subject.case:
        return subject.cells
    if act.verb.agrees:
        return SHE if act.verb.agrees == "f" else HE
    return said.object(verb, subject)


def _asked(act: Act) -> str:
    """The case that a form of a verb asks of its subject."""
    if act.kind == "due":
        return "को"
    return "ने" if act.verb.ergative and act.kind in ("perfective", "perfect") else ""
