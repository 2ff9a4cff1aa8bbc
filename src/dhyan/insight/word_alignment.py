"""Which word of the source each word of a translation comes from, and how sure the model is of it.

A word is what stands between spaces, so that its number is its place in `text.split()`; a span that
passed the model by is part of one word, whatever spaces it holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.decoding.forced_decoding import ForcedDecoding, attends_to_source, force_decode
from dhyan.decoding.hide_placeholders import hide_as
from dhyan.decoding.translator import Translation, Translator
from dhyan.special_tokens import BOS, EOS
from dhyan.text.normalize import normalize
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.vocabulary import BYTES, MARK

Pairs = list[tuple[int, int]]
At = Literal["emits", "reads"]
"""Whether a word's weights are those of the step that says it, or of the next, which is told it."""
WAYS: tuple[At, ...] = ("emits", "reads")


@dataclass(frozen=True)
class SaidWord:
    """A word that was said; its confidence is the geometric mean of its tokens' probabilities."""

    text: str
    confidence: float


@dataclass(frozen=True)
class Reading:
    """A translation read word by word; the weights' last column is that of the source's end."""

    words: tuple[SaidWord, ...]
    weights: Float[Tensor, "T S"]

    @property
    def alignment(self) -> Pairs:
        """For each word said, the source word with most of its weight, as (source, target).

        A word that gave no source word any weight, only the source's end, comes from none.
        """
        words = self.weights[:, :-1]
        if not words.numel():
            return []
        most, best = (found.tolist() for found in words.max(dim=1))
        return [(source, target) for target, source in enumerate(best) if most[target] > 0]


def read_words(
    translator: Translator, text: str, translation: Translation, *, where: str = ""
) -> Reading:
    """A second pass over a translation, merged to words.

    The weights are the mean over heads, then over all attentions to the source or over those whose
    name contains `where`, then over models: summed over the pieces of a source word, averaged over
    those of a target word.
    """
    masked, kept = translator.with_placeholders(text)
    texts = [restore(word, kept)[0] for word in translator.target.decode(translation.ids).split()]
    owners = words_of(translator.target, translation.ids)
    heard, said = _heard(translator, masked), _Side(translation.ids, owners, texts)
    return _read(translator, heard, said, where=where, finished=translation.finished)


def attention_of(
    translator: Translator, source: str, target: str, *, where: str = ""
) -> Float[Tensor, "T S"]:
    """Word-level weights of a pair given as text: a row for each target word.

    The last column is the source's end; a row sums to 1, unless the attention itself fades.
    """
    return _of_pair(translator, source, target, where).weights


def align_pair(translator: Translator, source: str, target: str, *, where: str = "") -> Pairs:
    """The alignment of a pair given as text, by letting the model say the target."""
    return _of_pair(translator, source, target, where).alignment


def readings_of(
    translator: Translator, pairs: Sequence[tuple[str, str]], *, at_once: int = 32
) -> list[dict[tuple[str, At], Reading]]:
    """Pairs given as text, each read by every single attention to the source, at either step."""
    told = [_told(translator, *pair) for pair in pairs]
    found: list[dict[tuple[str, At], Reading]] = [{} for _ in pairs]
    fitting = [row for row, (heard, said) in enumerate(told) if heard.ids and said.texts]
    fitting.sort(key=lambda row: len(told[row][0].ids))  # so that little is padded
    for first in range(0, len(fitting), at_once):
        rows = fitting[first : first + at_once]
        look = _look(translator, [told[row] for row in rows])
        for where in filter(attends_to_source, look.weights):
            weights = look.source_attention(where).cpu()
            for place, row in enumerate(rows):
                for at in WAYS:
                    seen = weights[place], look.logprobs[place].cpu()
                    found[row][where, at] = _merged(*seen, *told[row], at=at)
    return found


