"""English morphology: forms of nouns and verbs from the dictionary form."""

import re
from dataclasses import dataclass

Words = tuple[str, ...]

IRREGULAR = {
    "child": "children", "person": "people", "foot": "feet", "tooth": "teeth", "goose": "geese",
    "mouse": "mice", "ox": "oxen", "sheep": "sheep", "deer": "deer", "fish": "fish",
    "stomach": "stomachs", "quiz": "quizzes", "human": "humans", "bus": "buses",
}  # fmt: skip
WITH_ES = {"potato", "tomato", "mango", "hero", "echo", "mosquito", "buffalo", "volcano"}
WITH_VES = {
    "leaf", "knife", "wife", "loaf", "shelf", "bookshelf", "wolf", "thief", "half", "calf",
    "scarf", "life", "self", "housewife", "elf",
}  # fmt: skip
THIRDS = {"be": "is", "have": "has"}
STRESSED_LAST = {
    "admit", "begin", "commit", "control", "equip", "forbid", "forget", "forgot", "occur",
    "permit", "prefer", "refer", "regret", "submit", "unplug", "unzip", "upset",
}  # fmt: skip
SHORT = re.compile(r"[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]")  # one vowel, one consonant: stop, quit
# One syllable, or two that end in -y: they take -er and -est.
SHORT_ADJECTIVE = re.compile(r"[^aeiou]*[aeiou]+[^aeiou]*e?|[^aeiou]*[aeiou]+[^aeiou]+y")
IRREGULAR_DEGREES = {
    "good": ("better", "best"), "bad": ("worse", "worst"), "far": ("farther", "farthest"),
}  # fmt: skip
AS_YOU = re.compile(r"(?:uni(?!n|m|d)|us[aeu]|ut[ei]|uk|eu|ewe|one$|once)", re.IGNORECASE)
SILENT_H = re.compile(r"(?:hour|hones|hono|heir)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EnglishVerb:
    """The five forms of a verb, each with the words that follow it (look at, looks at)."""

    base: Words
    third: Words
    past: Words
    participle: Words
    ing: Words


def noun_plural(word: str) -> str:
    """The plural of a noun; the last of several words inflects, but in mother-in-law the first part."""
    if word.endswith("-in-law"):
        return noun_plural(word.removesuffix("-in-law")) + "-in-law"
    space = word.rfind(" ") + 1
    return word[:space] + _plural(word[space:])


def _plural(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word.endswith("man"):
        return word.removesuffix("an") + "en"
    if word in WITH_VES:
        return word.removesuffix("e").removesuffix("f") + "ves"
    return word + "es" if word in WITH_ES else _with_s(word)


def verb_forms(base: str, past: str = "", participle: str = "", ing: str = "") -> EnglishVerb:
    """All forms of a verb, whose first word inflects; forms that are left out are regular.

    A form may be given for the first word only; a participle that is left out equals the past.
    """
    first, *rest = base.split(" ")

    def words(form: str) -> Words:
        return (*form.split(" "),) if " " in form else (form, *rest)

    return EnglishVerb(
        base=(first, *rest),
        third=words(_third(first)),
        past=words(past or _past(first)),
        participle=words(participle or past or _past(first)),
        ing=words(ing or _ing(first)),
    )


def _third(word: str) -> str:
    if word in THIRDS:
        return THIRDS[word]
    return word + "es" if word.endswith("o") else _with_s(word)


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    return word.removesuffix("y") + "ies" if _consonant_y(word) else word + "s"


def _past(word: str) -> str:
    if word.endswith("e"):
        return word + "d"
    return word.removesuffix("y") + "ied" if _consonant_y(word) else _doubled(word) + "ed"


def _ing(word: str) -> str:
    if word.endswith("ie"):
        return word.removesuffix("ie") + "ying"
    if word.endswith("e") and not word.endswith(("ee", "oe", "ye")) and len(word) > 2:
        return word.removesuffix("e") + "ing"
    return _doubled(word) + "ing"


def _consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2:-1] not in {*"aeiou"}


def _doubled(word: str) -> str:
    """The stem before a vowel: a short stressed syllable doubles its consonant (stopped, visited)."""
    return word + word[-1] if SHORT.fullmatch(word) or word in STRESSED_LAST else word


def a_or_an(word: str) -> str:
    """The indefinite article of a word, by its first sound: an hour, a university."""
    if word[:1].lower() not in {*"aeiou"}:
        return "an" if SILENT_H.match(word) else "a"
    return "a" if AS_YOU.match(word) else "an"


def comparative(word: str) -> Words:
    """The comparative: taller, more beautiful."""
    return _degree(word, 0)


def superlative(word: str) -> Words:
    """The superlative: tallest, most beautiful."""
    return _degree(word, 1)


def _degree(word: str, index: int) -> Words:
    if word in IRREGULAR_DEGREES:
        return (IRREGULAR_DEGREES[word][index],)
    if not SHORT_ADJECTIVE.fullmatch(word):
        return (("more", "most")[index], word)
    end = ("er", "est")[index]
    if word.endswith("e"):
        return (word + end[1:],)
    return (word.removesuffix("y") + "i" + end if _consonant_y(word) else _doubled(word) + end,)
