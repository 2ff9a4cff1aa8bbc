"""A translation as lines of output: plain, n-best, with columns, or JSON."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.insight.word_alignment import WordAttention

_UNSEEN = (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {code: f"\\u{code:04x}" for code in _UNSEEN}


@dataclass(frozen=True, kw_only=True)
class Style:
    """What is printed of each translation."""

    nbest: int = 1
    align: bool = False
    where: str = ""
    words: bool = False
    as_json: bool = False

    def check(self, *, paragraphs: bool) -> None:
        """Refuse what does not go together."""
        if self.where and not self.align:
            raise UserError("--where says what to align by: add --align")
        if paragraphs and self.nbest > 1:
            raise UserError("a paragraph has one translation: leave out --nbest or --paragraphs")
        if paragraphs and (self.align or self.words) and not self.as_json:
            raise UserError("--align and --words tell of sentences: with --paragraphs, add --json")


def written(
    translator: "Translator", number: int, text: str, said: "Translation", style: Style
) -> str:
    """One line's output."""
    everyone = (said, *said.others)
    if style.as_json:
        found = [facts(translator, text, one, style) for one in everyone]
        whole = {"line": number, "source": text, **found[0]}
        if style.nbest > 1:
            whole["nbest"] = found
        return _one_line(whole)
    return "\n".join("\t".join(_columns(translator, number, text, t, style)) for t in everyone)


def unsaid(number: int, text: str, why: str, style: Style) -> str:
    """The output of a line that could not be translated: as many columns, with nothing in them."""
    if style.as_json:
        found: dict[str, Any] = {"text": "", "score": None, "finished": False, "error": why}
        if style.nbest > 1:
            found["nbest"] = []
        return _one_line({"line": number, "source": text, **found})
    columns = [str(number), "", ""] if style.nbest > 1 else [""]
    return "\t".join([*columns, *[""] * (style.align + style.words)])


def _one_line(found: dict[str, Any]) -> str:
    """An object in one line, without anything that a terminal or a reader of lines acts on."""
    return json.dumps(found, ensure_ascii=False, allow_nan=False).translate(_ESCAPES)


def facts(translator: "Translator", text: str, said: "Translation", style: Style) -> dict[str, Any]:
    """A translation as JSON has it; a paragraph with the same of each sentence."""
    found: dict[str, Any] = {
        "text": said.text,
        "score": round(said.score, 6),
        "finished": said.finished,
    }
    if said.lost_placeholders:
        found["lost_placeholders"] = said.lost_placeholders
    if said.missing_terms:
        found["missing_terms"] = said.missing_terms
    if said.sentences:
        found["sentences"] = [
            {"source": source, **facts(translator, source, one, style)}
            for source, one in said.sentences
        ]
    elif reading := _read(translator, text, said, style):
        if style.words:
            found["words"] = [
                {"text": word.text, "confidence": round(word.confidence, 6)}
                for word in reading.words
            ]
        if style.align:
            found["alignment"] = reading.alignment
    return found


def _columns(
    translator: "Translator", number: int, text: str, said: "Translation", style: Style
) -> list[str]:
    """Number and score of an n-best, the text, then what was asked for of its words."""
    columns = [str(number), f"{said.score:.4f}"] if style.nbest > 1 else []
    columns.append(said.text)
    if reading := _read(translator, text, said, style):
        from dhyan.insight.word_alignment import pharaoh

        if style.align:
            columns.append(pharaoh(reading.alignment))
        if style.words:
            columns.append(" ".join(f"{word.confidence:.3f}" for word in reading.words))
    return columns


def _read(
    translator: "Translator", text: str, said: "Translation", style: Style
) -> "WordAttention | None":
    """A second pass over a translation, if anything is asked that needs one."""
    if not (style.align or style.words):
        return None
    from dhyan.insight.word_alignment import word_attention

    return word_attention(translator, text, said, attention=style.where)
