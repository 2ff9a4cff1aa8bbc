"""Primer benchmark: sentences per second, distinct sentences, size of the lexicon."""

import time
from collections.abc import Callable, Iterable
from itertools import islice

from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.templates import templates

SAMPLE, VARIETY_SAMPLE = 20_000, 1_200_000  # more than a million distinct
MAX_WORDS = (15, 60)


def primer() -> object:
    """All figures, from one core."""
    read_lexicon(), templates()
    return {
        "pairs_per_second": {
            f"{annotations}, up to {max_words} words": _rate(write, max_words)
            for max_words in MAX_WORDS
            for annotations, write in (("text", _text), ("text, links and heads", _all))
        },
        **_variety(islice(generate_sentences("train"), VARIETY_SAMPLE)),
        "words": _words(),
    }


def _text(pair: SentencePair) -> None:
    _ = pair.english, pair.hindi


def _all(pair: SentencePair) -> None:
    _ = pair.english, pair.hindi, pair.links, pair.heads(0), pair.heads(1)


def _rate(write: Callable[[SentencePair], None], max_words: int) -> int:
    """Pairs per second; the first few, which fill the caches, are not timed."""
    pairs = generate_sentences("train", max_words=max_words)
    for pair in islice(pairs, SAMPLE // 10):
        write(pair)
    began = time.perf_counter()
    for pair in islice(pairs, SAMPLE):
        write(pair)
    return round(SAMPLE / (time.perf_counter() - began))


def _variety(pairs: Iterable[SentencePair]) -> dict[str, object]:
    """Different sentences, counted by their hashes, which a million do not exhaust."""
    english: set[int] = set()
    first: dict[int, int] = {}
    shared: set[int] = set()
    for pair in pairs:
        english_hash, hindi_hash = hash(pair.english), hash(pair.hindi)
        english.add(english_hash)
        if first.setdefault(hindi_hash, english_hash) != english_hash:
            shared.add(hindi_hash)
    return {
        "pairs": VARIETY_SAMPLE,
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
                | {word for entry in lexicon.adjectives for word in entry.english}
                | {word for entry in adverbs for word in entry.english}
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
                | {word for entry in lexicon.adjectives for form in entry.hindi for word in form}
                | {word for entry in adverbs for word in entry.hindi}
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
