"""Text as ids and ids as text: by words, characters, byte pairs, or a unigram language model."""

import codecs
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from unicodedata import category

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from dhyan.faults import Fault
from dhyan.special import BOS, EOS, NAMES, PAD, UNK
from dhyan.text.normalize import normalize
from dhyan.text.pieces import BYTES, GIVEN, MARK, alphabet, by_count
from dhyan.text.unigram import learn_unigram

KINDS = ("words", "characters", "bpe", "unigram")

# The joiners are no letters to Unicode, yet they spell words. A sign that is no letter stands
# alone with all that combines with it, so that no piece can ever read "</s>" or "<0x41>".
_LETTER = r"\p{L}\p{M}\p{N}_\u200c\u200d"
_WORD = rf"[{_LETTER}]+(?:'[{_LETTER}]+)*"
_SIGN = rf"(?:[🇦-🇿]{{2}}|[^{_LETTER}▁\n])(?:[\p{{M}}🏻-🏿\u200c]|\u200d[^{_LETTER}▁\n]?)*"
_WORDS = pre_tokenizers.Split(Regex(rf"▁?(?:{_WORD}|{_SIGN})|[▁\n]"), "isolated")
_CHARACTERS = pre_tokenizers.Split(Regex("."), "isolated")
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
        if MARK not in ids:  # whole words: an unknown one is written with a space before it
            self._pieces[UNK] = MARK + NAMES[UNK]

    @classmethod
    def learn(cls, sentences: Iterable[str], *, kind: str, size: int) -> "Tokenizer":
        """Learn at most `size` pieces, specials and bytes among them; the same ones every time."""
        if kind not in KINDS:
            raise Fault(f"no tokenizer is called {kind!r}: choose one of {', '.join(KINDS)}")
        least = 1 + len(GIVEN if kind in ("bpe", "unigram") else NAMES)
        if size < least:
            raise Fault(f"size {size} is too small a vocabulary for {kind}: give at least {least}")
        texts = [normalize(sentence) for sentence in sentences]
        cut = _after_marking(_WORDS)
        counts = Counter(word for text in texts for word, _ in cut.pre_tokenize_str(text))
        if not counts:
            raise Fault("no text to learn a vocabulary from: give at least one sentence with words")
        match kind:
            case "words":
                backend = Backend(_table(by_count(counts)[: size - len(NAMES)]))
            case "characters":
                backend = Backend(_table(alphabet(counts, size - len(NAMES))))
                cut = _after_marking(_CHARACTERS)
            case "bpe":
                backend = Backend(_byte_pairs(texts, counts, size - len(GIVEN)))
            case _:
                backend = Backend(learn_unigram(counts, size - len(GIVEN)))
        backend.pre_tokenizer = cut
        backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(MARK)])
        return cls(backend)

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Take up what `to_json` wrote."""
        try:
            backend = Backend.from_str(text)
        except Exception as error:  # the library raises no narrower one
            raise Fault(f"this is not a whole tokenizer: {error}") from error
        pieces = [backend.id_to_token(id) for id in range(backend.get_vocab_size())]
        if None in pieces or tuple(pieces[: len(NAMES)]) != NAMES:
            raise Fault(f"not a tokenizer of dhyan: its ids must begin with {', '.join(NAMES)}")
        return cls(backend)

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read a tokenizer from its file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Fault(f"{path}: cannot read the tokenizer: {error}") from error

    def to_json(self) -> str:
        """Everything there is to it, as one JSON text."""
        return self._backend.to_str()

    def save(self, path: str | Path) -> None:
        """Write the tokenizer to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, normalised first; no special ids are added."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
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
        cut = enumerate(_WORDS.pre_tokenize_str("".join(spelt)))
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


def _after_marking(split: pre_tokenizers.Split) -> pre_tokenizers.Sequence:
    return pre_tokenizers.Sequence([pre_tokenizers.Metaspace(MARK, split=False), split])


def _table(pieces: list[str]) -> models.WordLevel:
    ids = {piece: id for id, piece in enumerate([*NAMES, *pieces])}
    return models.WordLevel(ids, unk_token=NAMES[UNK])


def _byte_pairs(texts: list[str], counts: Mapping[str, int], room: int) -> models.BPE:
    """Sennrich et al. (2016); specials and bytes are plain entries, which no text can match."""
    letters = alphabet(counts, max(room // 2, 1))
    backend = Backend(models.BPE())
    backend.pre_tokenizer = _after_marking(_WORDS)
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    learned = json.loads(backend.to_str())["model"]
    pieces = [*GIVEN, *sorted(learned["vocab"], key=learned["vocab"].get)]
    return models.BPE(
        {piece: id for id, piece in enumerate(pieces)},
        [(left, right) for left, right in learned["merges"]],
        unk_token=NAMES[UNK],
        byte_fallback=True,
    )
