"""Word alignment from cross-attention, and the model's probability of each target word.

A word is what stands between spaces, so that its index is that in `text.split()`; a placeholder
counts as one word, whatever spaces its text holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import attends_to_source
from dhyan.decoding.forced_decoding import ForcedDecoding, force_decode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import NO_ATTENTION, UserError
from dhyan.special_tokens import BOS, EOS
from dhyan.text.placeholders import mask_like, restore
from dhyan.text.pretokenization import BYTE_TOKENS, WORD_MARK
from dhyan.text.tokenizer import Tokenizer

Pairs = list[tuple[int, int]]
DecoderStep = Literal["emits", "reads"]
"""The step of a word's weights: the one that outputs it, or the next, which has it as input."""
DECODER_STEPS: tuple[DecoderStep, ...] = ("emits", "reads")


@dataclass(frozen=True)
class TargetWord:
    """A target word; its confidence is the geometric mean of its tokens' probabilities."""

    text: str
    confidence: float


@dataclass(frozen=True)
class WordAttention:
    """The words of a translation and their weights; the last column is the source's EOS.

    There are no weights if the model has no attention to the source.
    """

    words: tuple[TargetWord, ...]
    weights: Float[Tensor, "T S"] | None

    @property
    def alignment(self) -> Pairs:
        """For each target word, the source word with the largest weight, as (source, target).

        A word with weight on the source's EOS only is not aligned.
        """
        words = self.known_weights()[:, :-1]
        if not words.numel():
            return []
        weights, sources = (column.tolist() for column in words.max(dim=1))
        return [(source, target) for target, source in enumerate(sources) if weights[target] > 0]

    def known_weights(self) -> Float[Tensor, "T S"]:
        """The weights; an error that says why if there are none."""
        if self.weights is None:
            raise UserError(f"{NO_ATTENTION}; no word can be aligned")
        return self.weights


def word_attention(
    translator: Translator, text: str, translation: Translation, *, attention: str = ""
) -> WordAttention:
    """Word-level attention and confidence of a finished translation, by a second pass over it.

    The weights are the mean over heads, then over all cross-attentions or over those whose name
    contains `attention`, then over models: summed over the tokens of a source word, averaged over
    those of a target word.
    """
    masked, placeholders = translator.with_placeholders(text)
    words = translator.target.decode(translation.ids).split()
    target = _Side(
        translation.ids,
        word_indices(translator.target, translation.ids),
        [restore(word, placeholders)[0] for word in words],
    )
    source = _source_side(translator, masked)
    return _read(translator, source, target, attention=attention, finished=translation.finished)


def pair_weights(
    translator: Translator, source: str, target: str, *, attention: str = ""
) -> Float[Tensor, "T S"]:
    """Word-level weights of a sentence pair, by forced decoding: a row for each target word.

    The last column is the source's EOS; a row sums to 1, unless the attention's own weights do not.
    """
    return _read_pair(translator, source, target, attention).known_weights()


def align_pair(translator: Translator, source: str, target: str, *, attention: str = "") -> Pairs:
    """The word alignment of a sentence pair, by forced decoding."""
    return _read_pair(translator, source, target, attention).alignment


def attention_by_layer(
    translator: Translator, pairs: Sequence[tuple[str, str]], *, batch_size: int = 32
) -> list[dict[tuple[str, DecoderStep], WordAttention]]:
    """Of each sentence pair, the word-level weights of every cross-attention, at either step."""
    sides = [_pair_sides(translator, *pair) for pair in pairs]
    results: list[dict[tuple[str, DecoderStep], WordAttention]] = [{} for _ in pairs]
    usable = [row for row, (source, target) in enumerate(sides) if source.ids and target.words]
    usable.sort(key=lambda row: len(sides[row][0].ids))  # so that little is padded
    for first in range(0, len(usable), batch_size):
        rows = usable[first : first + batch_size]
        decoded = _force(translator, [sides[row] for row in rows])
        for layer in decoded.attention:
            if layer.role != "cross":
                continue
            weights = decoded.source_attention(layer.name).cpu()
            for index, row in enumerate(rows):
                for step in DECODER_STEPS:
                    results[row][layer.name, step] = _merge(
                        weights[index], decoded.logprobs[index].cpu(), *sides[row], step=step
                    )
    return results


