"""Agreement checks of a primer sentence: case, gender, number, auxiliaries, links."""

from collections import Counter

from dhyan.data.primer import SentencePair
from tests.data.primer.agreement_tables import (
    AUXILIARIES,
    BEING,
    DEMONSTRATIVES,
    FEELING_NOUNS,
    FORMS_BEFORE,
    HE,
    MARKERS,
    POSSESSIVES,
    RELATIVES,
    SHAPES,
    SHE,
    SUBJECTS,
    WEATHER,
    VerbForm,
    Words,
    adjectives,
    pairs,
)
from tests.data.primer.sentence_parser import GOES, NAMES, Nominal, Sentence

ADJECTIVES, PAIRS = adjectives(), pairs()
STATES = frozenset((*BEING, "पसंद", "चाहिए", "लगी", "बुख़ार", "ज़ुकाम", "सिरदर्द"))
ENGLISH_STATES = frozenset(
    "am is are was were be have has had like likes liked want wants wanted".split()
)
FEELINGS = frozenset("hungry thirsty fever cold headache".split())
AGENTS = frozenset(word for (_, word), (_, case) in SUBJECTS.items() if case == "ने")
AGENTS |= {word for word, case in RELATIVES.items() if case == "ने"} | {"ने"}
MARKER_GENDERS = {"का": "m", "की": "f"}  # रवि का स्वागत, रवि की मदद
FRAME_MARKERS: dict[Words, str] = dict.fromkeys(GOES, "में पर") | {
    ("returned", "from"): "से",
    ("stopped", "near"): "के",
}


def disagreements(pair: SentencePair, counts: Counter[str]) -> list[tuple[str, str]]:
    """What does not agree, and why; `counts` counts every check."""
    sentence = Sentence(pair, counts)
    _check_nodes(sentence)
    return sentence.wrong


def _check_nodes(sentence: Sentence) -> None:
    """Check every node that both languages name."""
    for node, hindi in sentence.hindi_words.items():
        english = sentence.english.get(node)
        if english is not None:
            _check_link(sentence, english, hindi)
            _check_node(sentence, node, english, hindi)
    for word, node, _ in sentence.hindi:
        if word in AGENTS:
            _check_agent(sentence, node)


def _check_node(sentence: Sentence, node: int, english: Words, hindi: Words) -> None:
    """Check a node that both languages name, by what it is."""
    parent = sentence.parents[node]
    if sentence.nominal(node) and parent in sentence.first:
        _check_marker(sentence, node, parent)
    if hindi[0] in WEATHER and english[-1] in ("raining", "cold", "hot"):
        _check_weather(sentence, node, hindi)
        return
    forms = sentence.verb_forms(node)
    if forms and ((english, hindi) not in ADJECTIVES or node in sentence.children):
        _check_verb(sentence, node, forms)
    elif hindi[-1] in STATES and english[-1] in ENGLISH_STATES | FEELINGS:
        if not _is_auxiliary(sentence, node, parent):
            _check_state(sentence, node, hindi)
    elif parent >= 0:
        _check_modifier(sentence, node, parent, english, hindi)


def _check_agent(sentence: Sentence, node: int) -> None:
    """ने needs an ergative verb: its own, or that of its relative clause."""
    parent = sentence.parent(node)
    near = {node, parent, sentence.parent(parent), *sentence.children.get(node, ())}
    if sentence.hindi_words.get(node, ("",))[0] in RELATIVES:
        near.update(sentence.children[parent])
    sentence.record(
        "agents",
        right=not sentence.ergative_verbs.isdisjoint(near),
        why=sentence.hindi_words.get(node),
    )


def _is_auxiliary(sentence: Sentence, node: int, parent: int) -> bool:
    """Whether a node is an auxiliary: it has no children, and its parent is a verb."""
    return node not in sentence.children and bool(sentence.verb_forms(parent))


def _check_link(sentence: Sentence, english: Words, hindi: Words) -> None:
    right = (english, hindi) in PAIRS
    if not right and len(english) == 1:
        word = english[0]
        if word.endswith("'s"):
            right = len(hindi) == 2 and NAMES[word[:-2]][0] == hindi[0] and hindi[1] in "का के की"
        elif word in POSSESSIVES:
            right = hindi[0][:-1] in POSSESSIVES[word].split() and hindi[0][-1] in SHAPES
    sentence.record("links", right=right, why=(english, hindi))


def _check_marker(sentence: Sentence, node: int, verb: int) -> None:
    """An object has the marker of its verb, a recipient को."""
    forms = sentence.verb_forms(verb)
    after = sentence.last[node] + 1
    word, other, is_content = (
        sentence.hindi[after] if after < len(sentence.hindi) else ("", -1, True)
    )
    if (
        not forms
        or is_content
        or other != node
        or word not in MARKERS
        or sentence.subject(verb) is sentence.nominal(node)
    ):
        return
    frame_markers = FRAME_MARKERS.get(sentence.english[verb], "").split()
    right = any(
        word == "को"
        or word in frame_markers
        or (
            word == form.verb.marker
            and MARKER_GENDERS.get(word, form.verb.agrees) == form.verb.agrees
        )
        for form in forms
    )
    sentence.record("markers", right=right, why=(sentence.hindi_words[node], word))


