"""Text as ids and ids as text, for every kind of tokenizer."""

import json
import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.errors import UserError
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from dhyan.text.normalize import normalize
from dhyan.text.tokenizer import KINDS, Tokenizer, Word

SUBWORDS = ("bpe", "unigram")
PARTS = {
    "en": (
        ["the old farmer", "my sister", "a careful teacher", "nobody", "the children's nurse"],
        ["doesn't sell", "remembers", "is carrying", "quietly painted", "won't forget"],
        ["two green mangoes", "the river, the boat and the bridge", '"a long letter"', "us"],
        [".", "!", "?", "; isn't that so?"],
    ),
    "hi": (
        ["बूढ़ा किसान", "मेरी बहन", "अध्यापिका जी", "कोई बच्चा", "राष्\u200dट्रपति"],
        ["दो हरे आम", "नदी, नाव और पुल", '"एक लंबी चिट्ठी"', "श्री\u200cमान को", "ज़मीन"],
        ["नहीं बेचता", "याद रखती है", "उठा रहे हैं", "पढ़कर हँसा", "क्यों भूलेगा"],
        ["।", "!", "?", "॥"],
    ),
}
HINDI = ["राष्\u200dट्रपति", "श्री\u200cमान", "क्\u200dया", "हिन्दी", "ज़मीन", "पढ़ूँगा", "कर्त्तव्य"]
FOREIGN = [
    "தமிழ் மொழி",
    "汉字和假名",
    "👩‍👩‍👧 👍🏽 🇮🇳 ☹️ 1️⃣",
    "Ελληνικά",
    "עִבְרִית",
    "\U0010ffff\x7f\ue000",
    "e\u0301\u0323",
]


def corpus(count, seed=0):
    rng = random.Random(seed)
    stems = ["".join(rng.choices("bdgklmnprst", k=2)) for _ in range(40)]
    sentences = []
    for i in range(count):
        first, *rest = (rng.choice(part) for part in PARTS["en" if i % 2 else "hi"])
        name = rng.choice(stems) + rng.choice("aeiou") + rng.choice(stems)
        sentences.append(" ".join([first, name.title(), *rest[:-1]]) + rest[-1])
    return sentences


SENTENCES = [*corpus(600), "5 < 7 / 2 > 0x41", "</s> <0x41>"]
TRAINED = {kind: Tokenizer.train(SENTENCES, kind=kind, size=700) for kind in KINDS}
every_kind = pytest.mark.parametrize("kind", KINDS)
subword_kind = pytest.mark.parametrize("kind", SUBWORDS)
patient = settings(deadline=None)
texts = (
    st.text()
    | st.text(alphabet="aét'\"<>/s0x41 _▁|।कि\u094d\u093c\u200d\u200c\u0301👩🏽🇮-")
    | st.lists(st.sampled_from([*SENTENCES[:50], *HINDI, *FOREIGN, "</s>", "<0x41>"])).map(" ".join)
)


@every_kind
def test_the_corpus_round_trips(kind):
    tokenizer = TRAINED[kind]
    for sentence, ids in zip(SENTENCES, tokenizer.encode_batch(SENTENCES), strict=True):
        assert tokenizer.decode(ids) == normalize(sentence)
        assert min(ids) > UNK


@subword_kind
@patient
@given(text=texts)
def test_any_text_round_trips_in_subwords(kind, text):
    ids = TRAINED[kind].encode(text)
    assert not set(ids) & {PAD, BOS, EOS, UNK}
    assert TRAINED[kind].decode(ids) == normalize(text)


@pytest.mark.parametrize("kind", ["words", "characters"])
@patient
@given(text=texts)
def test_a_text_round_trips_unless_something_is_unknown(kind, text):
    ids = TRAINED[kind].encode(text)
    assert not set(ids) & {PAD, BOS, EOS}
    assert UNK in ids or TRAINED[kind].decode(ids) == normalize(text)


@subword_kind
@pytest.mark.parametrize("text", FOREIGN)
def test_an_unseen_script_round_trips(kind, text):
    again = Tokenizer.from_json(TRAINED[kind].to_json())
    ids = again.encode(text)
    assert UNK not in ids
    assert again.decode(ids) == normalize(text)


