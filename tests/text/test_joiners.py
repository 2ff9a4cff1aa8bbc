"""Joiners, nuktas and dandas in every tokenizer, for every Unicode spelling."""

import random
import unicodedata

import pytest

from dhyan.evaluation.metrics import count
from dhyan.special_tokens import UNK
from dhyan.text.normalize import normalize
from dhyan.text.sentence_splitter import split_sentences
from dhyan.text.tokenizer import KINDS, Tokenizer

ZWJ, ZWNJ = "\u200d", "\u200c"
SIZES = {"words": 20_000, "characters": 500, "bpe": 900, "unigram": 900}

# Letters to build words of: consonants, signs that follow them, the virama, and joiners between.
SCRIPTS = {
    "Hindi": ("कखगघचजटडतदनपबमयरलवशसह", "ािीुूेैोौं", "\u094d", ZWJ + ZWNJ),
    "Marathi": ("कखगचजटडणतदनपबमयरलळवशसह", "ािीुूेोौंॅ", "\u094d", ZWJ + ZWNJ),
    "Nepali": ("कखगघङचछजझञटठडढणतथदधन", "ािीुूेैोौँ", "\u094d", ZWJ + ZWNJ),
    "Malayalam": ("കഖഗചജടഡണതദനപബമയരലവശസഹ", "ാിീുൂെേൈൊോ", "\u0d4d", ZWJ + ZWNJ),
    "Sinhala": ("කඛගචජටඩණතදනපබමයරලවසහ", "ාැෑිීුූෙේෛොෝ", "\u0dca", ZWJ),
    "Persian": ("بپتجچحخدرزسشعغفقکگلمنوهی", "", "", ZWNJ),
}  # fmt: skip
REAL_WORDS = [  # real words
    f"क्{ZWJ}ष", f"श्{ZWNJ}री", "राष्ट्र", f"र्{ZWJ}य", f"कऱ्{ZWJ}हाड", f"गऱ्{ZWJ}यो",
    f"ന്{ZWJ}", f"അവര്{ZWJ}", f"ශ්{ZWJ}රී", f"ක්{ZWJ}ෂ", f"می{ZWNJ}خواهم", f"کتاب{ZWNJ}ها",
    f"नर्{ZWNJ}स", f"विद्{ZWNJ}या", f"उ{ZWNJ}न्नति",
]  # fmt: skip


def random_word(script, rng):
    """A random word of a script, with a joiner in it."""
    consonants, vowel_signs, virama, joiners = SCRIPTS[script]
    parts = []
    for _ in range(rng.randint(2, 4)):
        parts.append(rng.choice(consonants) + (rng.choice(vowel_signs) if vowel_signs else ""))
    at = rng.randrange(1, len(parts))
    first = rng.choice(consonants) + virama + rng.choice(joiners)
    return "".join([*parts[:at], first, *parts[at:]])


def strings(count, seed=0):
    """Sentences of all the scripts, each with joiners."""
    rng, sentences = random.Random(seed), []
    while len(sentences) < count:
        script = list(SCRIPTS)[len(sentences) % len(SCRIPTS)]
        words = [random_word(script, rng) for _ in range(rng.randint(1, 5))]
        if rng.random() < 0.3:
            words.append(rng.choice(REAL_WORDS))
        sentences.append(" ".join(words))
    return sentences


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    """A tokenizer of each kind; word and character vocabularies are trained on the strings."""
    texts = strings(1000) if request.param in ("words", "characters") else strings(200, seed=9)
    lines = [*texts, *map(normalize, NUKTA_SENTENCES), *DANDA_SENTENCES]
    return Tokenizer.train(lines, kind=request.param, size=SIZES[request.param])


NUKTA_SENTENCES = [
    f"वह {letter}ैसा है" for letter in map(chr, [*range(0x958, 0x960), 0x929, 0x931, 0x934])
]
DANDA_SENTENCES = ["वह घर गया।", "वह घर गया", "श्लोक है॥ दूसरा"]


def test_joiners_survive_encoding_and_decoding(tokenizer):
    texts = strings(1000)
    assert sum(ZWJ in text or ZWNJ in text for text in texts) == 1000
    assert len(set(texts)) > 990
    for text, ids in zip(texts, tokenizer.encode_batch(texts), strict=True):
        assert UNK not in ids
        assert [*tokenizer.decode(ids)] == [*text], "code point by code point"


def test_normalisation_preserves_joiners():
    for text in [*strings(1000, seed=3), *REAL_WORDS]:
        assert [c for c in normalize(text) if c in ZWJ + ZWNJ] == [
            c for c in text if c in ZWJ + ZWNJ
        ]


@pytest.mark.parametrize("text", NUKTA_SENTENCES)
def test_every_encoding_of_a_nukta_gives_the_same_ids_and_scores(text, tokenizer):
    forms = {unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")} | {text}
    assert len(forms) == 2, "composed and apart"
    both = " ".join(sorted(forms))
    mixed = {both, unicodedata.normalize("NFD", both), unicodedata.normalize("NFC", both)}
    for spellings in (forms, mixed):
        assert len({tuple(tokenizer.encode(first)) for first in spellings}) == 1
        scores = [
            count([first], [second], language="hi")["chrf"].value()
            for first in spellings
            for second in spellings
        ]
        assert scores == [100.0] * len(scores)


def test_a_danda_is_a_token_of_its_own(tokenizer):
    with_danda, without_danda = (
        tokenizer.encode(DANDA_SENTENCES[0]),
        tokenizer.encode(DANDA_SENTENCES[1]),
    )
    assert with_danda[: len(without_danda)] == without_danda
    assert len(with_danda) > len(without_danda)
    words = [
        word.text
        for word in tokenizer.words(tokenizer.encode(DANDA_SENTENCES[2]), DANDA_SENTENCES[2])
    ]
    assert words == ["श्लोक", "है", "॥", "दूसरा"]


def test_a_danda_ends_a_sentence_with_or_without_a_space():
    assert split_sentences("वह गया। वह आया।", "hi") == ["वह गया।", "वह आया।"]
    assert split_sentences("वह गया।वह आया॥ अंत", "hi") == ["वह गया।", "वह आया॥", "अंत"]


def test_bleu_separates_a_danda_from_its_word():
    hypotheses, references = ["वह घर गया और सो गया।"], ["वह घर गया और सो गया ।"]
    assert count(hypotheses, references, language="hi")["bleu"].value() == pytest.approx(100.0)
    assert count(["वह घर गया और सो गया"], references, language="hi")["bleu"].value() < 100