def _check_modifier(
    sentence: Sentence, node: int, parent: int, english: Words, hindi: Words
) -> None:
    noun = sentence.nominal(parent)
    if english == ("that",):
        relativized = noun or sentence.nominal(sentence.parent(parent))
        sentence.record("that", right=bool(relativized) == (hindi != ("कि",)), why=hindi)
    if noun is None:
        if shapes := ADJECTIVES.get((english, hindi)):
            _check_predicate(sentence, parent, shapes, hindi)
    elif not noun.shapes:
        return
    elif shapes := ADJECTIVES.get((english, hindi)):
        sentence.record("adjectives", right=bool(shapes & noun.shapes), why=(hindi, noun))
    elif english[0] in POSSESSIVES or english[0].endswith("'s"):
        right = bool(SHAPES.get(hindi[-1][-1], 0) & noun.shapes)
        sentence.record("owners", right=right, why=(hindi, noun))
        _check_possessive(sentence, parent, english[0], hindi[0])
    elif english[0] in DEMONSTRATIVES and hindi[0] not in RELATIVES:
        sentence.check_demonstrative(english[0], hindi[0], noun)
    elif english == ("how", "many"):
        right = bool(SHAPES[hindi[0][-1]] & noun.shapes)
        sentence.record("how many", right=right, why=(hindi, noun))


def _check_possessive(sentence: Sentence, noun: int, whose: str, hindi: str) -> None:
    """A possessor equal to the subject is अपना, and no other is."""
    verb, own = sentence.parent(noun), hindi.startswith("अपन")
    subject = None
    if sentence.verb_forms(verb):
        subject = sentence.subject(verb)
    if subject is None or subject is sentence.nominal(noun):
        right = not own or (subject is None and whose == "your")  # open your door
    elif subject.whose:
        right = (whose == subject.whose) == own
    else:
        return
    sentence.record("own", right=right, why=(subject, whose, hindi))


def _check_predicate(sentence: Sentence, verb: int, shapes: int, hindi: Words) -> None:
    """A predicate adjective agrees with its subject."""
    if sentence.english.get(verb, ("",))[-1] not in ENGLISH_STATES:
        return
    bare = sentence.unmarked(verb)
    right = len(bare) == 1 and bool(bare[0].shapes & shapes)
    sentence.record("predicates", right=right, why=(hindi, bare))


def _check_state(sentence: Sentence, verb: int, hindi: Words) -> None:
    """A stative verb agrees with the only unmarked noun."""
    auxiliaries = [
        word
        for word in (*hindi, *sentence.auxiliaries(verb))
        if word in AUXILIARIES or word in BEING
    ]
    cells = FEELING_NOUNS.get(hindi[0], 0)
    if not cells:
        bare = sentence.unmarked(verb)
        cells = bare[0].cells if len(bare) == 1 else 0
    for word in auxiliaries:
        cells &= AUXILIARIES.get(word) or BEING[word]
    sentence.record("states", right=bool(cells), why=auxiliaries)
    _check_experiencer(sentence, verb)


def _check_weather(sentence: Sentence, node: int, hindi: Words) -> None:
    """It was raining: the auxiliaries agree with the weather."""
    cells = WEATHER[hindi[0]]
    for word in sentence.auxiliaries(node):
        cells &= AUXILIARIES.get(word, 0)
    sentence.record("weather", right=bool(cells), why=hindi)


def _check_experiencer(sentence: Sentence, verb: int) -> None:
    """A possessor has के पास, an experiencer को."""
    word = sentence.english[verb][-1]
    near = [
        position for position, nominal in sentence.function_words.get(verb, ()) if nominal == "पास"
    ]
    if near:
        sentence.record("holders", right=sentence.hindi[near[0] - 1][0][-1] == "े", why="पास")
    elif word in FEELINGS or word[:4] in ("like", "want"):
        cases = [
            nominal.case
            for node in sentence.children.get(verb, ())
            if (nominal := sentence.nominal(node))
        ]
        sentence.record("holders", right=cases.count("को") == 1, why=cases)


def _check_verb(sentence: Sentence, verb: int, forms: list[VerbForm]) -> None:
    """Auxiliaries fit the form of the verb, the subject has its case, and all agree with one noun."""
    group = sentence.auxiliaries(verb)
    first = group[0] if group else ""
    form_kinds = FORMS_BEFORE.get(first, "").split()
    fits = [form for form in forms if form.kind in form_kinds]
    sentence.record("helpers", right=bool(fits), why=(sentence.hindi_words[verb], group))
    if not fits:
        return
    subject = sentence.subject(verb)
    if subject is None:
        sentence.record("requests", right=any(form.kind == "imperative" for form in fits), why=verb)
        return
    matching = [form for form in fits if _required_case(form) == subject.case]
    sentence.record(
        "ने" if subject.case == "ने" else "doers",
        right=bool(matching),
        why=(subject, sentence.hindi_words[verb], group),
    )
    if matching and subject.case == "ने":
        sentence.ergative_verbs.add(verb)
    for form in matching:
        cells = form.cells & _controller(sentence, form, verb, subject)
        for word in group:
            cells &= AUXILIARIES.get(word, 0)
        if cells:
            break
    else:
        if matching:
            sentence.record("verbs", right=False, why=(subject, sentence.hindi_words[verb], group))
    sentence.counts["verbs"] += 1


def _controller(sentence: Sentence, form: VerbForm, verb: int, subject: Nominal) -> int:
    """The controller of agreement: a bare subject, the verb's own noun, a bare object, or none."""
    if not subject.case:
        return subject.cells
    if form.verb.agrees:
        return SHE if form.verb.agrees == "f" else HE
    return sentence.object_cells(verb, subject)


def _required_case(form: VerbForm) -> str:
    """The case that a verb form requires of its subject."""
    if form.kind == "due":
        return "को"
    return "ने" if form.verb.ergative and form.kind in ("perfective", "perfect") else ""