@every_kind
@pytest.mark.parametrize(
    "text", [*NAMES, "<0x41>", "a<0x41>b", "x</s>", "<s><s>", "</s>\u200d</s>"]
)
def test_names_of_special_tokens_are_plain_text(kind, text):
    tokenizer = Tokenizer.from_json(TRAINED[kind].to_json())
    ids = tokenizer.encode(text)
    assert not set(ids) & {PAD, BOS, EOS}
    assert "⟨41⟩" not in tokenizer.pieces(ids)
    assert kind == "words" or tokenizer.decode(ids) == text


@every_kind
def test_a_saved_tokenizer_is_the_same(kind, tmp_path):
    TRAINED[kind].save(tmp_path / "source.json")
    again = Tokenizer.load(tmp_path / "source.json")
    assert again.to_json() == TRAINED[kind].to_json()
    assert again.encode_batch(SENTENCES) == TRAINED[kind].encode_batch(SENTENCES)
    assert len(again) == len(TRAINED[kind])


@every_kind
def test_the_file_holds_no_added_tokens_and_falls_back_to_bytes(kind):
    again = Tokenizer.from_json(TRAINED[kind].to_json())
    saved = json.loads(again.to_json())
    model = saved["model"]
    assert saved["added_tokens"] == []
    assert {"type": "ByteFallback"} in saved["decoder"]["decoders"]
    entries = [entry[0] for entry in model["vocab"]] if kind == "unigram" else list(model["vocab"])
    assert tuple(entries[:4]) == NAMES
    if kind in SUBWORDS:
        assert model["byte_fallback"] is True
        assert entries[4:260] == [f"<0x{byte:02X}>" for byte in range(256)]


@every_kind
def test_the_first_ids_are_the_specials(kind):
    assert TRAINED[kind].pieces([PAD, BOS, EOS, UNK]) == list(NAMES)


@every_kind
def test_decoding_skips_special_tokens_and_names_the_unknown(kind):
    tokenizer = TRAINED[kind]
    ids = tokenizer.encode("the river")
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "the river"
    assert "<unk>" in tokenizer.decode([*ids, UNK])


def test_an_unknown_word_has_a_space_before_it():
    assert TRAINED["words"].decode(TRAINED["words"].encode("the zebra.")) == "the <unk>."


@every_kind
@patient
@given(text=texts)
def test_both_forms_of_unicode_give_the_same_ids(kind, text):
    encode = TRAINED[kind].encode
    assert encode(unicodedata.normalize("NFD", text)) == encode(unicodedata.normalize("NFC", text))


@every_kind
def test_encoding_equals_batch_encoding(kind):
    sentences = [*SENTENCES[:20], "", *FOREIGN]
    assert TRAINED[kind].encode_batch(sentences) == [
        TRAINED[kind].encode(text) for text in sentences
    ]


@every_kind
def test_an_empty_text_has_no_ids(kind):
    tokenizer = TRAINED[kind]
    assert tokenizer.encode(" \u200b ") == tokenizer.words([]) == tokenizer.offsets("") == []
    assert tokenizer.decode([]) == ""


# What a word is


@every_kind
@pytest.mark.parametrize("word", HINDI)
def test_combining_marks_and_joiners_stay_in_their_word(kind, word):
    tokenizer = Tokenizer.train([f"{word}, {word}।" for word in HINDI], kind=kind, size=300)
    ids = tokenizer.encode(f"{word}, {word}।")
    words = [token.text for token in tokenizer.words(ids)]
    assert words == [normalize(word), ",", normalize(word), "।"]


@subword_kind
def test_words_do_not_depend_on_the_segmentation(kind):
    tokenizer = TRAINED[kind]
    ids = [BOS, *tokenizer.encode('"Don\'t" well-known தமிழ்! 👩‍👩‍👧 ☹️🇮🇳 (क्\u200dया)'), EOS, PAD]
    assert [word.text for word in tokenizer.words(ids)] == [
        *("<s>", '"', "Don't", '"', "well", "-", "known", "தமிழ்", "!"),
        *("👩‍👩‍👧", "☹️", "🇮🇳", "(", "क्\u200dया", ")", "</s>", "<pad>"),
    ]


