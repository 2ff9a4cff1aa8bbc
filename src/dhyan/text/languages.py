"""Languages: ISO 639 codes, names, and the Unicode script each is written in."""

import re
from dataclasses import dataclass
from pathlib import Path

from dhyan.errors import UserError
from dhyan.text.compressed_files import OPENERS

LANGUAGES = set(
    "af ar as az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id "
    "is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru sa "
    "sd si sk sl sq sr sv sw ta te tg th tk tl tr uk ur uz vi xh yo zh zu".split()
)
LONG_CODES = {
    "ara": "ar", "ben": "bn", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "eng": "en",
    "fas": "fa", "fin": "fi", "fra": "fr", "guj": "gu", "heb": "he", "hin": "hi", "hun": "hu",
    "ind": "id", "ita": "it", "jpn": "ja", "kan": "kn", "kor": "ko", "mal": "ml", "mar": "mr",
    "nep": "ne", "nld": "nl", "nor": "no", "pan": "pa", "pol": "pl", "por": "pt", "ron": "ro",
    "rus": "ru", "spa": "es", "swe": "sv", "tam": "ta", "tel": "te", "tha": "th", "tur": "tr",
    "ukr": "uk", "urd": "ur", "vie": "vi", "zho": "zh",
}  # fmt: skip
LANGUAGE_NAMES = dict(  # in English, of every ISO 639-1 code
    entry.split(" ", 1)
    for entry in (
        "aa Afar, ab Abkhazian, ae Avestan, af Afrikaans, ak Akan, am Amharic, an Aragonese, "
        "ar Arabic, as Assamese, av Avaric, ay Aymara, az Azerbaijani, ba Bashkir, be Belarusian, "
        "bg Bulgarian, bi Bislama, bm Bambara, bn Bengali, bo Tibetan, br Breton, bs Bosnian, "
        "ca Catalan, ce Chechen, ch Chamorro, co Corsican, cr Cree, cs Czech, cu Church Slavonic, "
        "cv Chuvash, cy Welsh, da Danish, de German, dv Divehi, dz Dzongkha, ee Ewe, el Greek, "
        "en English, eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, ff Fulah, "
        "fi Finnish, fj Fijian, fo Faroese, fr French, fy Western Frisian, ga Irish, "
        "gd Scottish Gaelic, gl Galician, gn Guarani, gu Gujarati, gv Manx, ha Hausa, he Hebrew, "
        "hi Hindi, ho Hiri Motu, hr Croatian, ht Haitian Creole, hu Hungarian, hy Armenian, "
        "hz Herero, ia Interlingua, id Indonesian, ie Interlingue, ig Igbo, ii Sichuan Yi, "
        "ik Inupiaq, io Ido, is Icelandic, it Italian, iu Inuktitut, ja Japanese, jv Javanese, "
        "ka Georgian, kg Kongo, ki Kikuyu, kj Kuanyama, kk Kazakh, kl Kalaallisut, km Khmer, "
        "kn Kannada, ko Korean, kr Kanuri, ks Kashmiri, ku Kurdish, kv Komi, kw Cornish, ky Kyrgyz, "
        "la Latin, lb Luxembourgish, lg Ganda, li Limburgish, ln Lingala, lo Lao, lt Lithuanian, "
        "lu Luba-Katanga, lv Latvian, mg Malagasy, mh Marshallese, mi Maori, mk Macedonian, "
        "ml Malayalam, mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, na Nauru, "
        "nb Norwegian Bokmål, nd North Ndebele, ne Nepali, ng Ndonga, nl Dutch, "
        "nn Norwegian Nynorsk, no Norwegian, nr South Ndebele, nv Navajo, ny Chichewa, oc Occitan, "
        "oj Ojibwa, om Oromo, or Odia, os Ossetian, pa Punjabi, pi Pali, pl Polish, ps Pashto, "
        "pt Portuguese, qu Quechua, rm Romansh, rn Rundi, ro Romanian, ru Russian, rw Kinyarwanda, "
        "sa Sanskrit, sc Sardinian, sd Sindhi, se Northern Sami, sg Sango, si Sinhala, sk Slovak, "
        "sl Slovenian, sm Samoan, sn Shona, so Somali, sq Albanian, sr Serbian, ss Swati, "
        "st Southern Sotho, su Sundanese, sv Swedish, sw Swahili, ta Tamil, te Telugu, tg Tajik, "
        "th Thai, ti Tigrinya, tk Turkmen, tl Tagalog, tn Tswana, to Tongan, tr Turkish, ts Tsonga, "
        "tt Tatar, tw Twi, ty Tahitian, ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, ve Venda, "
        "vi Vietnamese, vo Volapük, wa Walloon, wo Wolof, xh Xhosa, yi Yiddish, yo Yoruba, "
        "za Zhuang, zh Chinese, zu Zulu"
    ).split(", ")
)
OWN_NAMES = {  # what speakers call their language, of languages with much parallel text
    "ar": "العربية", "bn": "বাংলা", "cs": "čeština", "da": "dansk", "de": "Deutsch", "el": "ελληνικά",
    "es": "español", "fa": "فارسی", "fi": "suomi", "fr": "français", "gu": "ગુજરાતી", "he": "עברית",
    "hi": "हिन्दी", "hu": "magyar", "id": "Bahasa Indonesia", "it": "italiano", "ja": "日本語",
    "kn": "ಕನ್ನಡ", "ko": "한국어", "ml": "മലയാളം", "mr": "मराठी", "ne": "नेपाली", "nl": "Nederlands",
    "no": "norsk", "pa": "ਪੰਜਾਬੀ", "pl": "polski", "pt": "português", "ro": "română",
    "ru": "русский", "sv": "svenska", "ta": "தமிழ்", "te": "తెలుగు", "th": "ไทย", "tr": "Türkçe",
    "uk": "українська", "ur": "اردو", "vi": "Tiếng Việt", "zh": "中文",
}  # fmt: skip
UNDETERMINED = "und"  # the code of BCP 47 for a language that is not known
_LATIN = r"A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_CYRILLIC, _ARABIC = r"\u0400-\u052f", r"\u0600-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SCRIPTS = {  # the letters of each, and the languages that are written in it alone
    "Latin": (_LATIN, "af ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it lt lv ms nb nl "
              "nn no pl pt ro sk sl sq sv sw tl tr vi xh yo zu"),
    "Devanagari": (r"\u0900-\u097f\ua8e0-\ua8ff", "hi mr ne sa"),
    "Bengali": (r"\u0980-\u09ff", "as bn"),
    "Gurmukhi": (r"\u0a00-\u0a7f", "pa"),
    "Gujarati": (r"\u0a80-\u0aff", "gu"),
    "Odia": (r"\u0b00-\u0b7f", "or"),
    "Tamil": (r"\u0b80-\u0bff", "ta"),
    "Telugu": (r"\u0c00-\u0c7f", "te"),
    "Kannada": (r"\u0c80-\u0cff", "kn"),
    "Malayalam": (r"\u0d00-\u0d7f", "ml"),
    "Sinhala": (r"\u0d80-\u0dff", "si"),
    "Thai": (r"\u0e00-\u0e7f", "th"),
    "Lao": (r"\u0e80-\u0eff", "lo"),
    "Burmese": (r"\u1000-\u109f", "my"),
    "Georgian": (r"\u10a0-\u10ff\u1c90-\u1cbf", "ka"),
    "Khmer": (r"\u1780-\u17ff", "km"),
    "Greek": (r"\u0370-\u03ff\u1f00-\u1fff", "el"),
    "Cyrillic": (_CYRILLIC, "be bg ky mk ru tg uk"),
    "Armenian": (r"\u0530-\u058f", "hy"),
    "Hebrew": (r"\u0590-\u05ff", "he"),
    "Arabic": (_ARABIC, "ar fa ps ur"),
    "Chinese": (_HAN, "zh"),
    "Japanese": (rf"\u3040-\u30ff{_HAN}", "ja"),
    "Korean": (r"\u1100-\u11ff\uac00-\ud7af", "ko"),
}  # fmt: skip
# Combining marks, which `re` does not count as letters.
_COMBINING = r"\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_LANGUAGE_TAG = re.compile(r"([A-Za-z]{2,3})([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|\d{3}))?")
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_COMBINING}])")


