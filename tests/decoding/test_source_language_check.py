"""A text in the wrong language or direction is noticed; names, numbers and emoji are not."""

from itertools import islice

import pytest

from dhyan.data.primer import generate_sentences, primer_pairs
from dhyan.decoding.source_language_check import LanguageCheck, plain_words, script_warning
from dhyan.text.tokenizer import KINDS, Tokenizer

GERMAN = [
    "Gestern haben wir mit unseren Freunden im Garten gesessen und lange geredet.",
    "Der kleine Hund schläft jeden Nachmittag unter dem großen Tisch in der Küche.",
    "Können Sie mir bitte sagen, wann der nächste Zug nach Süden abfährt?",
] * 5


@pytest.fixture(scope="module")
def pairs():
    return list(islice(primer_pairs(generate_sentences("train", seed=3)), 1000))


@pytest.fixture(scope="module", params=KINDS)
def tokenizers(request, pairs):
    sides = ([pair.source for pair in pairs], [pair.target for pair in pairs])
    return [Tokenizer.train(texts, kind=request.param, size=2000) for texts in sides]


def warning(sentences, source, target, *languages):
    check = LanguageCheck(source, target, *languages)
    check.add(sentences)
    return check.warning()


def test_text_in_the_source_language_gives_no_warning(tokenizers, pairs):
    held_out = islice(primer_pairs(generate_sentences("valid", seed=8)), 100)
    for texts in (pairs[:50], list(held_out)):
        for languages in ([], ["en", "hi"]):
            assert not warning([pair.source for pair in texts], *tokenizers, *languages)


def test_the_other_direction_is_noticed_by_its_script(tokenizers, pairs):
    targets = [pair.target for pair in pairs[:50]]
    line = warning(targets, *tokenizers, "en", "hi")
    assert "have no Latin letter, but the model translates from 'en' into 'hi'" in line
    assert "source and target seem to be swapped" in line
    assert "have no Latin letter" in warning(["आप कैसे हैं"], *tokenizers, "en", "hi")


def test_the_other_direction_is_noticed_by_its_words(tokenizers, pairs):
    line = warning([pair.target for pair in pairs[:50]], *tokenizers)
    assert "words are not in the source vocabulary" in line
    assert "source and target seem to be swapped" in line


def test_unknown_languages_are_called_unknown(tokenizers, pairs):
    line = warning([pair.target for pair in pairs[:50]], *tokenizers)
    assert "the languages of the model are unknown" in line
    assert "data.source_language and data.target_language" in line
    line = warning([pair.target for pair in pairs[:50]], *tokenizers, "", "hi")
    assert "the model translates from an unknown language into 'hi'" in line


def test_another_language_of_the_same_script_is_noticed_by_its_words(tokenizers):
    line = warning(GERMAN, *tokenizers, "en", "hi")
    if tokenizers[0].kind == "characters":  # its characters are almost those of English
        assert not line
    else:
        assert "words are not in the source vocabulary" in line
        assert "swapped" not in line


@pytest.mark.parametrize(
    "text",
    [
        "Bahdanau, Cho, Bengio, Luong, Pham, Manning, Vaswani, Shazeer, Parmar, Uszkoreit",
        "12,500 + 3.75 = 12503.75; ISBN 978-3-16-148410-0; 2024-06-30 18:45",
        "https://example.org/ganz/anderes?wort=hier user.name@example.org www.beispiel.de/seite",
        "🙂🙂👍🏽🇮🇳 ❤️ ☃ 🎉🎉 → ← ✓",
        "नमस्ते, this is the house of my friend, and the girl is in the house",
        "<b>%s</b> {{name}} & MAX_WORDS x1 y2 z3",
        "...?!",
        "",
    ],
    ids=["names", "numbers", "addresses", "emoji", "mixed", "markup", "punctuation", "empty"],
)
def test_no_false_alarm(tokenizers, text):
    for count in (1, 20):
        assert not warning([text] * count, *tokenizers, "en", "hi")


def test_names_in_another_script_are_no_text_in_it():
    assert plain_words("Samsung Galaxy S21, iPhone 12") == []
    assert plain_words("see https://example.org/a/b and 3 more") == ["see", "and", "more"]


def test_pieces_of_chinese_are_short_in_any_text():
    lines = [
        "今天天气很好我们去公园散步吧",
        "他在图书馆里看书看了一个下午",
        "请问最近的火车站在哪里",
    ] * 4
    tokenizer = Tokenizer.train(lines, kind="bpe", size=400)
    assert not warning(lines, tokenizer, tokenizer, "zh", "en")


def test_an_imported_model_of_characters_splits_every_word_and_it_is_no_sign(monkeypatch):
    lines = ["kahmi fabainkum akanhuna", "abaha bainkum tafak falmakin"] * 8
    others = [line[::-1] for line in lines]
    for kind, is_sign in (("characters", False), ("bpe", True)):
        tokenizer = Tokenizer.train(lines, kind=kind, size=320)
        with monkeypatch.context() as patch:
            patch.setattr(Tokenizer, "kind", "sentencepiece")
            assert bool(warning(others, tokenizer, tokenizer, "", "")) == is_sign


def test_references_in_another_script_are_noticed():
    assert "no Devanagari letter" in script_warning(["the house is big"], "hi")
    assert not script_warning(["घर बड़ा है", "the"], "hi")
    assert not script_warning(["anything at all"], "")