@every_kind
@patient
@given(data=st.data())
def test_words_cover_all_ids_in_order(kind, data):
    tokenizer = TRAINED[kind]
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=30))
    words = tokenizer.words(ids)
    assert [position for word in words for position in range(word.first, word.last)] == [
        *range(len(ids))
    ]
    assert all(word.text for word in words)
    for word in words:
        frame = set(ids[word.first : word.last]) & {PAD, BOS, EOS}
        assert not frame or word.last == word.first + 1


@every_kind
@patient
@given(text=texts)
def test_words_spell_the_text(kind, text):
    tokenizer = TRAINED[kind]
    ids = tokenizer.encode(text)
    spelt = "".join(word.text for word in tokenizer.words(ids))
    assert UNK in ids or spelt == normalize(text).replace(" ", "")


def test_a_lone_word_mark_belongs_to_the_next_word():
    tokenizer = TRAINED["characters"]
    assert tokenizer.words(tokenizer.encode("us 汉")) == [Word("us", 0, 3), Word("<unk>", 3, 5)]
    mark = tokenizer.encode("us")[0]
    assert tokenizer.words([mark, mark, EOS]) == [
        *(Word("▁", 0, 1), Word("▁", 1, 2), Word("</s>", 2, 3))
    ]


def test_invalid_utf8_bytes_are_shown():
    tokenizer = TRAINED["bpe"]
    tamil = [id for id in tokenizer.encode("த") if 4 <= id < 260]
    assert tokenizer.pieces(tamil) == ["⟨E0⟩", "⟨AE⟩", "⟨A4⟩"]
    assert tokenizer.words(tamil) == [Word("த", 0, 3)]
    assert tokenizer.words([*tamil[:2], EOS]) == [Word("\ufffd", 0, 2), Word("</s>", 2, 3)]


# Labels and offsets


@every_kind
def test_every_id_has_a_label(kind):
    tokenizer = TRAINED[kind]
    labels = tokenizer.pieces(range(len(tokenizer)))
    assert len(labels) == len(tokenizer)
    assert all(label.strip("\u200c\u200d ") for label in labels)
    assert not any(unicodedata.category(label[0]).startswith("M") for label in labels)


@every_kind
@patient
@given(text=texts)
def test_offsets_slice_the_text_into_its_pieces(kind, text):
    tokenizer, clean = TRAINED[kind], normalize(text)
    ids, spans = tokenizer.encode(text), tokenizer.offsets(text)
    distinct_spans = [span for i, span in enumerate(spans) if i == 0 or span != spans[i - 1]]
    assert "".join(clean[first:last] for first, last in distinct_spans) == clean
    for id, label, (first, last) in zip(ids, tokenizer.pieces(ids), spans, strict=True):
        piece = clean[first:last]
        if id == UNK or not piece.strip():
            continue
        if label.startswith("⟨") and label.endswith("⟩"):
            assert len(piece) == 1
        else:
            assert piece.strip() == label.removeprefix("◌")


@subword_kind
def test_byte_tokens_have_the_span_of_their_character(kind):
    spans = TRAINED[kind].offsets("us த்👩")
    assert spans[-10:] == [*[(3, 4)] * 3, *[(4, 5)] * 3, *[(5, 6)] * 4]


# Training


@every_kind
@pytest.mark.parametrize("size", [300, 400, 5000])
def test_the_size_is_a_limit_that_is_nearly_reached(kind, size):
    tokenizer = Tokenizer.train(SENTENCES, kind=kind, size=size)
    assert len(tokenizer) <= size
    assert kind not in SUBWORDS or size == 5000 or len(tokenizer) >= 0.95 * size


def test_the_most_frequent_words_are_in_the_vocabulary():
    tokenizer = Tokenizer.train(["d c c c b a", "b a e"], kind="words", size=8)
    assert tokenizer.pieces(range(4, 8)) == ["c", "a", "b", "d"]


