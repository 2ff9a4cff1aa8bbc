"""`explain`: attention maps of a translation, from a second pass over the finished output."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import AttentionMap, AttentionRole
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.translator import Translation, Translator
from dhyan.special_tokens import BOS, EOS
from dhyan.text.codec import SourceCodec, SourceSequence, pieces_of, words_of
from dhyan.text.placeholders import restore


def explain(
    translator: Translator,
    text: str,
    *,
    beam: int | None = None,
    words: bool = True,
) -> list[AttentionMap]:
    """Translate a sentence and return a map for every attention of the model.

    The weights are read off a second, parallel pass over the finished translation, so they are
    exact after any search. Tokens are merged to words unless `words` is False: columns are summed
    over the tokens of a word, rows are averaged. For other decoding options, translate first and
    call `explain_translation`. A model without attention has no maps: the list is empty.
    """
    [translation] = translator(text, beam=beam)
    return explain_translation(translator, text, translation, words=words)


def explain_translation(
    translator: Translator, text: str, translation: Translation, *, words: bool = True
) -> list[AttentionMap]:
    """The maps of a finished translation; of an ensemble, those of every model."""
    masked, placeholders = translator.with_placeholders(text)
    source, target = translator.encode(text), target_ids(translation)

    def target_labels(ids: Sequence[int]) -> Labels:
        return Labels.of(translator.target, ids, words=words, placeholders=placeholders)

    source_labels = Labels.of(
        translator.source, source, words=words, text=masked, placeholders=placeholders
    )
    input_labels, output_labels = target_labels(target[:-1]), target_labels(target[1:])
    decoded = force_decode(translator.ensemble, [source], [target], translator.device)
    maps = []
    for attention in decoded.attention:
        columns, rows = _sides(attention.role, source_labels, input_labels, output_labels)
        weights = columns.gather(rows.gather(attention.weights[0].float().cpu(), -2, mean=True), -1)
        maps.append(
            AttentionMap(
                attention.name,
                attention.role,
                attention.layer,
                columns.texts,
                rows.texts,
                weights,
                attention.member,
            )
        )
    return maps


def target_ids(translation: Translation) -> list[int]:
    """The ids of a translation with BOS first, and EOS if it is finished."""
    return [BOS, *translation.ids, *([EOS] if translation.finished else [])]


def cross_maps(maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    """The cross-attentions among the maps."""
    return [attention for attention in maps if attention.role == "cross"]


class Labels(NamedTuple):
    """Words, and for each the half-open span of positions it covers."""

    texts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls,
        codec: SourceCodec,
        ids: SourceSequence,
        *,
        words: bool,
        text: str = "",
        placeholders: Sequence[str] = (),
    ) -> "Labels":
        """A sentence's words or tokens; unknown ones are shown as in the text.

        Placeholders are replaced by the text they stand for.
        """
        if words:
            parts = words_of(codec, ids, text)
            texts = [word.text for word in parts]
            spans = [(word.first, word.last) for word in parts]
        else:
            texts, spans = pieces_of(codec, ids, text), [(at, at + 1) for at in range(len(ids))]
        labels = (restore(text, placeholders)[0] if placeholders else text for text in texts)
        return cls(tuple(labels), tuple(spans))

    def gather(
        self, weights: Float[Tensor, "H T S"], axis: int, *, mean: bool = False
    ) -> Float[Tensor, "H N M"]:
        """Weights by word along an axis: the sum over its tokens, or their mean."""
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
