"""Tokenizers: words, characters, BPE, or a unigram language model; text to token ids and back."""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from unicodedata import category

from tokenizers import Tokenizer as Backend

from dhyan.errors import UserError
from dhyan.safe_io.bounded_files import read_file
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from dhyan.text import symbols
from dhyan.text.bpe import read_bpe, train_bpe
from dhyan.text.normalize import normalize
from dhyan.text.pretokenization import (
    BYTE_TOKENS,
    FIXED_TOKENS,
    WORD_MARK,
    WORD_SPLIT,
    add_pre_tokenizer,
    by_frequency,
    count_words,
    frequent_characters,
)
from dhyan.text.safe_tokenizer import (
    MAX_BYTES,
    MAX_PIECES,
    count_pieces,
    decode_file,
    read_sentencepiece,
    read_symbols,
)
from dhyan.text.segmenter import Segmenter, TrainedSegmenter, table
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.unigram import train_unigram

KINDS = ("words", "characters", "bpe", "unigram")  # of text, that can be trained

_JOINER_NAMES = {"\u200c": "⟨ZWNJ⟩", "\u200d": "⟨ZWJ⟩"}


@dataclass(frozen=True)
class Word:
    """A word and the positions of its ids: from `first` up to, not including, `last`."""

    text: str
    first: int
    last: int