def language_of(file: str) -> str:
    """The language a file name ends in, as in `train.hi.xz`, or nothing."""
    suffixes = [suffix for suffix in Path(file).suffixes if suffix not in OPENERS]
    code = suffixes[-1][1:] if suffixes else ""
    code = LONG_CODES.get(code, code)
    return code if code in LANGUAGES else ""


def parse_language(text: str) -> str:
    """The language of a code (`hi`, `EN`, `zh-CN`, `hin`), or a UserError."""
    code = text.lower().partition("-")[0]
    code = LONG_CODES.get(code, code)
    if code and code not in LANGUAGE_NAMES:
        raise UserError(
            f"language {text!r} is not known here: give a code such as 'hi', 'en' or 'de'"
        )
    return code


def language_code(tag: str) -> str:
    """The language of a tag such as `vi`, `EN`, `pt-BR` or `eng_Latn`, or nothing."""
    match = _LANGUAGE_TAG.fullmatch(tag)
    code = match[1].lower() if match else ""
    return LONG_CODES.get(code, code if code in LANGUAGE_NAMES else "")


def language_named(name: str) -> str:
    """The code of a language by its English name or its own (`Vietnamese`, `tiếng việt`), or ""."""
    return _CODES_BY_NAME.get(name.casefold(), "")


_CODES_BY_NAME = {
    **{name.casefold(): code for code, name in LANGUAGE_NAMES.items()},
    **{name.casefold(): code for code, name in OWN_NAMES.items()},
    "हिंदी": "hi",
}


@dataclass(frozen=True)
class Script:
    """The letters that a language is written in."""

    name: str
    letters: re.Pattern[str]

    def is_missing(self, text: str) -> bool:
        """Whether a text has words, but no letter of this script."""
        return not self.letters.search(text) and bool(_WORD.search(text))


def script_of(language: str) -> Script | None:
    """The script of a language, if it is known and the language has only one."""
    for name, (letters, languages) in _SCRIPTS.items():
        if language in languages.split():
            return Script(name, re.compile(f"[{letters}]"))
    return None
