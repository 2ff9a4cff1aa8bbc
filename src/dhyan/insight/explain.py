"""From a translation to its attention maps, by a second pass over what was said."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import AttentionMap, AttentionRole
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.translator import Translation, Translator
from dhyan.special_tokens import BOS, EOS
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer


def explain(
    translator: Translator,
    text: str,
    *,
    beam: int | None = None,
    words: bool = True,
    **changes: object,
) -> list[AttentionMap]:
    """Translate a sentence and return a map for every attention of the model.

    The weights are read off a second, parallel pass over the finished translation, so they are
    exact after any search. Pieces are merged to words unless `words` is False: what a word is
    given is the sum over its pieces, what it gives the mean. `changes` are as for the translator.
    """
    [translation] = translator(text, beam=beam, **changes)  # type: ignore[arg-type]
    return explain_translation(translator, text, translation, words=words)


def explain_translation(
    translator: Translator, text: str, translation: Translation, *, words: bool = True
) -> list[AttentionMap]:
    """The maps of a translation already made; of several models, those of each."""
    masked, kept = translator.with_placeholders(text)
    source, target = translator.encode(text), target_ids(translation)
    heard = Labels.of(translator.source, source, words=words, text=masked, kept=kept)
    told = Labels.of(translator.target, target[:-1], words=words, kept=kept)
    said = Labels.of(translator.target, target[1:], words=words, kept=kept)
    look = force_decode(translator.ensemble, [source], [target], translator.device)
    maps = []
    for own in look.attention:
        columns, rows = _sides(own.role, heard, told, said)
        merged = columns.gather(rows.gather(own.weights[0].float().cpu(), -2, mean=True), -1)
        maps.append(AttentionMap(own.name, own.role, own.layer, columns.texts, rows.texts, merged))
    return maps


def target_ids(translation: Translation) -> list[int]:
    """The ids of a translation with BOS first, and EOS if it is finished."""
    return [BOS, *translation.ids, *([EOS] if translation.finished else [])]


def cross_maps(maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    """Those that look from the translation to the source."""
    return [attention for attention in maps if attention.role == "cross"]


class Labels(NamedTuple):
    """Words, and for each the half-open span of positions it covers."""

    texts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        ids: Sequence[int],
        *,
        words: bool,
        text: str = "",
        kept: Sequence[str] = (),
    ) -> "Labels":
        """A sentence's words, or its single pieces; unknown ones as the text has them.

        Spans that passed the model by stand where their signs were.
        """
        if words:
            found = tokenizer.words(ids, text)
            texts, spans = [w.text for w in found], [(w.first, w.last) for w in found]
        else:
            texts, spans = tokenizer.pieces(ids, text), [(at, at + 1) for at in range(len(ids))]
        shown = (restore(label, kept)[0] if kept else label for label in texts)
        return cls(tuple(shown), tuple(spans))

    def gather(
        self, weights: Float[Tensor, "H T S"], axis: int, *, mean: bool = False
    ) -> Float[Tensor, "H N M"]:
        """Weights by word along an axis: the sum over its pieces, or their mean."""
        parts = []
        for first, last in self.spans:
            part = weights.narrow(axis, first, last - first)
            parts.append(part.mean(axis) if mean else part.sum(axis))
        return torch.stack(parts, dim=axis)


def _sides(
    role: AttentionRole, source: Labels, inputs: Labels, outputs: Labels
) -> tuple[Labels, Labels]:
    """The words of the columns and of the rows, by the attention's role.

    Decoder self-attention is labelled with the decoder's input tokens, cross-attention with the
    tokens it outputs at each step.
    """
    match role:
        case "encoder_self":
            return source, source
        case "decoder_self":
            return inputs, inputs
        case "cross":
            return source, outputs
