"""Text as ids and ids as text: by words, characters, byte pairs, or a unigram language model."""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from unicodedata import category

from tokenizers import Tokenizer as Backend
from tokenizers import models

from dhyan.errors import UserError
from dhyan.safe_io.files import read_file
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from dhyan.text.bpe import extend_byte_pairs, learn_byte_pairs, read_byte_pairs
from dhyan.text.normalize import normalize
from dhyan.text.pretokenize import WORDS, furnished, word_counts
from dhyan.text.safe_tokenizer import MOST_BYTES, MOST_PIECES, count_pieces, text_of
from dhyan.text.unigram import extend_unigram, learn_unigram
from dhyan.text.vocabulary import BYTES, GIVEN, MARK, alphabet, by_count, new_letters

KINDS = ("words", "characters", "bpe", "unigram")

_UNSEEN = {"\u200c": "⟨ZWNJ⟩", "\u200d": "⟨ZWJ⟩"}


@dataclass(frozen=True)
class Word:
    """A word and where its ids stand: from `first` up to, not including, `last`."""

    text: str
    first: int
    last: int


class Tokenizer:
    """A vocabulary whose first ids are the special ones; a piece that begins a word bears a `▁`."""

    def __init__(self, backend: Backend) -> None:
        ids = backend.get_vocab()
        self._backend = backend
        self._pieces = sorted(ids, key=ids.__getitem__)
        self._bytes = {ids[name]: bytes([i]) for i, name in enumerate(BYTES) if name in ids}
        self._whole_words = MARK not in ids
        if self._whole_words:  # an unknown word is written with a space before it
            self._pieces[UNK] = MARK + NAMES[UNK]

    @classmethod
    def train(cls, sentences: Iterable[str], *, kind: str, size: int) -> "Tokenizer":
        """Learn at most `size` pieces, specials and bytes among them; the same ones every time."""
        if kind not in KINDS:
            raise UserError(f"no tokenizer is called {kind!r}: choose one of {', '.join(KINDS)}")
        least = 1 + len(GIVEN if kind in ("bpe", "unigram") else NAMES)
        if size < least:
            raise UserError(
                f"size {size} is too small a vocabulary for {kind}: give at least {least}"
            )
        if size > MOST_PIECES:
            raise UserError(f"size {size} is too large a vocabulary: give at most {MOST_PIECES}")
        texts = [normalize(sentence) for sentence in sentences]
        counts = word_counts(texts)
        if not counts:
            raise UserError(
                "no text to learn a vocabulary from: give at least one sentence with words"
            )
        match kind:
            case "words":
                backend = Backend(_table([*NAMES, *by_count(counts)[: size - len(NAMES)]]))
            case "characters":
                backend = Backend(_table([*NAMES, *alphabet(counts, size - len(NAMES))]))
            case "bpe":
                backend = Backend(learn_byte_pairs(texts, counts, size - len(GIVEN)))
            case _:
                backend = Backend(learn_unigram(counts, size - len(GIVEN)))
        return cls(furnished(backend, kind))

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Take up what `to_json` wrote, and nothing else."""
        count_pieces(text)
        try:
            return cls(Backend.from_str(text))
        except Exception as error:  # the library raises no narrower one
            raise UserError(f"this is not a whole tokenizer: {error}") from error

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read a tokenizer from its file."""
        try:
            data = read_file(Path(path), max_bytes=MOST_BYTES, follow_links=True)
            return cls.from_json(text_of(data))
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot read the tokenizer: {error}") from error

    def to_json(self) -> str:
        """Everything there is to it, as one JSON text."""
        return self._backend.to_str()

    def save(self, path: str | Path) -> None:
        """Write the tokenizer to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def kind(self) -> str:
        """Which of the four it is."""
        subwords = {models.BPE: "bpe", models.Unigram: "unigram"}
        return subwords.get(type(self._backend.model)) or (
            "words" if self._whole_words else "characters"
        )

    def extended(self, sentences: Iterable[str], size: int) -> "Tokenizer":
        """One of the same kind that also knows these sentences, with at most `size` pieces in all.

        Every old piece keeps its id; new ones come after them, and are the same every time.
        """
        counts = word_counts(map(normalize, sentences))
        room, kind = max(size - len(self), 0), self.kind
        known = self.piece_ids()
        match kind:
            case "words":
                new = [word for word in by_count(counts) if word not in known][:room]
                backend = Backend(_table([*known, *new]))
            case "characters":
                backend = Backend(_table([*known, *new_letters(counts, known, room)]))
            case "bpe":
                backend = Backend(extend_byte_pairs(self._backend, counts, room))
            case _:
                backend = Backend(extend_unigram(self._backend, counts, room))
        return Tokenizer(furnished(backend, kind))

    def piece_ids(self) -> dict[str, int]:
        """The id of each piece as it is stored, in the order of the ids."""
        ids = self._backend.get_vocab()
        return {piece: ids[piece] for piece in sorted(ids, key=ids.__getitem__)}

    def merges(self) -> list[tuple[int, int, int]]:
        """The byte pairs that are merged, first things first: the left id, the right, the whole."""
        ids = self._backend.get_vocab()
        _, merges = read_byte_pairs(self._backend)
        return [(ids[left], ids[right], ids[left + right]) for left, right in merges]

    def plain(self, id: int) -> str:
        """The word or sign that an id stands for by itself; none for specials, bytes and parts."""
        piece = self._pieces[id]
        if id < len(NAMES) or id in self._bytes:
            return ""
        whole = piece.startswith(MARK) or self._whole_words or category(piece[0])[0] not in "LMN"
        return piece.removeprefix(MARK) if whole else ""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, normalised first; no special ids are added."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of many texts at once."""
        clean = [normalize(text) for text in texts]
        return [encoding.ids for encoding in self._backend.encode_batch_fast(clean)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, as `normalize` writes it; padding, beginning and end leave no trace."""
        pieces = [self._pieces[id] for id in ids if id not in (PAD, BOS, EOS)]
        return normalize(self._backend.decoder.decode(pieces))

    def pieces(self, ids: Sequence[int], text: str = "") -> list[str]:
        """A readable label for each id; unknown ones as they stand in the text, if it is given."""
        unknown = self._unknown(ids, text)
        return [
            _shown(unknown[at]) if at in unknown else self._label(id) for at, id in enumerate(ids)
        ]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each id's piece lies in the normalised text, the space before a word included.

        All the bytes of a character lie where it does.
        """
        encoding = self._backend.encode(normalize(text))
        ends = (after for _, after in encoding.offsets)
        spans, stop = [], -1  # the first mark is a space that is not there
        for id, spelt, end in zip(encoding.ids, self._spelt(encoding.ids), ends, strict=True):
            start, stop = stop, end if id == UNK else stop + len(spelt)
            spans.append((max(start, 0), max(stop, start + 1)))
        return spans

    def words(self, ids: Sequence[int], text: str = "") -> list[Word]:
        """Gather ids into words and punctuation, every id in one of them; specials stand alone.

        Unknown ones are spelt as they stand in the text the ids come from, if it is given.
        """
        unknown = self._unknown(ids, text)
        spelt = [unknown.get(at, piece) for at, piece in enumerate(self._spelt(ids))]
        cut = enumerate(WORDS.pre_tokenize_str("".join(spelt)))
        owner = [number for number, (letters, _) in cut for _ in letters]
        begin = list(accumulate(map(len, spelt), initial=0))
        words = []
        for _, run in groupby(range(len(ids)), key=lambda place: owner[begin[place]]):
            places = list(run)
            first, last = places[0], places[-1] + 1
            named = [
                NAMES[ids[at]] if ids[at] < len(NAMES) and at not in unknown else spelt[at]
                for at in places
            ]
            words.append(Word("".join(named).removeprefix(MARK) or MARK, first, last))
        return words

    def _label(self, id: int) -> str:
        if id < len(NAMES):
            return NAMES[id]
        if id in self._bytes:
            return f"⟨{self._bytes[id].hex().upper()}⟩"
        return _shown(self._pieces[id])

    def _unknown(self, ids: Sequence[int], text: str) -> dict[int, str]:
        """What stands in the text at the place of each unknown id."""
        if not text or UNK not in ids:
            return {}
        clean, found = normalize(text), {}
        for at, (start, stop) in enumerate(self.offsets(text)):
            if ids[at] == UNK:
                mark = MARK if at == 0 else ""  # the first word has no space before it to be marked
                found[at] = mark + clean[start:stop].replace(" ", MARK)
        return found

    def _spelt(self, ids: Iterable[int]) -> list[str]:
        """What each id adds to the text; a character in bytes comes whole, with the last of them.

        A special id is a line break, which no word reaches across; an unknown is a sign.
        """
        specials = {PAD: "\n", BOS: "\n", EOS: "\n", UNK: "\ufffd"}
        spelt: list[str] = []
        for in_bytes, run in groupby(ids, key=self._bytes.__contains__):
            if in_bytes:
                utf8 = codecs.getincrementaldecoder("utf-8")("replace")
                spelt += [utf8.decode(self._bytes[id]) for id in run]
                spelt[-1] += utf8.decode(b"", final=True)
            else:
                spelt += [specials.get(id, self._pieces[id]) for id in run]
        return spelt


def _shown(piece: str) -> str:
    """A piece as a label: no word mark, and something for a combining sign to stand on."""
    label = piece.removeprefix(MARK) or MARK
    carrier = "◌" if category(label[0]).startswith("M") else ""
    return carrier + _UNSEEN.get(label, label)


def _table(pieces: list[str]) -> models.WordLevel:
    ids = {piece: id for id, piece in enumerate(pieces)}
    return models.WordLevel(ids, unk_token=NAMES[UNK])
