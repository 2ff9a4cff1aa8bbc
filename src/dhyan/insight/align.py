"""Which word of the source each word of a translation comes from, and how sure the model is of it.

A word is what stands between spaces, so that its number is its place in `text.split()`; a span that
passed the model by is part of one word, whatever spaces it holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.decoding.kept import hide_as
from dhyan.decoding.look import look_again
from dhyan.decoding.translator import Translation, Translator
from dhyan.insight.explain import told_and_said
from dhyan.special import BOS, EOS
from dhyan.text.normalize import normalize
from dhyan.text.pieces import BYTES, MARK
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer

Pairs = list[tuple[int, int]]


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
    masked, kept = translator.hidden(text)
    texts = [restore(word, kept)[0] for word in translator.target.decode(translation.ids).split()]
    owners = words_of(translator.target, translation.ids)
    said = told_and_said(translation)
    return _read(translator, masked, said, texts=texts, owners=owners, where=where)


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


def _of_pair(translator: Translator, source: str, target: str, where: str) -> Reading:
    """As if the model had said the target, to its end."""
    masked, kept = translator.hidden(source)
    said = hide_as(target, kept, translator.keeps)
    ids = translator.target.encode(said)
    owners, texts = words_of(translator.target, ids, said), normalize(said).split()
    return _read(translator, masked, [BOS, *ids, EOS], texts=texts, owners=owners, where=where)


def _read(
    translator: Translator,
    source: str,
    target: Sequence[int],
    *,
    texts: Sequence[str],
    owners: Sequence[int],
    where: str,
) -> Reading:
    """Look again at a masked source and what was said of it, and merge to words."""
    ids = translator.source.encode(source)
    heard = words_of(translator.source, ids, source)
    if not texts or not heard:
        return Reading((), torch.zeros(0, 1))
    look = look_again(translator.voice, [[*ids, EOS]], [target], translator.device)
    tokens = look.at_source(where)[0, : len(owners)].cpu()
    columns = torch.tensor([*heard, heard[-1] + 1])
    weights = tokens.new_zeros(len(owners), heard[-1] + 2).index_add(1, columns, tokens)
    chances = _means(look.chances[0, : len(owners), None].cpu(), owners, len(texts))
    sure = chances.exp().squeeze(1).tolist()
    words = (SaidWord(text, one) for text, one in zip(texts, sure, strict=True))
    return Reading(tuple(words), _means(weights, owners, len(texts)))


def _means(rows: Float[Tensor, "R C"], owners: Sequence[int], words: int) -> Float[Tensor, "N C"]:
    """The mean of the rows that belong to each word."""
    places = torch.tensor(owners)
    counts = torch.bincount(places, minlength=words).clamp(min=1).unsqueeze(1)
    return rows.new_zeros(words, rows.shape[1]).index_add(0, places, rows) / counts