def test_characters_are_code_points():
    tokenizer = Tokenizer.train(["कि👩‍👧"], kind="characters", size=99)
    assert tokenizer.pieces(tokenizer.encode("कि")) == ["▁", "क", "◌ि"]
    assert len(tokenizer) == 4 + len("▁कि👩\u200d👧")


@subword_kind
def test_a_rare_letter_does_not_crowd_out_pieces(kind):
    rare_words = [chr(0x4E00 + i) + chr(0x5E00 + i) for i in range(1000)]
    tokenizer = Tokenizer.train([*SENTENCES, *[" ".join(rare_words)] * 20], kind=kind, size=500)
    assert len(tokenizer) <= 500
    assert "river" in tokenizer.pieces(tokenizer.encode("the river"))
    assert tokenizer.decode(tokenizer.encode(rare_words[-1])) == rare_words[-1]


SCRIPT = """
import hashlib, sys
sys.path[:0] = sys.argv[1:]
from dhyan.text.tokenizer import KINDS, Tokenizer
from test_tokenizer import corpus
for kind in KINDS:
    learned = Tokenizer.train(corpus(3000, seed=7), kind=kind, size=900)
    extended = learned.extended(corpus(3000, seed=8), size=1000)
    for tokenizer in (learned, extended):
        print(kind, hashlib.sha256(tokenizer.to_json().encode()).hexdigest())
"""


def test_every_process_trains_the_same_vocabulary():
    here = Path(__file__).parent
    printed = set()
    for seed, threads in (("0", "1"), ("1", "2"), ("2", "8"), ("random", "3")):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        command = [sys.executable, "-c", SCRIPT, str(here), str(here.parents[1] / "src")]
        process = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
        printed.add(process.stdout)
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == 2 * len(KINDS)


@every_kind
def test_the_order_of_sentences_does_not_matter(kind):
    tokenizer = Tokenizer.train(reversed(SENTENCES), kind=kind, size=700)
    assert tokenizer.to_json() == TRAINED[kind].to_json()


# Extending


NEW = [
    *["the zookeeper feeds zebras, zebras and zebras"] * 5,
    *["चिड़ियाघर में ज़ेब्रा है।", "துறவி ஒரு துறவி"] * 5,
]
OLD = {kind: Tokenizer.train(SENTENCES, kind=kind, size=400) for kind in KINDS}
EXTENDED = {kind: OLD[kind].extended(NEW, 520) for kind in KINDS}


@every_kind
def test_old_pieces_have_the_same_ids(kind):
    old, new = OLD[kind], EXTENDED[kind]
    assert list(new.piece_ids())[: len(old)] == list(old.piece_ids())
    assert len(old) < len(new) <= 520
    assert new.kind == old.kind == kind


@every_kind
@patient
@given(text=texts | st.sampled_from(NEW))
def test_old_ids_decode_the_same_when_extended(kind, text):
    ids = OLD[kind].encode(text)
    assert EXTENDED[kind].decode(ids) == OLD[kind].decode(ids)


@every_kind
@patient
@given(text=texts | st.sampled_from(NEW))
def test_an_extended_tokenizer_round_trips(kind, text):
    ids = EXTENDED[kind].encode(text)
    assert not set(ids) & {PAD, BOS, EOS}
    assert (UNK in ids and kind not in SUBWORDS) or EXTENDED[kind].decode(ids) == normalize(text)


@every_kind
def test_new_words_take_fewer_ids_and_none_is_unknown(kind):
    old, new = OLD[kind].encode_batch(NEW), EXTENDED[kind].encode_batch(NEW)
    assert not any(UNK in ids for ids in new)
    if kind in SUBWORDS:
        assert sum(map(len, new)) < 0.6 * sum(map(len, old))
        assert "zebras" in EXTENDED[kind].pieces(EXTENDED[kind].encode("the zebras"))
    else:
        assert any(UNK in ids for ids in old)


@every_kind
def test_without_new_text_or_room_nothing_changes(kind):
    old = OLD[kind]
    assert old.extended([], 520).to_json() == old.to_json()
    for size in (0, len(old)):
        assert old.extended(NEW, size).to_json() == old.to_json()


