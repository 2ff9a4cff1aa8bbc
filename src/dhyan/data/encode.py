"""Train the tokenizers on sentence pairs, and encode the pairs as token ids."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from dhyan.config import Recipe, Text
from dhyan.config.sections import FRAME_CODECS
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair, Side
from dhyan.data.read_report import ReadReport
from dhyan.data.store import BpeDropout, Examples, FrameBuilder, SequenceBuilder
from dhyan.errors import UserError, spell_option
from dhyan.special_tokens import BOS, EOS
from dhyan.text.bpe_dropout import MergeDropout
from dhyan.text.codec import FrameCodec, SourceCodec, SourceSequence, encode_sources, source_length
from dhyan.text.image_frames import ImageColumns, ImagePatches
from dhyan.text.placeholders import mask_pair
from dhyan.text.sentencepiece import KIND as SENTENCEPIECE
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.word_characters import WordCharacters

logger = logging.getLogger(__name__)

CHUNK_PAIRS = 4096  # encoded at a time


class NoPairFitsError(UserError):
    """Every pair of a corpus is too long, or empty once it is encoded."""


@dataclass(frozen=True)
class WeightedPairs:
    """One corpus of a mixture; its pairs can be iterated over repeatedly."""

    pairs: Iterable[Pair]
    weight: float = 1.0


def mask_placeholders(pairs: Iterable[Pair], kinds: Sequence[str]) -> Iterator[Pair]:
    """The pairs with placeholders for URLs, numbers and other spans that are copied."""
    for pair in pairs:
        if kinds:
            source, target = mask_pair(pair.source, pair.target, kinds)
            yield replace(pair, source=source, target=target)
        else:
            yield pair


def vocabulary_pairs(parts: Iterable[WeightedPairs], text: Text) -> Iterator[Pair]:
    """The first pairs, which the vocabularies are trained on."""
    pairs = chain.from_iterable(part.pairs for part in parts)
    return mask_placeholders(islice(pairs, text.vocabulary_pairs), text.placeholders)


def train_codecs(recipe: Recipe, pairs: Iterable[Pair]) -> tuple[SourceCodec, Tokenizer]:
    """The codecs of both sides; a shared one is returned twice."""
    text = recipe.text
    source_kind, target_kind = (
        text.source_codec or text.tokenizer,
        text.target_codec or text.tokenizer,
    )
    if SENTENCEPIECE in (source_kind, target_kind):
        raise UserError(
            f"text.tokenizer: {SENTENCEPIECE!r} comes with an imported model and is not trained; start "
            f"from one with {spell_option('training.init_from', 'MODEL')}, or choose another"
        )
    sentences = [(pair.source, pair.target) for pair in pairs]
    if text.shared_vocabulary:
        size = text.source_vocabulary_size
        shared = _train_tokenizer(chain.from_iterable(sentences), source_kind, "source", size)
        logger.info(f"vocabulary ({source_kind}): {len(shared):,}, shared by source and target")
        return shared, shared
    targets = (target for _, target in sentences)
    target = _train_tokenizer(targets, target_kind, "target", text.target_vocabulary_size)
    sources = (source for source, _ in sentences)
    source: SourceCodec
    if source_kind in FRAME_CODECS:
        source = make_frame_codec(recipe, sources)
        logger.info(f"source ({source_kind}): frames of {source.width}")
    else:
        source = _train_tokenizer(sources, source_kind, "source", text.source_vocabulary_size)
        logger.info(f"vocabulary of the source ({source_kind}): {len(source):,}")
    logger.info(f"vocabulary of the target ({target_kind}): {len(target):,}")
    return source, target


def make_frame_codec(recipe: Recipe, sources: Iterable[str]) -> FrameCodec:
    """The codec of a source of frames; one of words learns them from the sources."""
    frames, kind = recipe.frames, recipe.text.source_codec
    if kind == "word_characters":
        return WordCharacters.train(
            sources,
            size=recipe.text.source_vocabulary_size,
            characters=frames.characters,
            longest=frames.longest_word,
        )
    if kind == "image_columns":
        return ImageColumns(frames.height, frames.columns)
    if kind == "image_patches":
        return ImagePatches(frames.height, frames.width, frames.patch)
    raise UserError(f"text.source_codec: {kind!r} is no codec of frames")


def _train_tokenizer(sentences: Iterable[str], kind: str, side: str, size: int) -> Tokenizer:
    try:
        return Tokenizer.train(sentences, kind=kind, size=size)
    except UserError as error:
        raise UserError(f"text.{side}_vocabulary_size: {error}") from None


def encode_pairs(
    pairs: Iterable[Pair],
    source: SourceCodec,
    target: Tokenizer,
    *,
    max_tokens: int,
    report: ReadReport | None = None,
) -> Examples:
    """Encode pairs; those without a token, or with over `max_tokens`, on a side are dropped."""
    sources, targets = _source_builder(source), SequenceBuilder()
    for source_ids, target_ids in encode_stream(
        pairs, source, target, max_tokens=max_tokens, report=report
    ):
        sources.add(source_ids)
        targets.add(target_ids)
    return Examples(sources.build(), targets.build())


def _source_builder(codec: SourceCodec) -> Any:
    """What collects the sources of a codec."""
    return SequenceBuilder() if isinstance(codec, Tokenizer) else FrameBuilder()


def encode_validation(
    pairs: Iterable[Pair], source: SourceCodec, target: Tokenizer, *, text: Text, max_tokens: int
) -> Examples:
    """Validation pairs as token ids, without BPE dropout; the over-long are left out and logged."""
    parts = [WeightedPairs(pairs)]
    examples = encode_corpus(parts, source, target, text=text, max_tokens=max_tokens)
    return replace(examples, bpe_dropout=None)


def encode_corpus(
    parts: Sequence[WeightedPairs],
    source: SourceCodec,
    target: Tokenizer,
    *,
    text: Text,
    max_tokens: int,
) -> Examples:
    """Training pairs as token ids in memory, with their mixture and BPE dropout."""
    sources, targets = _source_builder(source), SequenceBuilder()

    def add(source_ids: SourceSequence, target_ids: list[int]) -> None:
        sources.add(source_ids)
        targets.add(target_ids)

    mixture = encode_into(add, parts, source, target, text=text, max_tokens=max_tokens)
    bpe_dropout = make_bpe_dropout(text, source, target, max_tokens)
    return Examples(sources.build(), targets.build(), mixture, bpe_dropout)


def encode_into(
    add: Callable[[Any, list[int]], None],
    parts: Sequence[WeightedPairs],
    source: SourceCodec,
    target: Tokenizer,
    *,
    text: Text,
    max_tokens: int,
) -> Mixture:
    """Encode part after part, call `add` for every pair, and log what was left out."""
    sizes = []
    for part in parts:
        report = ReadReport()
        pairs = mask_placeholders(part.pairs, text.placeholders)
        try:
            for source_ids, target_ids in encode_stream(
                pairs, source, target, max_tokens=max_tokens, report=report
            ):
                add(source_ids, target_ids)
        except NoPairFitsError:
            raise no_pair_fits(max_tokens) from None
        for reason, occurrences in report.dropped.items():
            logger.info(f"left out {occurrences.count:,} pairs: {reason}")
        sizes.append(report.kept_count)
    return Mixture(tuple(sizes), tuple(part.weight for part in parts))


def no_pair_fits(max_tokens: int) -> UserError:
    """The error of a corpus without a pair that is short enough."""
    return UserError(f"data.max_tokens: no pair has {max_tokens} tokens or fewer; raise it")


def encode_stream(
    pairs: Iterable[Pair],
    source: SourceCodec,
    target: Tokenizer,
    *,
    max_tokens: int,
    report: ReadReport | None = None,
) -> Iterator[tuple[Any, list[int]]]:
    """Each pair as its codecs encode it, special tokens included; a UserError if there is none."""
    report = ReadReport() if report is None else report
    count = report.kept_count = 0
    for chunk in _chunks(pairs):
        kept, dropped = encode_chunk(chunk, source, target, max_tokens)
        for rejection, line in dropped:
            report.drop(*rejection, line)
        count += len(kept)
        yield from kept
    report.kept_count = count
    if not count:
        reason = f"no pair has 1 to {max_tokens} tokens a side; allow longer sentences"
        raise NoPairFitsError(f"{report.files['source']}: {reason}")


def encode_chunk(
    pairs: Sequence[Pair], source: SourceCodec, target: Tokenizer, max_tokens: int
) -> tuple[list[tuple[Any, list[int]]], list[tuple[tuple[str, Side], int]]]:
    """Some pairs encoded, special tokens included; of each that is dropped, why, and its line."""
    sources = encode_sources(source, [pair.source for pair in pairs])
    targets = target.encode_batch([pair.target for pair in pairs])
    kept, dropped = [], []
    for pair, sequence, target_ids in zip(pairs, sources, targets, strict=True):
        length = source_length(sequence) if len(sequence) else 0
        if rejection := _token_count_rejection(length, len(target_ids), max_tokens):
            dropped.append((rejection, pair.line))
        else:
            kept.append((sequence, [BOS, *target_ids, EOS]))
    return kept, dropped


def make_bpe_dropout(
    text: Text, source: SourceCodec, target: Tokenizer, max_tokens: int
) -> BpeDropout | None:
    """The BPE dropout of a recipe, if it has any."""
    if not text.bpe_dropout or not isinstance(source, Tokenizer):
        return None
    prob = text.bpe_dropout
    return BpeDropout(MergeDropout(source, prob), MergeDropout(target, prob), max_tokens)


def _token_count_rejection(source: int, target: int, max_tokens: int) -> tuple[str, Side] | None:
    counts: dict[Side, int] = {"source": source, "target": target}
    for side, count in counts.items():
        if not count:
            return f"no token in the {side}", side
        if count > max_tokens:
            return f"more than {max_tokens} tokens in the {side}", side
    return None


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    remaining = iter(pairs)
    while chunk := list(islice(remaining, CHUNK_PAIRS)):
        yield chunk
