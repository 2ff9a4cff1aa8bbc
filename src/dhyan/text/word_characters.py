"""Words with their characters: the frames of a tagger that knows unknown words by their spelling."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int32

from dhyan.errors import UserError
from dhyan.special_tokens import NAMES, PAD, UNK
from dhyan.text.pretokenization import by_frequency
from dhyan.text.symbols import SymbolTable, check_table
from dhyan.text.tokenizer import Word

KIND = "word_characters"
KEYS = {"type", "words", "characters", "longest"}
MAX_CHARACTERS = 100_000  # in the table
LONGEST = 64  # characters of a word


class WordCharacters:
    """A frame per word, as it stands between spaces: the id of the word, then of its characters.

    Of a word of more than `longest` characters the first and the last are kept.
    """

    kind = KIND

    def __init__(self, words: Sequence[str], characters: Sequence[str], longest: int) -> None:
        self._words = SymbolTable("symbols", words)
        self._characters = {character: id for id, character in enumerate(characters)}
        self.longest = longest
        self._spelled: dict[str, Int32[np.ndarray, " F"]] = {}

    @classmethod
    def train(
        cls, sentences: Iterable[str], *, size: int, characters: int, longest: int
    ) -> "WordCharacters":
        """The most frequent words and characters, special tokens included in both sizes."""
        counts = Counter(word for sentence in sentences for word in sentence.split())
        if not counts:
            raise UserError("no text to train a vocabulary on: give a sentence with words")
        spelling = Counter[str]()
        for word, count in counts.items():
            spelling.update(dict.fromkeys(set(word), count))
        return cls(
            [*NAMES, *by_frequency(counts)[: size - len(NAMES)]],
            [*NAMES, *by_frequency(spelling)[: characters - len(NAMES)]],
            longest,
        )

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "WordCharacters":
        """The codec that `to_json` wrote, checked by `check`."""
        return cls(table["words"], table["characters"], table["longest"])

    @staticmethod
    def check(table: Mapping[str, Any], most: int) -> int:
        """The number of words of a table from a file; an error if it is none of ours."""
        if table.keys() != KEYS or type(table["longest"]) is not int:
            raise UserError("not a codec of dhyan: its table of words has other fields")
        if not 1 <= table["longest"] <= LONGEST:
            raise UserError(f"not a codec of dhyan: words of {table['longest']} characters")
        check_table({"type": "symbols", "pieces": table["characters"]}, MAX_CHARACTERS)
        return check_table({"type": "symbols", "pieces": table["words"]}, most)

    def to_json(self) -> str:
        """All of it as one JSON text."""
        table = {
            "type": KIND,
            "words": list(self._words.vocabulary()),
            "characters": list(self._characters),
            "longest": self.longest,
        }
        return json.dumps(table, ensure_ascii=False)

    @property
    def width(self) -> int:
        """The numbers of a frame."""
        return 1 + self.longest

    @property
    def characters(self) -> int:
        """The number of different characters."""
        return len(self._characters)

    def __len__(self) -> int:
        return len(self._words.vocabulary())

    def encode_batch(self, texts: Iterable[str]) -> list[Int32[np.ndarray, "_ F"]]:
        """The frames of each text, one for each word."""
        return [
            np.stack([self._frame(word) for word in words])
            if (words := text.split())
            else np.zeros((0, self.width), np.int32)
            for text in texts
        ]

    def words(self, frames: Int32[np.ndarray, "S F"], text: str = "") -> list[Word]:
        """The words of the text, one for each frame."""
        texts = text.split() or [self.plain(int(frame[0])) for frame in frames]
        return [Word(word, at, at + 1) for at, word in enumerate(texts)]

    def pieces(self, frames: Int32[np.ndarray, "S F"], text: str = "") -> list[str]:
        """The words of the text."""
        return [word.text for word in self.words(frames, text)]

    def unknown_words(self, frames: Int32[np.ndarray, "S F"], text: str) -> list[str]:
        """The words that are not in the table, which are known by their characters alone."""
        words = self.words(frames, text)
        return [
            word.text for word, id in zip(words, frames[:, 0].tolist(), strict=True) if id == UNK
        ]

    def boxes(self, text: str) -> None:
        """None: words are no picture."""

    def without_files(self) -> "WordCharacters":
        """This codec: it opens no files."""
        return self

    def plain(self, id: int) -> str:
        """The word of an id; empty for special tokens."""
        return list(self._words.vocabulary())[id] if id >= len(NAMES) else ""

    def _frame(self, word: str) -> Int32[np.ndarray, " F"]:
        if word not in self._spelled:
            kept = word
            if len(word) > self.longest:
                first = self.longest // 2
                kept = word[: self.longest - first] + word[len(word) - first :]
            ids = [self._characters.get(character, UNK) for character in kept]
            [[id]] = self._words.encode([word])
            padding = [PAD] * (self.longest - len(ids))
            self._spelled[word] = np.array([id, *ids, *padding], np.int32)
        return self._spelled[word]
