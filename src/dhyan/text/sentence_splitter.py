"""A paragraph cut into its sentences, with the gaps that put it together again."""

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
_SAID = re.compile(r"[^\W_]")
_NEXT = re.compile(r"\s+[\"'“‘„«‹(\[{¿¡「『（*•–—-]*\s*(?P<word>\S*)")
_LAST = re.compile(r"[^\s\"'“‘„«‹(\[{「『（]*\Z")
_LONG = 40  # letters that are looked at for a word

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
    """Sentences and the white space around them: gaps[i] comes before sentence i, one ends all."""

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]

    def join(self, sentences: Sequence[str]) -> str:
        """As many sentences in place of these; its own give the paragraph back exactly.

        Where two stood together without a gap, as in Chinese, a space comes between them unless the
        first still ends in the sign that parted them.
        """
        if len(sentences) != len(self.sentences):
            raise ValueError(f"{len(sentences)} sentences for a text of {len(self.sentences)}")
        parts = [self.gaps[0]]
        for at, (sentence, own) in enumerate(zip(sentences, self.sentences, strict=True), 1):
            gap = self.gaps[at]
            together = not gap and at < len(self.sentences)
            parts += [sentence, " " if together and sentence[-1:] != own[-1:] else gap]
        return "".join(parts)


def split(paragraph: str, language: str = "") -> list[str]:
    """The sentences of a paragraph, without the white space around them."""
    return list(cut(paragraph, language).sentences)


def cut(paragraph: str, language: str = "") -> Paragraph:
    """Cut a text after each sentence; the language (`en`, `hi`, …) says what is abbreviated how.

    A line's end ends a sentence, a danda or a Chinese stop does, and `.`, `!`, `?` or `…` before a
    space does if what stands around it allows.
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
    """The places behind which a new sentence begins; a part that says nothing joins another."""
    stops, begun = [], 0
    for match in _ENDS.finditer(text):
        if not match["stop"] or _ends_here(text, match, begun, language):
            begun = match.end()
            stops.append(begun)
    says = [
        bool(_SAID.search(text, start, stop)) for start, stop in pairwise([0, *stops, len(text)])
    ]
    ends, said = [], False
    for stop, (before, after) in zip(stops, pairwise(says), strict=True):
        said |= before
        if said and after or text[stop - 1] in _LINE_ENDS:
            ends.append(stop)
            said = False
    return ends


def _ends_here(text: str, match: re.Match[str], begun: int, language: str) -> bool:
    """Whether a stop before a space ends its sentence."""
    stop, closed = match["stop"], match["closed"]
    after = _NEXT.match(text, match.end(), match.end() + 2 * _LONG)
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
    word = _LAST.search(text, max(begun, match.start() - _LONG), match.start())
    before = word[0] if word else ""
    begins = match.start() - len(before)
    listed = begins - begun < _LONG and not text[begun:begins].strip()
    return not _shortened(before, following, listed=listed, language=language)


def _shortened(word: str, following: str, *, listed: bool, language: str) -> bool:
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
