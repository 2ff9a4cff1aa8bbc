"""Legacy encodings: guess the encoding of a text that is not UTF-8, by trial decoding.

A decoding is plausible for a language if its characters beyond ASCII are letters of that language,
where such letters stand in words. Vietnamese in CP1258, for example, becomes letters with two
marks that only Vietnamese has; read as Windows-1252 it becomes letters that no language combines.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from unicodedata import category
from unicodedata import normalize as unicode_form

from dhyan.text.languages import LANGUAGE_NAMES

MIN_SCORE = 0.8  # share of the characters beyond ASCII that the language has
NEAR_BEST = 0.1  # other guesses are named if their score is so near to that of the best
FILE_NAME_BONUS = 0.25  # for the language that the file name ends in
MAX_GUESSES = 2
MIN_ZEROS = 0.25  # share of zero bytes in UTF-16, if the text is mostly Latin
BLOCK_SHARE, MIN_BLOCK_BYTES = 0.8, 40  # of UTF-16 in another script: one high byte, and zero
TYPOGRAPHY = set("“”‘’„‚«»‹›–—…•·°©®™§€£¥½¼¾²³¿¡ªº×÷±\u00a0।、。，！？：；（）「」《》“”・")

_LETTERS = {  # beyond ASCII, in lower case, of languages written in Latin
    "en": "éï",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "de": "äöüß",
    "es": "áéíñóúü",
    "pt": "áâãàçéêíóôõúü",
    "it": "àèéìíòóùú",
    "sv": "åäöé",
    "da": "æøåé",
    "nl": "éëïóöüèáê",
    "is": "áðéíóúýþæö",
    "ca": "àçèéíïòóúü",
    "vi": "àáảãạăằắẳẵặâầấẩẫậđèéẻẽẹêềếểễệìíỉĩịòóỏõọôồốổỗộơờớởỡợùúủũụưừứửữựỳýỷỹỵ",
    "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž",
    "sk": "áäčďéíĺľňóôŕšťúýž",
    "hu": "áéíóöőúüű",
    "ro": "ăâîșțşţ",
    "hr": "čćđšž",
    "tr": "çğıöşüâîû",
    "lt": "ąčęėįšųūž",
    "lv": "āčēģīķļņšūž",
    "et": "äõöüšž",
}
_SCRIPTS = {  # the letters of a language that is not written in Latin, and its common letters
    "ru": ("[а-яё]", "[оеаинтсрвл]"),
    "uk": ("[а-щьюяґєії]", "[оаниівтерс]"),
    "el": ("[α-ωάέήίόύώϊϋΐΰς]", "[αοιετσνηυρ]"),
    "he": (r"[א-ת\u05b0-\u05c7]", "[יוהלאתרמבש]"),
    "ar": (r"[\u0621-\u0652\u0660-\u0669\u06af\u067e\u0686\u0698،؛؟]", "[النيومرتبة]"),
    "th": (r"[\u0e01-\u0e5b]", "[านรกอเงมยลวดที่้]"),
    "zh": (
        r"[\u4e00-\u9fff]",
        "[的一是不了在人有我他这這个個们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而子那得于"
        "着下自之年过過发發后後作里裡]",
    ),
    "ja": (r"[\u3040-\u30ff\u4e00-\u9fff]", r"[\u3041-\u3096]"),
    "ko": (r"[\uac00-\ud7a3]", "[이다는을에가의고하지한은기로를사]"),
}
_COMMON_SHARE = {"zh": 0.15, "ja": 0.3, "ko": 0.15}  # of the characters; 0.5 in alphabets
MIN_LETTERS = 4  # of another script, before a few bytes are taken for it


@dataclass(frozen=True)
class LegacyEncoding:
    """An encoding by its names in iconv and in Python, and the languages written in it."""

    name: str
    codec: str
    languages: tuple[str, ...]


ENCODINGS = tuple(
    LegacyEncoding(name, codec, tuple(languages.split()))
    for name, codec, languages in (
        ("WINDOWS-1252", "cp1252", "en fr de es pt it sv da nl is ca"),
        ("CP1258", "cp1258", "vi"),
        ("WINDOWS-1250", "cp1250", "pl cs sk hu ro hr"),
        ("ISO-8859-2", "iso8859_2", "pl cs sk hu ro hr"),
        ("WINDOWS-1251", "cp1251", "ru uk"),
        ("KOI8-R", "koi8_r", "ru"),
        ("WINDOWS-1253", "cp1253", "el"),
        ("WINDOWS-1254", "cp1254", "tr"),
        ("WINDOWS-1255", "cp1255", "he"),
        ("WINDOWS-1256", "cp1256", "ar"),
        ("WINDOWS-1257", "cp1257", "lt lv et"),
        ("CP874", "cp874", "th"),
        ("GB18030", "gb18030", "zh"),
        ("BIG5", "big5", "zh"),
        ("CP932", "cp932", "ja"),
        ("EUC-JP", "euc_jp", "ja"),
        ("CP949", "cp949", "ko"),
    )
)


@dataclass(frozen=True)
class Guess:
    """An encoding a text may be in, with the language that makes it plausible."""

    encoding: str
    language: str
    score: float
    text: str

    def __str__(self) -> str:
        return f"{self.encoding} ({LANGUAGE_NAMES[self.language]})"


def guess_encodings(data: bytes, language: str = "") -> list[Guess]:
    """The legacy encodings that a text is likely to be in, the likeliest first; none if unclear.

    `language` is that of the file name, where it is known. Encodings that decode the text to the
    same characters are named once.
    """
    guesses = sorted(_guesses(data, language), key=lambda guess: -guess.score)
    likely: dict[str, Guess] = {}
    for guess in guesses:
        if guess.score >= max(MIN_SCORE, guesses[0].score - NEAR_BEST):
            likely.setdefault(guess.text, guess)
    return list(likely.values())[:MAX_GUESSES]


def _guesses(data: bytes, language: str) -> Iterator[Guess]:
    for encoding in ENCODINGS:
        try:
            text = unicode_form("NFC", data.decode(encoding.codec))
        except UnicodeDecodeError:
            continue
        for candidate in encoding.languages:
            score = _plausibility(text, candidate)
            if score >= MIN_SCORE and candidate == language:
                score += FILE_NAME_BONUS
            yield Guess(encoding.name, candidate, score, text)


def _plausibility(text: str, language: str) -> float:
    """How well the characters beyond ASCII suit the language, from 0 to 1."""
    words = [
        (before, character)
        for before, character in zip(f" {text}", text, strict=False)
        if not character.isascii() and character not in TYPOGRAPHY
    ]
    if letters := _LETTERS.get(language):
        suitable = sum(
            character.lower() in letters and not (character.isupper() and before.islower())
            for before, character in words
        )
        return suitable / len(words) if words else MIN_SCORE  # quotes and dashes suit any language
    if len(words) < MIN_LETTERS:
        return 0.0
    script, common = map(re.compile, _SCRIPTS[language])
    in_script = sum(
        bool(script.fullmatch(character.lower())) and not (before.isascii() and before.isalpha())
        for before, character in words
    )
    common_share = sum(bool(common.fullmatch(character)) for _, character in words) / len(words)
    expected = _COMMON_SHARE.get(language, 0.5)
    return 0.5 * in_script / len(words) + 0.5 * min(1.0, common_share / expected)


def utf16_byte_order(data: bytes) -> str:
    """`UTF-16LE` or `UTF-16BE` if the start of a file is UTF-16 without a mark, else nothing.

    Spaces and newlines have a zero byte, all on the same side; the letters of a script have few
    different bytes on that side.
    """
    data = data[: len(data) // 2 * 2]
    even, odd = data[::2].count(0), data[1::2].count(0)
    if not even + odd or max(even, odd) < 0.9 * (even + odd):
        return ""
    high = Counter(data[1::2] if odd > even else data[::2])
    block = sum(count for _, count in high.most_common(2))
    if even + odd < MIN_ZEROS * len(data) and (
        block < BLOCK_SHARE * high.total() or len(data) < MIN_BLOCK_BYTES
    ):
        return ""
    name = "UTF-16LE" if odd > even else "UTF-16BE"
    text = data.decode(name, "replace").rstrip("\ufffd")  # the end may be half a surrogate pair
    strange = sum(category(c)[0] == "C" and c not in "\t\r\n\u200c\u200d" for c in text)
    return name if strange <= 0.02 * len(text) and {" ", "\n"} & set(text) else ""
