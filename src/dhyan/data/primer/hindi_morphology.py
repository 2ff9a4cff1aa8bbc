"""Hindi morphology: forms of nouns, adjectives and verbs from the dictionary form."""

from dataclasses import dataclass

M, MM, F, FF = range(4)  # masculine singular and plural, feminine singular and plural
I, YOU, HE, THEY = range(4)  # noqa: E741 (मैं; तुम; वह; हम, आप, वे, honorifics)

Four = tuple[str, str, str, str]
Five = tuple[str, str, str, str, str]

COPULA: Four = ("हूँ", "हो", "है", "हैं")
"""The present of "to be", by person."""
WAS: Four = ("था", "थे", "थी", "थीं")
RAHA: Four = ("रहा", "रहे", "रही", "रही")
GENITIVE: Five = ("का", "के", "की", "की", "के")
"""As an adjective: four direct forms, then the masculine oblique."""

INHERITED = ("क्रिया", "दुनिया")  # feminines in -िया that are no diminutives: क्रियाएँ, not क्रियाँ

# Endings of a noun: of its singular, its feminine plural, its oblique plural.
PLURALS = (
    ("िया", "ियाँ", "ियों"),
    ("ैया", "ैयाँ", "ैयों"),
    ("ी", "ियाँ", "ियों"),
    ("ि", "ियाँ", "ियों"),
    ("ई", "इयाँ", "इयों"),
    ("इ", "इयाँ", "इयों"),
    ("ूँ", "ुएँ", "ुओं"),
    ("ू", "ुएँ", "ुओं"),
    ("ऊ", "उएँ", "उओं"),
    ("ों", "ों", "ों"),
    ("ो", "ो", "ों"),
)
# Endings of a masculine in -ā: of its singular, its oblique and plural, its oblique plural.
MASCULINES = (("आँ", "एँ", "ओं"), ("आ", "ए", "ओं"), ("ा", "े", "ों"))
# Endings of an adjective in -ā: masculine singular, other masculine forms, feminine.
ADJECTIVES = (
    ("याँ", "एँ", "ईं"),
    ("ाँ", "ें", "ीं"),
    ("या", "ए", "ई"),
    ("आ", "ए", "ई"),
    ("ा", "े", "ी"),
)

# Irregular forms, by stem.
PERFECTIVES: dict[str, Four] = {
    "कर": ("किया", "किए", "की", "कीं"),
    "जा": ("गया", "गए", "गई", "गईं"),
    "दे": ("दिया", "दिए", "दी", "दीं"),
    "ले": ("लिया", "लिए", "ली", "लीं"),
    "हो": ("हुआ", "हुए", "हुई", "हुईं"),
}
SUBJUNCTIVES: dict[str, Four] = {
    "दे": ("दूँ", "दो", "दे", "दें"),
    "ले": ("लूँ", "लो", "ले", "लें"),
    "हो": ("होऊँ", "होओ", "हो", "हों"),
}
REQUESTS = {"कर": "कीजिए", "दे": "दीजिए", "ले": "लीजिए", "जी": "जिएँ"}


@dataclass(frozen=True, slots=True)
class HindiVerb:
    """Every form of a verb's last word; the words before it (बंद in बंद करना) stay as they are."""

    before: tuple[str, ...]
    stem: str
    infinitive: Four
    """By form (M, MM, F, FF): खाना खाने खानी खानी; the oblique is the masculine plural."""
    habitual: Four
    perfective: Four
    perfect: Four
    """The perfective before है or था, which carry the nasal of the feminine plural instead."""
    future: tuple[tuple[str, str], ...]
    """By person (I, YOU, HE, THEY), then by whether feminine."""
    imperative: tuple[str, str]
    """To तुम and to आप."""
    subjunctive: Four
    doing: str
    """The conjunctive participle (having done): खाकर, करके."""


def noun_forms(word: str, gender: str, *, fixed: bool = False) -> Four:
    """Forms of a noun: direct, oblique, plural direct, plural oblique; the last word inflects.

    A fixed masculine in -ā (राजा) changes in the oblique plural only.
    """
    space = word.rfind(" ") + 1
    before, last = word[:space], word[space:]
    forms = _feminine(last) if gender == "f" else _masculine(last, fixed=fixed)
    return before + last, before + forms[0], before + forms[1], before + forms[2]