@every_kind
def test_an_extended_tokenizer_is_saved_and_extended_again(kind):
    new = Tokenizer.from_json(EXTENDED[kind].to_json())
    again = new.extended(["quokka quokka quokka quokka"], 540)
    assert new.encode_batch(NEW) == EXTENDED[kind].encode_batch(NEW)
    assert list(again.piece_ids())[: len(new)] == list(new.piece_ids())
    assert again.decode(again.encode("quokka")) == "quokka"


@every_kind
def test_an_unknown_script_may_get_few_pieces(kind):
    for room in (1, 2, 3):
        new = OLD[kind].extended(["汉字汉"], len(OLD[kind]) + room)
        assert len(new) <= len(OLD[kind]) + room
        assert kind not in SUBWORDS or new.decode(new.encode("汉字汉")) == "汉字汉"


@subword_kind
def test_no_new_piece_contains_byte_tokens(kind):
    new = list(OLD[kind].extended(["汉字汉字汉字"] * 9, len(OLD[kind]) + 2).piece_ids())
    assert not any("<0x" in piece for piece in new[260:])


# Pieces and words


@every_kind
def test_every_piece_has_its_id(kind):
    tokenizer = TRAINED[kind]
    ids = tokenizer.piece_ids()
    assert list(ids.values()) == [*range(len(tokenizer))]
    assert tuple(ids)[:4] == NAMES
    assert tokenizer.kind == kind


@every_kind
def test_the_plain_text_of_a_piece_is_its_word(kind):
    tokenizer = TRAINED[kind]
    plain = [tokenizer.plain(id) for id in range(len(tokenizer))]
    assert plain[:4] == [""] * 4
    assert kind not in SUBWORDS or plain[4:260] == [""] * 256
    assert "," in plain
    assert not any("▁" in word for word in plain)
    assert ("नहीं" in plain) == (kind != "characters")
    for piece, id in tokenizer.piece_ids().items():
        if kind != "words" and piece[0].isalpha():
            assert plain[id] == ""


def test_merges_join_two_pieces():
    pieces = list(TRAINED["bpe"].piece_ids())
    merges = TRAINED["bpe"].merges()
    assert len(merges) > 100
    assert all(pieces[left] + pieces[right] == pieces[merged] for left, right, merged in merges)


# Errors


def test_an_unknown_kind_is_an_error_that_lists_the_kinds():
    with pytest.raises(UserError, match="'wordpiece'.*words, characters, bpe, unigram"):
        Tokenizer.train(SENTENCES, kind="wordpiece", size=700)


@every_kind
def test_an_empty_corpus_is_an_error(kind):
    with pytest.raises(UserError, match="no text"):
        Tokenizer.train(["", " \t", "\u200b"], kind=kind, size=700)


@pytest.mark.parametrize(("kind", "least"), [*zip(KINDS, (5, 5, 261, 261), strict=True)])
def test_too_small_a_size_is_refused_with_the_minimum(kind, least):
    with pytest.raises(UserError, match=f"{least - 1} is too small.*{least}"):
        Tokenizer.train(SENTENCES, kind=kind, size=least - 1)
    small = Tokenizer.train(SENTENCES, kind=kind, size=least)
    assert len(small) == least
    assert kind not in SUBWORDS or small.decode(small.encode("मेरी बहन")) == "मेरी बहन"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"version": "1.0"}'])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "target.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match="target.json"):
        Tokenizer.load(path)


def test_a_truncated_or_foreign_file_is_an_error(tmp_path):
    json_text = TRAINED["bpe"].to_json()
    for text in (json_text[: len(json_text) // 2], json_text.replace("<pad>", "<mask>")):
        with pytest.raises(UserError):
            Tokenizer.from_json(text)
    with pytest.raises(UserError, match="nowhere.json"):
        Tokenizer.load(tmp_path / "nowhere.json")


def test_control_bytes_become_white_space():
    tokenizer = Tokenizer.train(["hello world"], kind="bpe", size=300)
    ids = [4 + byte for byte in b"a\n\r\x00\tb"]
    assert tokenizer.decode(ids) == "a b"
