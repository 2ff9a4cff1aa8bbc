"""Language names in English, and language detection by script and known words.

A server can tell apart only the languages of its models: a word counts for a language if it is
written in the language's script, and twice as much if the model's vocabulary has it as one token.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dhyan.text.languages import Script, script_of
from dhyan.text.normalize import normalize

MAX_CHARACTERS = 5000  # of a text that are read
UNKNOWN_WORD = 0.5  # evidence of a word in the right script that the vocabulary does not have

LANGUAGE_NAMES = dict(
    line.strip().split(" ", 1)
    for line in """
    aa Afar
    ab Abkhazian
    ae Avestan
    af Afrikaans
    ak Akan
    am Amharic
    an Aragonese
    ar Arabic
    as Assamese
    av Avaric
    ay Aymara
    az Azerbaijani
    ba Bashkir
    be Belarusian
    bg Bulgarian
    bi Bislama
    bm Bambara
    bn Bengali
    bo Tibetan
    br Breton
    bs Bosnian
    ca Catalan
    ce Chechen
    ch Chamorro
    co Corsican
    cr Cree
    cs Czech
    cu Church Slavonic
    cv Chuvash
    cy Welsh
    da Danish
    de German
    dv Divehi
    dz Dzongkha
    ee Ewe
    el Greek
    en English
    eo Esperanto
    es Spanish
    et Estonian
    eu Basque
    fa Persian
    ff Fulah
    fi Finnish
    fj Fijian
    fo Faroese
    fr French
    fy Western Frisian
    ga Irish
    gd Scottish Gaelic
    gl Galician
    gn Guarani
    gu Gujarati
    gv Manx
    ha Hausa
    he Hebrew
    hi Hindi
    ho Hiri Motu
    hr Croatian
    ht Haitian Creole
    hu Hungarian
    hy Armenian
    hz Herero
    ia Interlingua
    id Indonesian
    ie Interlingue
    ig Igbo
    ii Sichuan Yi
    ik Inupiaq
    io Ido
    is Icelandic
    it Italian
    iu Inuktitut
    ja Japanese
    jv Javanese
    ka Georgian
    kg Kongo
    ki Kikuyu
    kj Kuanyama
    kk Kazakh
    kl Kalaallisut
    km Khmer
    kn Kannada
    ko Korean
    kr Kanuri
    ks Kashmiri
    ku Kurdish
    kv Komi
    kw Cornish
    ky Kyrgyz
    la Latin
    lb Luxembourgish
    lg Ganda
    li Limburgish
    ln Lingala
    lo Lao
    lt Lithuanian
    lu Luba-Katanga
    lv Latvian
    mg Malagasy
    mh Marshallese
    mi Maori
    mk Macedonian
    ml Malayalam
    mn Mongolian
    mr Marathi
    ms Malay
    mt Maltese
    my Burmese
    na Nauru
    nb Norwegian Bokmål
    nd North Ndebele
    ne Nepali
    ng Ndonga
    nl Dutch
    nn Norwegian Nynorsk
    no Norwegian
    nr South Ndebele
    nv Navajo
    ny Chichewa
    oc Occitan
    oj Ojibwa
    om Oromo
    or Odia
    os Ossetian
    pa Punjabi
    pi Pali
    pl Polish
    ps Pashto
    pt Portuguese
    qu Quechua
    rm Romansh
    rn Rundi
    ro Romanian
    ru Russian
    rw Kinyarwanda
    sa Sanskrit
    sc Sardinian
    sd Sindhi
    se Northern Sami
    sg Sango
    si Sinhala
    sk Slovak
    sl Slovenian
    sm Samoan
    sn Shona
    so Somali
    sq Albanian
    sr Serbian
    ss Swati
    st Southern Sotho
    su Sundanese
    sv Swedish
    sw Swahili
    ta Tamil
    te Telugu
    tg Tajik
    th Thai
    ti Tigrinya
    tk Turkmen
    tl Tagalog
    tn Tswana
    to Tongan
    tr Turkish
    ts Tsonga
    tt Tatar
    tw Twi
    ty Tahitian
    ug Uyghur
    uk Ukrainian
    ur Urdu
    uz Uzbek
    ve Venda
    vi Vietnamese
    vo Volapük
    wa Walloon
    wo Wolof
    xh Xhosa
    yi Yiddish
    yo Yoruba
    za Zhuang
    zh Chinese
    zu Zulu
    """.strip().splitlines()
)
"""English names of the languages that have an ISO 639-1 code"""


def language_name(code: str) -> str:
    """The English name of a language; the code itself if it has none in ISO 639-1."""
    return LANGUAGE_NAMES.get(code, code)


@dataclass(frozen=True)
class Detection:
    """A language that a text may be in, with a confidence from 0 to 100."""

    language: str
    confidence: float

    def as_json(self) -> dict[str, object]:
        """The object that LibreTranslate sends."""
        return {"confidence": self.confidence, "language": self.language}


def detect(text: str, vocabularies: Mapping[str, Sequence[Collection[str]]]) -> list[Detection]:
    """The languages of the vocabularies, the most likely first; equally likely ones in order.

    `vocabularies` has the case-folded words that each model knows of a language.
    """
    words = list(_words(text[:MAX_CHARACTERS]))
    detections = [
        Detection(language, _confidence(words, _script(language), own))
        for language, own in vocabularies.items()
    ]
    return sorted(detections, key=lambda detection: -detection.confidence)


def _confidence(
    words: list[str], script: Script | None, vocabularies: Sequence[Collection[str]]
) -> float:
    """The mean evidence of the words for a language, in percent."""
    evidence = 0.0
    for word in words:
        if script is None or script.letters.search(word):
            is_known = any(word in vocabulary for vocabulary in vocabularies)
            evidence += 1.0 if is_known else UNKNOWN_WORD
    return round(100 * evidence / len(words), 1) if words else 0.0


def _words(text: str) -> Iterator[str]:
    """Case-folded words without the digits and punctuation around them."""
    for token in normalize(text).casefold().split():
        positions = [at for at, character in enumerate(token) if _is_letter(character)]
        if positions:
            yield token[positions[0] : positions[-1] + 1]


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


@cache
def _script(language: str) -> Script | None:
    return script_of(language)
