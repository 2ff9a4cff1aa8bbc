"""Which word of the source each word of a translation comes from, and how sure the model is of it.

A word is what stands between spaces, so that its number is its place in `text.split()`; a span that
passed the model by is part of one word, whatever spaces it holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.decoding.orders import hide_as
from dhyan.decoding.second import look_again
from dhyan.decoding.translator import Translation, Translator
from dhyan.insight.explain import told_and_said
from dhyan.special import BOS, EOS
from dhyan.text.normalize import normalize
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
        """For each word said, the source word with most of its weight, as (source, target)."""
        words = self.weights[:, :-1]
        best = words.argmax(dim=1).tolist() if words.numel() else []
        return [(source, target) for target, source in enumerate(best)]


def read_words(
    translator: Translator, text: str, translation: Translation, *, where: str = ""
) -> Reading:
    """A second pass over a translation, merged to words.

    The weights are the mean over heads and over all attentions to the source, or over those whose
    name contains `where`: summed over the pieces of a source word, averaged over those of a target
    word.
    """
    masked, kept = translator.hidden(text)
    texts = [restore(word, kept)[0] for word in translator.target.decode(translation.ids).split()]
    owners = words_said(translator.target, translation.ids)
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


def words_heard(tokenizer: Tokenizer, text: str) -> list[int]:
    """The number of the word that each id of a text belongs to."""
    clean = normalize(text)
    return [clean.count(" ", 0, stop) for _, stop in tokenizer.offsets(text)]


def words_said(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """The number of the word that each id of a translation belongs to.

    It is read off the text as it grows, since a vocabulary may cut the same words in other ways.
    """
    most = max(len(tokenizer.decode(ids).split()) - 1, 0)
    counts = [len(tokenizer.decode(ids[: at + 1]).split()) for at in range(len(ids))]
    return [min(max(count - 1, 0), most) for count in counts]


def _of_pair(translator: Translator, source: str, target: str, where: str) -> Reading:
    """As if the model had said the target, to its end."""
    masked, kept = translator.hidden(source)
    said = hide_as(target, kept, translator.keeps)
    ids = [BOS, *translator.target.encode(said), EOS]
    owners = words_heard(translator.target, said)
    texts = normalize(said).split()
    return _read(translator, masked, ids, texts=texts, owners=owners, where=where)


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
    heard = words_heard(translator.source, source)
    if not texts or not heard:
        return Reading((), torch.zeros(0, 1))
    ids = [*translator.source.encode(source), EOS]
    look = look_again(translator.voice, [ids], [target], translator.device)
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