class Tokenizer:
    """A vocabulary whose first ids are the special tokens; a piece that begins a word has a `▁`."""

    def __init__(self, segmenter: Segmenter) -> None:
        ids = segmenter.vocabulary()
        self._segmenter = segmenter
        self._pieces = sorted(ids, key=ids.__getitem__)
        self._bytes = {ids[name]: bytes([i]) for i, name in enumerate(BYTE_TOKENS) if name in ids}
        self._languages = {ids[language] for language in self.languages}
        self._word_level = segmenter.kind == "words"
        if self._word_level:  # an unknown word is written with a space before it
            self._pieces[UNK] = WORD_MARK + NAMES[UNK]

    @classmethod
    def train(cls, sentences: Iterable[str], *, kind: str, size: int) -> "Tokenizer":
        """Train a vocabulary of at most `size` pieces, special tokens and bytes included."""
        if kind not in (*KINDS, *symbols.KINDS):
            known = ", ".join((*KINDS, *symbols.KINDS))
            raise UserError(f"no tokenizer is called {kind!r}: choose one of {known}")
        min_size = 1 + len(FIXED_TOKENS if kind in ("bpe", "unigram") else NAMES)
        if size < min_size:
            raise UserError(
                f"size {size} is too small a vocabulary for {kind}: give at least {min_size}"
            )
        if size > MAX_PIECES:
            raise UserError(f"size {size} is too large a vocabulary: give at most {MAX_PIECES}")
        if kind in symbols.KINDS:
            return cls._train_symbols(sentences, kind=kind, size=size)
        texts = [normalize(sentence) for sentence in sentences]
        counts = count_words(texts)
        if not counts:
            raise UserError(
                "no text to train a vocabulary on: give at least one sentence with words"
            )
        match kind:
            case "words":
                backend = Backend(table([*NAMES, *by_frequency(counts)[: size - len(NAMES)]]))
            case "characters":
                backend = Backend(table([*NAMES, *frequent_characters(counts, size - len(NAMES))]))
            case "bpe":
                backend = Backend(train_bpe(texts, counts, size - len(FIXED_TOKENS)))
            case _:
                backend = Backend(train_unigram(counts, size - len(FIXED_TOKENS)))
        return cls(TrainedSegmenter(add_pre_tokenizer(backend, kind)))

    @classmethod
    def _train_symbols(cls, sentences: Iterable[str], *, kind: str, size: int) -> "Tokenizer":
        """A table of the symbols or labels of these lines."""
        symbol_kind: symbols.SymbolKind = "labels" if kind == "labels" else "symbols"
        counts = symbols.SymbolTable(symbol_kind, NAMES).count(sentences)
        for name in NAMES:
            counts.pop(name, None)
        if not counts:
            raise UserError("no symbols to make a table of: give at least one line")
        if longest := [symbol for symbol in counts if len(symbol) > symbols.MAX_SYMBOL]:
            raise UserError(f"{longest[0][:60]!r}… has more than {symbols.MAX_SYMBOL} characters")
        return cls(symbols.SymbolTable.train(symbol_kind, counts, size))

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """The tokenizer of a JSON text that `to_json` wrote; any other is refused."""
        count_pieces(text)
        try:
            segmenter = read_sentencepiece(text) or read_symbols(text)
            return cls(segmenter or TrainedSegmenter(Backend.from_str(text)))
        except Exception as error:  # the library raises no narrower one
            raise UserError(f"not a valid tokenizer: {error}") from error

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read a tokenizer from its file."""
        try:
            data = read_file(Path(path), max_bytes=MAX_BYTES, follow_links=True)
            return cls.from_json(decode_file(data))
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot read the tokenizer: {error}") from error

    def to_json(self) -> str:
        """The whole tokenizer as one JSON text."""
        return self._segmenter.to_json()

    def save(self, path: str | Path) -> None:
        """Write the tokenizer to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def kind(self) -> str:
        """The kind: words, characters, bpe, unigram, symbols, labels or sentencepiece."""
        return self._segmenter.kind

    def extended(self, sentences: Iterable[str], size: int) -> "Tokenizer":
        """A tokenizer of the same kind with pieces of these sentences added, at most `size` in all.

        Every old piece keeps its id; new pieces follow them, and are deterministic.
        """
        return Tokenizer(self._segmenter.extended(self._segmenter.count(sentences), size))

    def piece_ids(self) -> dict[str, int]:
        """The id of each piece as it is stored, in the order of the ids."""
        ids = self._segmenter.vocabulary()
        return {piece: ids[piece] for piece in sorted(ids, key=ids.__getitem__)}

    def merges(self) -> list[tuple[int, int, int]]:
        """The BPE merges in their order: the left id, the right id, and the merged one."""
        assert isinstance(self._segmenter, TrainedSegmenter)
        ids = self._segmenter.vocabulary()
        _, merges = read_bpe(self._segmenter.backend)
        return [(ids[left], ids[right], ids[left + right]) for left, right in merges]

    def plain(self, id: int) -> str:
        """The word or symbol that an id is; empty for special tokens, bytes and word parts."""
        piece = self._pieces[id]
        if id < len(NAMES) or id in self._bytes or id in self._languages:
            return ""
        if self.kind in symbols.KINDS:
            return piece
        is_word = (
            piece.startswith(WORD_MARK) or self._word_level or category(piece[0])[0] not in "LMN"
        )
        return piece.removeprefix(WORD_MARK) if is_word else ""

    def normalize(self, text: str) -> str:
        """The text as it is cut, which the spans of tokens refer to."""
        return self._segmenter.normalize(text)

    def encode(self, text: str, *, within: bool = False) -> list[int]:
        """The token ids of a text, which is normalised first; no special tokens are added.

        A text `within` another does not begin with the language of a multilingual model.
        """
        return self.encode_batch([text], within=within)[0]

    def encode_batch(self, texts: Iterable[str], *, within: bool = False) -> list[list[int]]:
        """The token ids of many texts at once."""
        ids = self._segmenter.encode([self.normalize(text) for text in texts])
        first = len(self.language_prefix) if within else 0
        return [text[first:] for text in ids] if first else ids

    @property
    def languages(self) -> tuple[str, ...]:
        """The tokens of the languages of a multilingual model that texts begin with."""
        return tuple(self._sentencepiece.languages) if self._sentencepiece else ()

    @property
    def language_prefix(self) -> tuple[int, ...]:
        """The token of the language, which every text begins with; empty without languages."""
        return self._sentencepiece.language_prefix if self._sentencepiece else ()

    def in_language(self, language: str) -> "Tokenizer":
        """The tokenizer of texts in another of its `languages`."""
        if not self._sentencepiece or language not in self._sentencepiece.languages:
            raise ValueError(f"{language!r} is none of {', '.join(self.languages)}")
        return Tokenizer(self._sentencepiece.in_language(language))

    @property
    def _sentencepiece(self) -> SentencePiece | None:
        return self._segmenter if isinstance(self._segmenter, SentencePiece) else None

    def decode(self, ids: Iterable[int]) -> str:
        """The normalised text of token ids; PAD, BOS and EOS are skipped."""
        pieces = [self._pieces[id] for id in ids if id not in (PAD, BOS, EOS)]
        return self._segmenter.decode(pieces)

    def pieces(self, ids: Sequence[int], text: str = "") -> list[str]:
        """A readable label for each id; an unknown token is shown as in the text, if there is one."""
        unknown = self._unknown(ids, text)
        return [
            _readable(unknown[at]) if at in unknown else self._label(id)
            for at, id in enumerate(ids)
        ]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The span of each id in the normalised text, the space before a word included.

        All byte tokens of a character have its span.
        """
        [found] = self._segmenter.segment([self.normalize(text)])
        spans, stop = [], -1  # the first mark is a space that is not there
        for end, spelled in zip(found.ends, self._spelled(found.ids), strict=True):
            start, stop = stop, stop + len(spelled) if end is None else end
            spans.append((max(start, 0), max(stop, start + 1)))
        return spans

    def words(self, ids: Sequence[int], text: str = "") -> list[Word]:
        """Group ids into words and punctuation; every special token is a word of its own.

        Unknown tokens are spelled as in `text`, if the ids come from one.
        """
        unknown = self._unknown(ids, text)
        if self.kind in symbols.KINDS:
            symbols_and_ids = enumerate(
                unknown.get(at, self._pieces[id]) for at, id in enumerate(ids)
            )
            return [Word(symbol.strip(WORD_MARK), at, at + 1) for at, symbol in symbols_and_ids]
        spelled = [unknown.get(at, piece) for at, piece in enumerate(self._spelled(ids))]
        words_and_spans = enumerate(WORD_SPLIT.pre_tokenize_str("".join(spelled)))
        word_numbers = [number for number, (characters, _) in words_and_spans for _ in characters]
        starts = list(accumulate(map(len, spelled), initial=0))
        words = []
        for _, run in groupby(range(len(ids)), key=lambda position: word_numbers[starts[position]]):
            positions = list(run)
            first, last = positions[0], positions[-1] + 1
            texts = [
                spelled[at] if at in unknown else self._special_name(ids[at]) or spelled[at]
                for at in positions
            ]
            words.append(Word("".join(texts).removeprefix(WORD_MARK) or WORD_MARK, first, last))
        return words

    def has_unknown(self, ids: Sequence[int]) -> bool:
        """Whether a token is unknown, or a byte of a character that is not in the vocabulary."""
        return UNK in ids or not self._bytes.keys().isdisjoint(ids)

    def unknown_words(self, ids: Sequence[int], text: str) -> list[str]:
        """The words and symbols of a text that have such a token; `ids` are those of the text."""
        if not self.has_unknown(ids):
            return []
        words = self.words(ids, text)
        return [word.text for word in words if self.has_unknown(ids[word.first : word.last])]

    def _special_name(self, id: int) -> str:
        """The name of a special token or of a language; empty for any other."""
        if id < len(NAMES):
            return NAMES[id]
        return self._pieces[id] if id in self._languages else ""

    def _label(self, id: int) -> str:
        if name := self._special_name(id):
            return name
        if id in self._bytes:
            return f"⟨{self._bytes[id].hex().upper()}⟩"
        return _readable(self._pieces[id])

    def _unknown(self, ids: Sequence[int], text: str) -> dict[int, str]:
        """The text behind each unknown token, by its position."""
        if not text or UNK not in ids:
            return {}
        clean, spellings = self.normalize(text), {}
        for at, (start, stop) in enumerate(self.offsets(text)):
            if ids[at] == UNK:
                # the first word has no space before it to be marked
                mark = WORD_MARK if at == len(self.language_prefix) else ""
                spellings[at] = mark + clean[start:stop].replace(" ", WORD_MARK)
        return spellings

    def _spelled(self, ids: Iterable[int]) -> list[str]:
        """The text of each id; a character in bytes is emitted with its last byte.

        A special token and a language are line breaks, which no word spans; an unknown token is one
        symbol.
        """
        specials = dict.fromkeys([PAD, BOS, EOS, *self._languages], "\n") | {UNK: "\ufffd"}
        spelled: list[str] = []
        for in_bytes, run in groupby(ids, key=self._bytes.__contains__):
            if in_bytes:
                utf8 = codecs.getincrementaldecoder("utf-8")("replace")
                spelled += [utf8.decode(self._bytes[id]) for id in run]
                spelled[-1] += utf8.decode(b"", final=True)
            else:
                spelled += [specials.get(id, self._pieces[id]) for id in run]
        return spelled


def _readable(piece: str) -> str:
    """A piece as a label: without word mark, and with a carrier for a combining mark."""
    label = piece.removeprefix(WORD_MARK) or WORD_MARK
    carrier = "◌" if category(label[0]).startswith("M") else ""
    return carrier + _JOINER_NAMES.get(label, label)
