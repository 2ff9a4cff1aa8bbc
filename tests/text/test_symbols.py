"""Symbols and labels come out as they went in; a table of unknown origin is checked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dhyan.errors import UserError
from dhyan.special_tokens import EOS, NAMES, UNK
from dhyan.text.codec import codec_size, encode_sources, read_codec, source_length
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.word_characters import WordCharacters

SYMBOL = st.text(st.characters(exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1)


@given(st.lists(SYMBOL.filter(lambda symbol: symbol == "".join(symbol.split())), min_size=1))
def test_symbols_come_out_as_they_went_in(symbols):
    if not all(symbol.split() == [symbol] for symbol in symbols):
        return
    text = " ".join(symbols)
    tokenizer = Tokenizer.train([text], kind="symbols", size=1000)
    ids = tokenizer.encode(text)
    unknown = [symbol in NAMES for symbol in symbols]
    assert [id == UNK for id in ids] == unknown
    if not any(unknown):
        assert tokenizer.decode(ids) == text
    assert len(ids) == len(symbols)


def test_a_label_is_one_symbol_with_its_spaces():
    tokenizer = Tokenizer.train(["very good", "bad", "bad"], kind="labels", size=100)
    [good] = tokenizer.encode("  very  good ")
    assert tokenizer.decode([good]) == "very good"
    assert tokenizer.encode("good") == [UNK]
    assert tokenizer.encode("") == []


@pytest.mark.parametrize("kind", ["symbols", "labels"])
def test_a_saved_table_is_read_back(kind):
    tokenizer = Tokenizer.train(["a b", "c", "<pad>"], kind=kind, size=100)
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.piece_ids() == tokenizer.piece_ids()
    assert codec_size(tokenizer.to_json()) == len(tokenizer)


def test_no_text_spells_a_special_token():
    tokenizer = Tokenizer.train(["a <eos> b"], kind="symbols", size=100)
    assert EOS not in tokenizer.encode("<eos> </s> <pad>")


@pytest.mark.parametrize(
    "change",
    [
        {"pieces": []},
        {"pieces": [*NAMES, "a", "a"]},
        {"pieces": [*NAMES, "a  b"]},
        {"pieces": [*NAMES, ""]},
        {"pieces": [*NAMES, "x" * 300]},
        {"pieces": [*NAMES, 7]},
        {"pieces": "abc"},
        {"more": 1},
    ],
)
def test_a_table_of_another_origin_is_refused(change):
    table = {"type": "symbols", "pieces": [*NAMES, "a"], **change}
    with pytest.raises(UserError):
        Tokenizer.from_json(json.dumps(table))
    with pytest.raises(UserError):
        codec_size(json.dumps(table))


@pytest.fixture(scope="module")
def words():
    return WordCharacters.train(["नदी के पार", "नदी बहती है"], size=6, characters=40, longest=4)


def test_a_word_has_its_id_and_its_characters(words):
    [frames] = words.encode_batch(["नदी पर्वतारोहण"])
    known, unknown = frames
    assert known[0] != UNK
    assert unknown[0] == UNK
    assert (known[1:] != 0).sum() == len("नदी")
    assert len(unknown) == words.width == 5  # the first and last of its characters
    assert words.unknown_words(frames, "नदी पर्वतारोहण") == ["पर्वतारोहण"]


def test_there_is_a_frame_for_each_word(words):
    texts = ["", "एक", "नदी के पार  है"]
    assert [source_length(frames) for frames in encode_sources(words, texts)] == [0, 1, 4]
    frames = words.encode_batch(texts)[2]
    assert words.pieces(frames, texts[2]) == texts[2].split()
    assert [(word.first, word.last) for word in words.words(frames)] == [
        (i, i + 1) for i in range(4)
    ]


def test_saved_words_are_read_back(words):
    again = read_codec(words.to_json())
    assert isinstance(again, WordCharacters)
    assert (again.encode_batch(["नदी पार"])[0] == words.encode_batch(["नदी पार"])[0]).all()
    assert codec_size(words.to_json()) == len(words)


@pytest.mark.parametrize(
    "change",
    [{"longest": 0}, {"longest": 10**9}, {"longest": True}, {"words": ["a"]}, {"characters": 3}],
)
def test_words_of_another_origin_are_refused(words, change):
    table = {**json.loads(words.to_json()), **change}
    with pytest.raises(UserError):
        read_codec(json.dumps(table))