def _feminine(word: str) -> tuple[str, str, str]:
    return word, *_plurals(word)


def _masculine(word: str, *, fixed: bool) -> tuple[str, str, str]:
    for end, other, plural in () if fixed else MASCULINES:
        if word.endswith(end):
            stem = word.removesuffix(end)
            return stem + other, stem + other, stem + plural
    return word, word, _plurals(word)[1]


def _plurals(word: str) -> tuple[str, str]:
    """The feminine direct plural, and the oblique plural of nouns that keep their ending."""
    for end, direct, oblique in PLURALS:
        if word.endswith(end) and not word.endswith(INHERITED):
            stem = word.removesuffix(end)
            return stem + direct, stem + oblique
    return (word + "एँ", word + "ओं") if _open(word) else (word + "ें", word + "ों")


def _open(word: str) -> bool:
    """Whether a word ends in a written vowel; a bare consonant takes vowel signs."""
    return not ("क" <= word[-1] <= "ह" or word[-1] == "़")


def adjective_forms(word: str, *, fixed: bool = False) -> Five:
    """The four direct forms of an adjective, then the masculine singular oblique.

    Of several words the last inflects, and before हुआ its participle as well (थकी हुई).
    """
    *before, last = word.split(" ")
    parts = [(singular,) * 5 for singular in before]
    if last == "हुआ" and before and not fixed:
        parts[-1] = _agreeing(before[-1])
    parts.append((last,) * 5 if fixed else _agreeing(last))
    singular, plural, feminine, _, _ = (" ".join(words) for words in zip(*parts, strict=True))
    return singular, plural, feminine, feminine, plural


def _agreeing(word: str) -> Five:
    for end, other, feminine in ADJECTIVES:
        if word.endswith(end):
            stem = word.removesuffix(end)
            return word, stem + other, stem + feminine, stem + feminine, stem + other
    return word, word, word, word, word


def hindi_verb(infinitive: str) -> HindiVerb:
    """All forms of a verb from its infinitive, whose last word ends in ना."""
    *before, last = infinitive.split(" ")
    stem = last.removesuffix("ना")
    perfective = PERFECTIVES.get(stem) or _perfective(stem)
    subjunctive = SUBJUNCTIVES.get(stem) or _subjunctive(stem)
    return HindiVerb(
        before=tuple(before),
        stem=stem,
        infinitive=(stem + "ना", stem + "ने", stem + "नी", stem + "नी"),
        habitual=(stem + "ता", stem + "ते", stem + "ती", stem + "ती"),
        perfective=perfective,
        perfect=(*perfective[:3], perfective[F]),
        future=_future(("होऊँ", "हो", "हो", "हों") if stem == "हो" else subjunctive),
        imperative=(subjunctive[YOU], REQUESTS.get(stem) or _request(stem)),
        subjunctive=subjunctive,
        doing=stem + ("के" if stem == "कर" else "कर"),
    )


def _short(stem: str) -> str:
    """A stem before a vowel: a long ī or ū is shortened (पी to पि, छू to छु)."""
    return {"ी": stem[:-1] + "ि", "ू": stem[:-1] + "ु"}.get(stem[-1], stem)


def _perfective(stem: str) -> Four:
    short = _short(stem)
    if not _open(stem):
        return stem + "ा", stem + "े", stem + "ी", stem + "ीं"
    if stem.endswith("ी"):
        return short + "या", short + "ए", stem, stem + "ं"
    return short + ("आ" if stem.endswith("ू") else "या"), short + "ए", short + "ई", short + "ईं"


def _subjunctive(stem: str) -> Four:
    short = _short(stem)
    if not _open(stem):
        return stem + "ूँ", stem + "ो", stem + "े", stem + "ें"
    return short + "ऊँ", short + ("यो" if stem.endswith("ी") else "ओ"), short + "ए", short + "एँ"


def _request(stem: str) -> str:
    if not _open(stem):
        return stem + "िए"
    return stem + "जिए" if stem.endswith("ी") else _short(stem) + "इए"


def _future(subjunctive_forms: Four) -> tuple[tuple[str, str], ...]:
    ends = ("गा", "गे", "गा", "गे")
    return tuple(
        (form + end, form + "गी") for form, end in zip(subjunctive_forms, ends, strict=True)
    )
