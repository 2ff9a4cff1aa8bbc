"""Translations as lines of output: text, n-best, with columns, or JSON."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.insight.word_alignment import WordAttention

_CONTROL_CODES = (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {code: f"\\u{code:04x}" for code in _CONTROL_CODES}


@dataclass(frozen=True, kw_only=True)
class OutputStyle:
    """What is printed of each translation."""

    nbest: int = 1
    align: bool = False
    attention: str = ""
    words: bool = False
    as_json: bool = False

    def check(self, *, paragraphs: bool) -> None:
        """Raise an error for options that exclude each other."""
        if self.attention and not self.align:
            raise UserError("--attention chooses the maps to align by; add --align")
        if paragraphs and self.nbest > 1:
            raise UserError("a paragraph has one translation; leave out --nbest or --paragraphs")
        if paragraphs and (self.align or self.words) and not self.as_json:
            raise UserError("--align and --words describe sentences; with --paragraphs, add --json")


def format_translation(
    translator: "Translator", number: int, text: str, translation: "Translation", style: OutputStyle
) -> str:
    """The output of an input line."""
    nbest = (translation, *translation.others)
    if style.as_json:
        items = [translation_json(translator, text, item, style) for item in nbest]
        record = {"line": number, "source": text, **items[0]}
        if style.nbest > 1:
            record["nbest"] = items
        return _json_line(record)
    return "\n".join("\t".join(_columns(translator, number, text, item, style)) for item in nbest)


def format_failure(number: int, text: str, problem: str, style: OutputStyle) -> str:
    """The output of a line that could not be translated: the same columns, empty."""
    if style.as_json:
        record: dict[str, Any] = {"text": "", "score": None, "finished": False, "error": problem}
        if style.nbest > 1:
            record["nbest"] = []
        return _json_line({"line": number, "source": text, **record})
    columns = [str(number), "", ""] if style.nbest > 1 else [""]
    return "\t".join([*columns, *[""] * (style.align + style.words)])


def _json_line(record: dict[str, Any]) -> str:
    """JSON in one line; control characters and line separators are escaped."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_ESCAPES)


def translation_json(
    translator: "Translator", text: str, translation: "Translation", style: OutputStyle
) -> dict[str, Any]:
    """The JSON object of a translation; of a paragraph, with those of its sentences."""
    record: dict[str, Any] = {
        "text": translation.text,
        "score": round(translation.score, 6),
        "finished": translation.finished,
    }
    if translation.lost_placeholders:
        record["lost_placeholders"] = translation.lost_placeholders
    if translation.missing_terms:
        record["missing_terms"] = translation.missing_terms
    if translation.sentences:
        record["sentences"] = [
            {"source": source, **translation_json(translator, source, sentence, style)}
            for source, sentence in translation.sentences
        ]
    elif alignment := _word_attention(translator, text, translation, style):
        if style.words:
            record["words"] = [
                {"text": word.text, "confidence": round(word.confidence, 6)}
                for word in alignment.words
            ]
        if style.align:
            record["alignment"] = alignment.alignment
    return record


def _columns(
    translator: "Translator", number: int, text: str, translation: "Translation", style: OutputStyle
) -> list[str]:
    """With n-best number and score; the text; alignments and word probabilities if requested."""
    columns = [str(number), f"{translation.score:.4f}"] if style.nbest > 1 else []
    columns.append(translation.text)
    if alignment := _word_attention(translator, text, translation, style):
        from dhyan.insight.word_alignment import pharaoh

        if style.align:
            columns.append(pharaoh(alignment.alignment))
        if style.words:
            columns.append(" ".join(f"{word.confidence:.3f}" for word in alignment.words))
    return columns


def _word_attention(
    translator: "Translator", text: str, translation: "Translation", style: OutputStyle
) -> "WordAttention | None":
    """A second pass over a translation, if alignments or word probabilities are requested."""
    if not (style.align or style.words):
        return None
    from dhyan.insight.word_alignment import word_attention

    return word_attention(translator, text, translation, attention=style.attention)
