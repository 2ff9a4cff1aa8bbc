"""From a translation to its attention maps, by a second pass over what was said."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.batch import Batch, Tokens
from dhyan.decoding.translator import Translation, Translator, evaluating
from dhyan.special import BOS, EOS
from dhyan.text.tokenizer import Tokenizer
from dhyan.watch import AttentionMap, watch


def explain(
    translator: Translator, text: str, *, beam: int | None = None, words: bool = True
) -> list[AttentionMap]:
    """Translate a sentence and return a map for every attention of the model.

    The weights are read off a second, parallel pass over the finished translation, so they are
    exact after any search. Pieces are merged to words unless `words` is False: what a word is
    given is the sum over its pieces, what it gives the mean.
    """
    [translation] = translator(text, beam=beam)
    return explain_translation(translator, text, translation, words=words)


def explain_translation(
    translator: Translator, text: str, translation: Translation, *, words: bool = True
) -> list[AttentionMap]:
    """The maps of a translation already made."""
    source = translator.encode(text)
    target = [BOS, *translation.ids, *([EOS] if translation.finished else [])]
    batch = Batch(Tokens.pad([source]), Tokens.pad([target])).to(translator.device)
    model = translator.model
    with evaluating(model), torch.inference_mode(), watch(model) as sightings:
        model(batch)
    heard = Labels.of(translator.source, source, words=words, text=text)
    told = Labels.of(translator.target, target[:-1], words=words)
    said = Labels.of(translator.target, target[1:], words=words)
    maps = []
    for where, weights in sightings.weights().items():
        columns, rows = _sides(where, heard, told, said)
        merged = columns.gather(rows.gather(weights[0].float().cpu(), -2, mean=True), -1)
        maps.append(AttentionMap(where, columns.texts, rows.texts, merged))
    return maps


def cross_maps(maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    """Those that look from the translation to the source."""
    return [m for m in maps if not m.where.endswith("self_attention")]


class Labels(NamedTuple):
    """Words, and for each the half-open span of positions it covers."""

    texts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, ids: Sequence[int], *, words: bool, text: str = ""
    ) -> "Labels":
        """A sentence's words, or its single pieces; unknown ones as the text has them."""
        if not words:
            places = tuple((place, place + 1) for place in range(len(ids)))
            return cls(tuple(tokenizer.pieces(ids, text)), places)
        found = tokenizer.words(ids, text)
        return cls(tuple(w.text for w in found), tuple((w.first, w.last) for w in found))

    def gather(
        self, weights: Float[Tensor, "H T S"], axis: int, *, mean: bool = False
    ) -> Float[Tensor, "H N M"]:
        """Weights by word along an axis: the sum over its pieces, or their mean."""
        parts = []
        for first, last in self.spans:
            part = weights.narrow(axis, first, last - first)
            parts.append(part.mean(axis) if mean else part.sum(axis))
        return torch.stack(parts, dim=axis)


def _sides(where: str, heard: Labels, told: Labels, said: Labels) -> tuple[Labels, Labels]:
    """What an attention looks at and who asks, by its place in the model.

    The encoder looks at the source for the source. In the decoder, self-attention looks from the
    words it was told to those before; any other looks from the word it is about to say.
    """
    if where.startswith("encoder."):
        return heard, heard
    return (told, told) if where.endswith("self_attention") else (heard, said)