def pharaoh(pairs: Sequence[tuple[int, int]]) -> str:
    """An alignment as `0-0 1-2`: source word, target word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def words_of(tokenizer: Tokenizer, ids: Sequence[int], text: str = "") -> list[int]:
    """The number of the word that each id belongs to; a space belongs to the word after it.

    With the text the ids come from, by their places in it, since an unknown piece may be anything.
    Else by the text as it grows, since a model may cut the same words in other ways.
    """
    if text:
        clean = normalize(text)
        return [clean.count(" ", 0, stop) for _, stop in tokenizer.offsets(text)]
    pieces = tokenizer.piece_ids()
    spaces = [pieces[name] for name in (MARK, BYTES[ord(" ")]) if name in pieces]
    begun = [len(tokenizer.decode(ids[: at + 1]).split()) for at in range(len(ids))]
    ahead = [count if id in spaces else count - 1 for id, count in zip(ids, begun, strict=True)]
    last = max(begun[-1] - 1, 0) if begun else 0
    return [min(max(number, 0), last) for number in ahead]


@dataclass(frozen=True)
class _Side:
    """The ids of a sentence without its ends, the word each belongs to, and the words."""

    ids: Sequence[int]
    owners: Sequence[int]
    texts: Sequence[str] = ()


def _of_pair(translator: Translator, source: str, target: str, where: str) -> Reading:
    """As if the model had said the target, to its end."""
    return _read(translator, *_told(translator, source, target), where=where)


def _told(translator: Translator, source: str, target: str) -> tuple[_Side, _Side]:
    """Both sides of a pair given as text."""
    masked, kept = translator.with_placeholders(source)
    said = hide_as(target, kept, translator.placeholders)
    ids = translator.target.encode(said)
    owners, texts = words_of(translator.target, ids, said), normalize(said).split()
    return _heard(translator, masked), _Side(ids, owners, texts)


def _heard(translator: Translator, masked: str) -> _Side:
    ids = translator.source.encode(masked)
    return _Side(ids, words_of(translator.source, ids, masked))


def _read(
    translator: Translator, heard: _Side, said: _Side, *, where: str, finished: bool = True
) -> Reading:
    """A single pair, by the attentions named."""
    if not said.texts or not heard.ids:
        return Reading((), torch.zeros(0, 1))
    look = _look(translator, [(heard, said)], finished=finished)
    return _merged(look.source_attention(where)[0].cpu(), look.logprobs[0].cpu(), heard, said)


def _look(
    translator: Translator, pairs: Sequence[tuple[_Side, _Side]], *, finished: bool = True
) -> ForcedDecoding:
    """ForcedDecoding again at masked sources and what was said of them."""
    sources = [[*heard.ids, EOS] for heard, _ in pairs]
    targets = [[BOS, *said.ids, *([EOS] if finished else [])] for _, said in pairs]
    return force_decode(translator.ensemble, sources, targets, translator.device)


def _merged(
    weights: Float[Tensor, "T S"],
    chances: Float[Tensor, " T"],
    heard: _Side,
    said: _Side,
    *,
    at: At = "emits",
) -> Reading:
    """What was seen of one pair, perhaps padded, merged to words."""
    count, first = len(said.owners), int(at == "reads")
    columns = torch.tensor([*heard.owners, heard.owners[-1] + 1])
    tokens = weights[first : first + count, : len(columns)]
    by_word = tokens.new_zeros(count, heard.owners[-1] + 2).index_add(1, columns, tokens)
    means = _means(chances[:count, None], said.owners, len(said.texts))
    sure = means.exp().squeeze(1).tolist()
    words = (SaidWord(text, one) for text, one in zip(said.texts, sure, strict=True))
    return Reading(tuple(words), _means(by_word, said.owners, len(said.texts)))


def _means(rows: Float[Tensor, "R C"], owners: Sequence[int], words: int) -> Float[Tensor, "N C"]:
    """The mean of the rows that belong to each word."""
    places = torch.tensor(owners)
    counts = torch.bincount(places, minlength=words).clamp(min=1).unsqueeze(1)
    return rows.new_zeros(words, rows.shape[1]).index_add(0, places, rows) / counts
