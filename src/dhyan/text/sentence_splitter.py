"""Sentence splitting: the sentences of a paragraph, and the white space between them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_CLOSING = "”’»›)\\]}」』）】〉》"
_CLOSED = rf"(?:[ \t]+[{_CLOSING}]+(?!\S))?"  # a quote or bracket that closes after a space
_ENDS = re.compile(
    rf"[{_LINE_ENDS}]"
    rf"|(?:[।॥۔؟։።፧។။]+(?:[ \t]*\d+[ \t]*[।॥]+)?|[。！？｡．]+)[\"'{_CLOSING}]*{_CLOSED}"
    rf"|(?<![.!?…])(?P<stop>[.!?…]+)(?P<closed>[\"'“‘{_CLOSING}]*)(?=\s){_CLOSED}"
)
_WORD_CHARACTER = re.compile(r"[^\W_]")
_NEXT = re.compile(r"\s+[\"'“‘„«‹(\[{¿¡「『（*•–—-]*\s*(?P<word>\S*)")
_LAST = re.compile(r"[^\s\"'“‘„«‹(\[{「『（]*\Z")
_MAX_WORD = 40  # characters of a word that are examined

_BEFORE_NAMES = {  # what a name follows, so that no sentence ends there
    "en": "mr mrs ms dr prof st mt rev gen col maj capt lt sgt cpl gov messrs vs cf ca viz e.g i.e",
    "hi": "डॉ डा श्री सुश्री श्रीमती प्रो पं कु मो स्व सं पृ क्र रु लि जि कं न्या एड",
    "de": "hr fr dr prof st bzw ca evtl ggf inkl vgl zzgl nr abs bd sog",
    "fr": "m mm mme mlle dr pr st ste me cf env av bd",
    "es": "sr sra srta dr dra d dña ud uds lic ing gral cf av pág núm",
}
_BEFORE_NUMBERS = frozenset(
    "no nos fig figs p pp vol vols art sec ch eq ed nr op cl para jan feb mar apr jun jul aug sep "
    "sept oct nov dec".split()
)
_MAY_END = frozenset("etc inc ltd co corp jr sr bros dept est esp".split())
_STARTERS = frozenset(
    "the a an he she it they we you i this that these those there in on at but and so if when what "
    "who how why our his her its their my your no yes as for after then".split()
)
_ORDINALS = frozenset("cs da de et fi hr hu lv nb nn no sk sl".split())  # where 3. means third
_INITIALS = frozenset(  # the names of Latin letters in Hindi, less those that can end a sentence
    "ए बी सी डी ई एफ एच जे के एल एम एन ओ पी क्यू आर एस टी यू वी डब्ल्यू एक्स वाई जेड".split()
)
_PERHAPS_INITIALS = frozenset(("आई", "जी"))


@dataclass(frozen=True)
class Paragraph:
    """Sentences and the white space around them: gaps[i] precedes sentence i, the last gap ends it."""

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]

    def join(self, sentences: Sequence[str]) -> str:
        """The paragraph with other sentences, as many; with its own it is restored exactly.

        Where two stood together without a gap, as in Chinese, a space comes between them unless the
        first still ends in the same character.
        """
        if len(sentences) != len(self.sentences):
            raise ValueError(f"{len(sentences)} sentences for a text of {len(self.sentences)}")
        parts = [self.gaps[0]]
        for at, (sentence, original) in enumerate(zip(sentences, self.sentences, strict=True), 1):
            gap = self.gaps[at]
            together = not gap and at < len(self.sentences)
            parts += [sentence, " " if together and sentence[-1:] != original[-1:] else gap]
        return "".join(parts)


def split_sentences(paragraph: str, language: str = "") -> list[str]:
    """The sentences of a paragraph, without the white space around them."""
    return list(split_paragraph(paragraph, language).sentences)


def split_paragraph(paragraph: str, language: str = "") -> Paragraph:
    """The sentences of a text and the gaps between them; the language selects the abbreviations.

    A line's end ends a sentence, a danda or a Chinese stop does, and `.`, `!`, `?` or `…` before a
    space does unless it belongs to an abbreviation, an initial or a number.
    """
    sentences, gaps, gap = [], [], ""
    for start, stop in pairwise([0, *_ends(paragraph, language), len(paragraph)]):
        part = paragraph[start:stop]
        if sentence := part.strip():
            before = len(part) - len(part.lstrip())
            sentences.append(sentence)
            gaps.append(gap + part[:before])
            gap = part[before + len(sentence) :]
        else:
            gap += part
    return Paragraph(tuple(sentences), (*gaps, gap))


def _ends(text: str, language: str) -> list[int]:
    """The places behind which a new sentence begins; a part without words joins its neighbour."""
    stops, start_of_sentence = [], 0
    for match in _ENDS.finditer(text):
        if not match["stop"] or _ends_here(text, match, start_of_sentence, language):
            start_of_sentence = match.end()
            stops.append(start_of_sentence)
    has_words = [
        bool(_WORD_CHARACTER.search(text, start, stop))
        for start, stop in pairwise([0, *stops, len(text)])
    ]
    ends, any_words = [], False
    for stop, (before, after) in zip(stops, pairwise(has_words), strict=True):
        any_words |= before
        if any_words and after or text[stop - 1] in _LINE_ENDS:
            ends.append(stop)
            any_words = False
    return ends


def _ends_here(text: str, match: re.Match[str], start_of_sentence: int, language: str) -> bool:
    """Whether a full stop before a space ends its sentence."""
    stop, closed = match["stop"], match["closed"]
    after = _NEXT.match(text, match.end(), match.end() + 2 * _MAX_WORD)
    following = after["word"] if after else ""
    if not following:
        return True
    small = following[0].islower()
    if "!" in stop or "?" in stop:
        return not (small and closed)
    if small:
        return False
    if stop != ".":
        return not following[0].isalpha() or following[0].isupper()
    word = _LAST.search(text, max(start_of_sentence, match.start() - _MAX_WORD), match.start())
    before = word[0] if word else ""
    begins = match.start() - len(before)
    listed = begins - start_of_sentence < _MAX_WORD and not text[start_of_sentence:begins].strip()
    return not _is_abbreviation(before, following, listed=listed, language=language)


def _is_abbreviation(word: str, following: str, *, listed: bool, language: str) -> bool:
    """Whether the full stop after a word belongs to the word."""
    bare, number = word.lower(), word.isdecimal()
    return any(
        (
            listed
            and (len(word) == 1 or number and len(word) <= 3),  # "1." begins a line of a list
            number and len(word) <= 2 and language in _ORDINALS,
            bare in _abbreviations(language),
            bare in _BEFORE_NUMBERS and following[0].isdigit(),
            bare in _MAY_END and not following[0].isupper(),
            word in _INITIALS or word in _PERHAPS_INITIALS and following.endswith("."),
            _initials(word) and following.lower() not in _STARTERS,
        )
    )


@lru_cache
def _abbreviations(language: str) -> frozenset[str]:
    """Those of the language, if we know them, else the English and Hindi ones."""
    lists = [language] if language in _BEFORE_NAMES and language != "hi" else ["en", "hi"]
    return frozenset(word for code in lists for word in _BEFORE_NAMES[code].split())


def _initials(word: str) -> bool:
    """Whether this is one capital letter, or short parts with stops between: J, U.S, e.g, बी.ए."""
    parts = word.split(".")
    if len(parts) == 1:
        return len(word) == 1 and word.isupper()
    return all(0 < len(part) <= 2 and part[0].isalpha() for part in parts)
