"""What counts as a word when a corpus is described or bounded."""

import unicodedata


class _Spaces(dict[int, str]):
    """For str.translate: letters, digits, marks and joiners stay, all else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        inside = unicodedata.category(character)[0] in "LNM" or character in "\u200c\u200d"
        return self.setdefault(code, character if inside else " ")


_SPACES = _Spaces()


def words(text: str) -> list[str]:
    """The words of a text without its punctuation; a vowel sign or a joiner never ends one."""
    return text.translate(_SPACES).split()
