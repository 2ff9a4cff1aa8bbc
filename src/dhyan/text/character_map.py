"""SentencePiece's normalisation rules: a double-array trie of texts and their replacements."""

from array import array
from functools import lru_cache

from dhyan.errors import UserError

MAX_MAP_BYTES = 4 * 2**20
MAX_REPLACEMENT_BYTES = 64
CACHED = 2**16
LEAF = 1 << 31  # marks a unit that holds a value


class CharacterMap:
    """Replaces, from left to right, the longest text that has a rule.

    The rules are as SentencePiece stores them: the size of a Darts-clone double array, the array
    over UTF-8 bytes, and the replacements, each ended by a zero byte.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_MAP_BYTES:
            raise UserError(f"its normalisation rules have more than {MAX_MAP_BYTES:,} bytes")
        size = int.from_bytes(data[:4], "little")
        if data and (size % 4 or not 0 < size <= len(data) - 4):
            raise UserError("its normalisation rules are damaged: their trie does not fit")
        self.data = data
        self._replacements = data[4 + size :]
        longest = max(map(len, self._replacements.split(b"\0")))
        if longest > MAX_REPLACEMENT_BYTES:
            raise UserError(f"its normalisation rules write {longest} bytes for a character")
        self._units = array("I", data[4 : 4 + size])
        self._first_rule = lru_cache(CACHED)(self._walk)

    def __call__(self, text: str) -> str:
        """The text with every rule applied once."""
        if not self.data:
            return text
        parts, at = [], 0
        while at < len(text):
            replacement, length, goes_on = self._first_rule(text[at : at + 2])
            if goes_on:
                replacement, length, _ = self._walk(text[at : at + MAX_REPLACEMENT_BYTES])
            parts.append(replacement)
            at += length
        return "".join(parts)

    def _walk(self, text: str) -> tuple[str, int, bool]:
        """The first rule of a text: what replaces it, of how many characters, and if more may."""
        units = self._units
        replacement, length = text[0], 1
        node = _offset(units[0])
        for count, character in enumerate(text, start=1):
            for byte in character.encode("utf-8", "replace"):
                node ^= byte
                if node >= len(units) or units[node] & (LEAF | 0xFF) != byte:
                    return replacement, length, False
                unit = units[node]
                node ^= _offset(unit)
            if unit >> 8 & 1 and node < len(units):
                replacement, length = self._text(units[node] & ~LEAF), count
        return replacement, length, True

    def _text(self, start: int) -> str:
        stop = self._replacements.find(b"\0", start)
        return self._replacements[start : max(stop, start)].decode("utf-8", "replace")


def _offset(unit: int) -> int:
    """The distance from a unit of the array to its children."""
    return (unit >> 10) << ((unit & 1 << 9) >> 6)
