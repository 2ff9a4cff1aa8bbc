"""Legacy encodings are guessed by trial decoding."""

from unicodedata import normalize

import pytest

from dhyan.data.read_pairs import read_pairs
from dhyan.errors import UserError
from dhyan.text.legacy_encodings import guess_encodings, utf16_byte_order

TEXTS = {  # encoding, language: sentences of our own
    ("WINDOWS-1252", "French"): "Où est le café ? Le garçon a mangé un gâteau à la crème.",
    ("WINDOWS-1252", "German"): "Der Bär läuft über die Straße und ärgert sich.",
    ("WINDOWS-1252", "Spanish"): "¿Dónde está el niño? Mañana será otro día.",
    ("WINDOWS-1252", "English"): "It’s “fine”, he said – naïve as ever.",
    ("CP1258", "Vietnamese"): "Hôm nay trời đẹp quá, chúng tôi đi dạo một vòng quanh hồ.",
    ("WINDOWS-1250", "Polish"): "Zażółć gęślą jaźń, proszę bardzo.",
    ("ISO-8859-2", "Czech"): "Kůň běžel přes louku a žádný člověk ho neviděl, šťastný den.",
    ("WINDOWS-1251", "Russian"): "Сегодня хорошая погода, и мы идём гулять.",
    ("KOI8-R", "Russian"): "Сегодня хорошая погода, и мы идём гулять.",
    ("WINDOWS-1253", "Greek"): "Σήμερα ο καιρός είναι καλός και πάμε βόλτα.",
    ("WINDOWS-1254", "Turkish"): "Bugün hava çok güzel, şimdi dışarı çıkıyoruz, değil mi?",
    ("WINDOWS-1256", "Arabic"): "الطقس جميل اليوم ونحن نذهب للمشي",
    ("GB18030", "Chinese"): "今天天气很好，我们在公园里散步，这是一个好的地方。",
    ("BIG5", "Chinese"): "今天天氣很好，我們在公園裡散步，這是一個好的地方。",
    ("CP932", "Japanese"): "今日は天気がいいので、私たちは公園を歩きます。",
    ("CP949", "Korean"): "오늘은 날씨가 좋아서 우리는 공원을 걷고 있습니다.",
}
MARKS = "\u0302\u0306\u031b"  # circumflex, breve and horn, which are part of the letters in CP1258


def encode(text, encoding):
    codec = encoding.replace("WINDOWS-", "cp")
    if encoding != "CP1258":
        return text.encode(codec)
    characters = []
    for character in normalize("NFC", text):
        base, *marks = normalize("NFD", character)
        letter = normalize("NFC", base + "".join(mark for mark in marks if mark in MARKS))
        characters.append(letter + "".join(mark for mark in marks if mark not in MARKS))
    return "".join(characters).encode(codec)


@pytest.mark.parametrize(("encoding", "language"), TEXTS)
def test_an_encoding_is_guessed_with_its_language(encoding, language):
    data = encode(TEXTS[encoding, language], encoding)
    assert str(guess_encodings(data)[0]) == f"{encoding} ({language})"


@pytest.mark.parametrize("data", [b"\x81", b"\xe0\xa4", b"\xc0\xaf", b"\xff\xff\xff", b""])
def test_bytes_that_are_no_text_give_no_guess(data):
    assert [guess.encoding for guess in guess_encodings(data)] in ([], ["WINDOWS-1252"])


def test_the_language_of_the_file_name_decides_between_equals():
    data = "é è ê".encode("cp1252")
    assert guess_encodings(data)[0].language == "fr"
    assert guess_encodings(data, "vi")[0].encoding == "CP1258"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text", ["Hello there\n", "Xin chào các bạn\n", "आज मौसम अच्छा है\nहम टहलने जा रहे हैं\n" * 3]
)
def test_utf16_without_a_mark_is_recognised(encoding, text):
    expected = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    assert utf16_byte_order(text.encode(encoding)) == expected


@pytest.mark.parametrize("data", [b"", b"plain\n", b"a\0b and more text\n", bytes(range(256)) * 4])
def test_other_bytes_are_not_utf16(data):
    assert utf16_byte_order(data) == ""


@pytest.mark.parametrize(
    ("name", "data", "command"),
    [
        ("a.vi", encode(TEXTS["CP1258", "Vietnamese"], "CP1258"), "iconv -f CP1258 -t UTF-8"),
        ("a.txt", encode(TEXTS["CP1258", "Vietnamese"], "CP1258"), "iconv -f CP1258 -t UTF-8"),
        (
            "a.de",
            TEXTS["WINDOWS-1252", "German"].encode("latin-1"),
            "iconv -f WINDOWS-1252 -t UTF-8",
        ),
        ("a.hi", "आज मौसम अच्छा है\nहम टहलने जा रहे हैं\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
        ("a.hi", "मौसम\nहम टहलने जा रहे हैं\n".encode("utf-16-le") * 3, "iconv -f UTF-16LE -t UTF-8"),
    ],
)
def test_the_error_names_the_command_that_converts_the_file(tmp_path, name, data, command):
    (tmp_path / name).write_bytes(data + b"\n")
    (tmp_path / "a.en").write_text("one\n" * 7, encoding="utf-8")
    with pytest.raises(UserError, match=rf"{name}:1: .*`{command}`"):
        list(read_pairs(tmp_path / "a.en", tmp_path / name))