def pharaoh(pairs: Sequence[tuple[int, int]]) -> str:
    """An alignment in Pharaoh format, `0-0 1-2`: source word, target word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def word_indices(tokenizer: Tokenizer, ids: Sequence[int], text: str = "") -> list[int]:
    """The index of the word that each token belongs to; a space belongs to the word after it.

    With the text the ids come from, by character offsets, since an unknown token may be anything.
    Without it, by decoding growing prefixes, since a model may segment a word in its own way.
    """
    if text:
        clean = tokenizer.normalize(text)
        return [clean.count(" ", 0, stop) for _, stop in tokenizer.offsets(text)]
    pieces = tokenizer.piece_ids()
    spaces = [pieces[name] for name in (WORD_MARK, BYTE_TOKENS[ord(" ")]) if name in pieces]
    counts = [len(tokenizer.decode(ids[: at + 1]).split()) for at in range(len(ids))]
    indices = [count if id in spaces else count - 1 for id, count in zip(ids, counts, strict=True)]
    last = max(counts[-1] - 1, 0) if counts else 0
    return [min(max(index, 0), last) for index in indices]


@dataclass(frozen=True)
class _Side:
    """The token ids of a sentence without BOS and EOS, the word index of each, and the words."""

    ids: Sequence[int]
    owners: Sequence[int]
    words: Sequence[str] = ()


def _read_pair(translator: Translator, source: str, target: str, attention: str) -> WordAttention:
    return _read(translator, *_pair_sides(translator, source, target), attention=attention)


def _pair_sides(translator: Translator, source: str, target: str) -> tuple[_Side, _Side]:
    masked, placeholders = translator.with_placeholders(source)
    text = mask_like(target, placeholders, translator.placeholders)
    ids = translator.target.encode(text)
    owners = word_indices(translator.target, ids, text)
    words = translator.target.normalize(text).split()
    return _source_side(translator, masked), _Side(ids, owners, words)


def _source_side(translator: Translator, masked: str) -> _Side:
    ids = translator.source_tokenizer.encode(masked)
    return _Side(ids, word_indices(translator.source_tokenizer, ids, masked))


def _read(
    translator: Translator, source: _Side, target: _Side, *, attention: str, finished: bool = True
) -> WordAttention:
    if not target.words or not source.ids:
        return WordAttention((), torch.zeros(0, 1))
    decoded = _force(translator, [(source, target)], finished=finished)
    attends = attends_to_source(translator.ensemble)
    weights = decoded.source_attention(attention)[0].cpu() if attends else None
    return _merge(weights, decoded.logprobs[0].cpu(), source, target)


def _force(
    translator: Translator, pairs: Sequence[tuple[_Side, _Side]], *, finished: bool = True
) -> ForcedDecoding:
    """Forced decoding of encoded pairs."""
    sources = [[*source.ids, EOS] for source, _ in pairs]
    targets = [[BOS, *target.ids, *([EOS] if finished else [])] for _, target in pairs]
    return force_decode(translator.ensemble, sources, targets, translator.device)


def _merge(
    weights: Float[Tensor, "T S"] | None,
    logprobs: Float[Tensor, " T"],
    source: _Side,
    target: _Side,
    *,
    step: DecoderStep = "emits",
) -> WordAttention:
    """The weights and log-probabilities of one pair, perhaps padded, merged to words."""
    count, first = len(target.owners), int(step == "reads")
    means = _mean_by_word(logprobs[:count, None], target.owners, len(target.words))
    confidences = means.exp().squeeze(1).tolist()
    words = tuple(TargetWord(*pair) for pair in zip(target.words, confidences, strict=True))
    if weights is None:
        return WordAttention(words, None)
    columns = torch.tensor([*source.owners, source.owners[-1] + 1])
    tokens = weights[first : first + count, : len(columns)]
    by_word = tokens.new_zeros(count, source.owners[-1] + 2).index_add(1, columns, tokens)
    return WordAttention(words, _mean_by_word(by_word, target.owners, len(target.words)))


def _mean_by_word(
    rows: Float[Tensor, "R C"], owners: Sequence[int], words: int
) -> Float[Tensor, "N C"]:
    """The mean of the rows that belong to each word."""
    indices = torch.tensor(owners)
    counts = torch.bincount(indices, minlength=words).clamp(min=1).unsqueeze(1)
    return rows.new_zeros(words, rows.shape[1]).index_add(0, indices, rows) / counts
