"""How fast the primer makes sentences, how many of them differ, and how large its lexicon is."""

import time
from collections.abc import Callable, Iterable
from itertools import islice

from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.templates import templates

SAMPLE, MANY = 20_000, 1_200_000  # of which more than a million differ
LONGEST = (15, 60)


def primer() -> object:
    """All figures, from one core."""
    read_lexicon(), templates()
    return {
        "pairs_per_second": {
            f"{what}, up to {longest} words": _rate(write, longest)
            for longest in LONGEST
            for what, write in (("text", _text), ("text, links and heads", _all))
        },
        **_variety(islice(generate_sentences("train"), MANY)),
        "words": _words(),
    }


def _text(twin: SentencePair) -> None:
    _ = twin.english, twin.hindi


def _all(twin: SentencePair) -> None:
    _ = twin.english, twin.hindi, twin.links, twin.heads(0), twin.heads(1)


def _rate(write: Callable[[SentencePair], None], longest: int) -> int:
    """Pairs a second; the first few, which fill the tables, are not timed."""
    twins = generate_sentences("train", max_words=longest)
    for twin in islice(twins, SAMPLE // 10):
        write(twin)
    began = time.perf_counter()
    for twin in islice(twins, SAMPLE):
        write(twin)
    return round(SAMPLE / (time.perf_counter() - began))


def _variety(twins: Iterable[SentencePair]) -> dict[str, object]:
    """Different sentences, counted by their hashes, which a million do not exhaust."""
    english: set[int] = set()
    first: dict[int, int] = {}
    shared: set[int] = set()
    for twin in twins:
        said, meant = hash(twin.english), hash(twin.hindi)
        english.add(said)
        if first.setdefault(meant, said) != said:
            shared.add(meant)
    return {
        "pairs": MANY,
        "different_english": len(english),
        "different_hindi": len(first),
        "share_of_hindi_with_several_english": round(len(shared) / len(first), 5),
    }


def _words() -> dict[str, dict[str, int]]:
    """Different words as they are written: of the lexicon in every form, and of its entries."""
    lexicon = read_lexicon()
    nouns = [noun for listed in lexicon.nouns.values() for noun in listed]
    nouns += [sense.noun for senses in lexicon.senses.values() for sense in senses]
    verbs = (*lexicon.verbs, *lexicon.speech)
    adverbs = (*lexicon.manner, *lexicon.times)
    return {
        "entries": {
            "names": len(lexicon.names),
            "nouns": len(nouns),
            "adjectives": len(lexicon.adjectives),
            "verbs": len(verbs),
            "adverbs": len(adverbs),
            "templates": len(templates()),
        },
        "different": {
            "english": len(
                {name.english for name in lexicon.names}
                | {word for noun in nouns for word in (*noun.english, *noun.plural)}
                | {word for one in lexicon.adjectives for word in one.english}
                | {word for one in adverbs for word in one.english}
                | {
                    word
                    for verb in verbs
                    for form in (
                        verb.english.base, verb.english.third, verb.english.past,
                        verb.english.participle, verb.english.ing,
                    )
                    for word in form
                }
            ),
            "hindi": len(
                {name.hindi for name in lexicon.names}
                | {word for noun in nouns for form in noun.hindi for word in form}
                | {word for one in lexicon.adjectives for form in one.hindi for word in form}
                | {word for one in adverbs for word in one.hindi}
                | {
                    word
                    for verb in verbs
                    for word in (
                        *verb.hindi.before, verb.hindi.stem, *verb.hindi.infinitive,
                        *verb.hindi.habitual, *verb.hindi.perfective, *verb.hindi.imperative,
                        *(form for pair in verb.hindi.future for form in pair),
                    )
                }
            ),
        },
    }  # fmt: skip
