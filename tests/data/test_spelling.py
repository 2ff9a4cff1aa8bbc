"""Joiners, nuktas and dandas go through every tokenizer unharmed, and however they are typed."""

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
KNOWN = [  # words as they are truly written
    f"क्{ZWJ}ष", f"श्{ZWNJ}री", "राष्ट्र", f"र्{ZWJ}य", f"कऱ्{ZWJ}हाड", f"गऱ्{ZWJ}यो",
    f"ന്{ZWJ}", f"അവര്{ZWJ}", f"ශ්{ZWJ}රී", f"ක්{ZWJ}ෂ", f"می{ZWNJ}خواهم", f"کتاب{ZWNJ}ها",
    f"नर्{ZWNJ}स", f"विद्{ZWNJ}या", f"उ{ZWNJ}न्नति",
]  # fmt: skip


def word(script, chance):
    """Something spelt as the script spells, with a joiner in it."""
    letters, signs, virama, joiners = SCRIPTS[script]
    parts = []
    for _ in range(chance.randint(2, 4)):
        parts.append(chance.choice(letters) + (chance.choice(signs) if signs else ""))
    at = chance.randrange(1, len(parts))
    first = chance.choice(letters) + virama + chance.choice(joiners)
    return "".join([*parts[:at], first, *parts[at:]])


def strings(count, seed=0):
    """Sentences of all the scripts, each with joiners."""
    chance, made = random.Random(seed), []
    while len(made) < count:
        script = list(SCRIPTS)[len(made) % len(SCRIPTS)]
        words = [word(script, chance) for _ in range(chance.randint(1, 5))]
        if chance.random() < 0.3:
            words.append(chance.choice(KNOWN))
        made.append(" ".join(words))
    return made


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    """One of each kind; those that know only what they have seen have seen the strings."""
    seen = strings(1000) if request.param in ("words", "characters") else strings(200, seed=9)
    lines = [*seen, *map(normalize, TWICE), *SAID]
    return Tokenizer.train(lines, kind=request.param, size=SIZES[request.param])


TWICE = [f"वह {letter}ैसा है" for letter in map(chr, [*range(0x958, 0x960), 0x929, 0x931, 0x934])]
SAID = ["वह घर गया।", "वह घर गया", "श्लोक है॥ दूसरा"]


def test_a_thousand_strings_with_joiners_come_back_as_they_were(tokenizer):
    texts = strings(1000)
    assert sum(ZWJ in text or ZWNJ in text for text in texts) == 1000
    assert len(set(texts)) > 990
    for text, ids in zip(texts, tokenizer.encode_batch(texts), strict=True):
        assert UNK not in ids
        assert [*tokenizer.decode(ids)] == [*text], "code point by code point"


def test_joiners_come_through_the_normal_form_unchanged():
    for text in [*strings(1000, seed=3), *KNOWN]:
        assert [c for c in normalize(text) if c in ZWJ + ZWNJ] == [
            c for c in text if c in ZWJ + ZWNJ
        ]


@pytest.mark.parametrize("text", TWICE)
def test_every_encoding_of_a_nukta_gives_the_same_ids_and_scores(text, tokenizer):
    forms = {unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")} | {text}
    assert len(forms) == 2, "composed and apart"
    both = " ".join(sorted(forms))
    mixed = {both, unicodedata.normalize("NFD", both), unicodedata.normalize("NFC", both)}
    for spelt in (forms, mixed):
        assert len({tuple(tokenizer.encode(one)) for one in spelt}) == 1
        scores = [
            count([one], [other], language="hi")["chrf"].value() for one in spelt for other in spelt
        ]
        assert scores == [100.0] * len(scores)


def test_a_danda_is_a_token_of_its_own(tokenizer):
    with_one, without = tokenizer.encode(SAID[0]), tokenizer.encode(SAID[1])
    assert with_one[: len(without)] == without
    assert len(with_one) > len(without)
    words = [word.text for word in tokenizer.words(tokenizer.encode(SAID[2]), SAID[2])]
    assert words == ["श्लोक", "है", "॥", "दूसरा"]


def test_a_danda_ends_a_sentence_with_or_without_a_space():
    assert split_sentences("वह गया। वह आया।", "hi") == ["वह गया।", "वह आया।"]
    assert split_sentences("वह गया।वह आया॥ अंत", "hi") == ["वह गया।", "वह आया॥", "अंत"]


def test_a_danda_counts_apart_from_its_word_in_a_score():
    said, wanted = ["वह घर गया और सो गया।"], ["वह घर गया और सो गया ।"]
    assert count(said, wanted, language="hi")["bleu"].value() == pytest.approx(100.0)
    assert count(["वह घर गया और सो गया"], wanted, language="hi")["bleu"].value() < 100
