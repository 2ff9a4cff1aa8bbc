"""What a sentence says if every word is translated by itself, as it is most often."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from dhyan.data.primer import Twin, primer_twins
from dhyan.data.primer.hindi_morphology import M
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_builder import Draft
from dhyan.data.primer.templates import filled, templates
from dhyan.lessons.trained_model import CORE, LONGEST

SENTENCES = 3000  # of training that words are looked up in
FILLED = 4  # times that each sentence of an idiom's own words is filled
SIGNS = ".,?!\"'"
PLAIN = {"की": "का", "के": "का"}  # its form beside the next word is that word's doing


def meant_by(about: str) -> tuple[str, ...]:
    """The words that a translation of an idiom that is meant must not say."""
    return next(one.wrong for one in templates("idiom") if one.about == about)


def is_meant(twin: Twin) -> bool:
    """Whether the idiom is meant, or what its words say."""
    [wanted] = twin.wanted
    return wanted.wrong == meant_by(wanted.about)


def word_by_word(sentence: str) -> str:
    """Every word's own translation in the order of the English; one without any is left out.

    A word that is in no sentence looked at stays as it is.
    """
    words = dictionary()
    said = [words.get(one.strip(SIGNS).lower(), one.strip(SIGNS)) for one in sentence.split()]
    return " ".join(filter(None, said))


@cache
def dictionary() -> dict[str, str]:
    """For each English word the Hindi that names the same idea most often, perhaps nothing.

    A verb as a dictionary has it is so in Hindi too.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for twin in (*_literal(), *_plain()):
        for word, hindi in _named(twin):
            found[word][hindi] += 1
    best = {word: said.most_common(1)[0][0] for word, said in found.items()}
    for verb in read_lexicon().verbs:
        base = " ".join(verb.english.base)
        if best.get(base, "").startswith(verb.hindi.stem):
            best[base] = " ".join((*verb.hindi.before, verb.hindi.infinitive[M]))
    return best


def _named(twin: Twin) -> Iterator[tuple[str, str]]:
    """Each English word with its Hindi, unless it takes several English words to say it."""
    english, hindi = ([word for word in side if word[1] >= 0] for side in twin.words)
    naming = Counter(idea for _, idea, names in english if names)
    for word, idea, names in english:
        same = " ".join(said for said, other, also in hindi if names and also and other == idea)
        if not names or naming[idea] == 1:
            yield word.lower(), PLAIN.get(same, same)


def _literal() -> Iterable[Twin]:
    """The sentences in which an idiom's words mean what they say."""
    for number, one in enumerate(templates("idiom")):
        if one.wrong != meant_by(one.about):
            yield from (filled(Draft(FILLED * number + draw), one) for draw in range(FILLED))


def _plain() -> Iterable[Twin]:
    made = islice(primer_twins("train", longest=LONGEST, core=CORE), SENTENCES)
    return (twin for twin in made if not any(one.kind == "idiom" for one in twin.wanted))
