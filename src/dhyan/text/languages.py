"""Languages by their codes, as file names and command lines give them."""

from pathlib import Path

from dhyan.errors import UserError

PACKED = {".gz", ".xz", ".zst"}
LANGUAGES = set(
    "af ar as az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id "
    "is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru sa "
    "sd si sk sl sq sr sv sw ta te tg th tk tl tr uk ur uz vi xh yo zh zu".split()
)
LONG_CODES = {
    "ben": "bn", "deu": "de", "eng": "en", "fra": "fr", "hin": "hi", "jpn": "ja", "mar": "mr",
    "rus": "ru", "spa": "es", "tam": "ta", "tel": "te", "urd": "ur", "vie": "vi", "zho": "zh",
}  # fmt: skip


def language_of(file: str) -> str:
    """The language a file name ends in, as in `train.hi.xz`, or nothing."""
    suffixes = [s for s in Path(file).suffixes if s not in PACKED]
    code = suffixes[-1][1:] if suffixes else ""
    code = LONG_CODES.get(code, code)
    return code if code in LANGUAGES else ""


def parse_language(text: str) -> str:
    """A code as a person writes it (`hi`, `EN`, `zh-CN`, `hin`), or a fault."""
    code = text.lower().partition("-")[0]
    code = LONG_CODES.get(code, code)
    if code and code not in LANGUAGES:
        raise UserError(
            f"language {text!r} is not known here: give a code such as 'hi', 'en' or 'de'"
        )
    return code
