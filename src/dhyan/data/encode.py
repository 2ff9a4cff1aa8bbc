"""Train the tokenizers on sentence pairs, and encode the pairs as token ids."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Protocol, runtime_checkable

from dhyan.config import Text
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair, Side
from dhyan.data.read_report import ReadReport
from dhyan.data.store import BpeDropout, Examples, SequenceBuilder
from dhyan.errors import UserError, spell_option
from dhyan.special_tokens import BOS, EOS
from dhyan.text.bpe_dropout import MergeDropout
from dhyan.text.placeholders import mask_pair
from dhyan.text.sentencepiece import KIND as SENTENCEPIECE
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

CHUNK_PAIRS = 4096  # encoded at a time


class NoPairFitsError(UserError):
    """Every pair of a corpus is too long, or empty once it is encoded."""


@runtime_checkable
class BatchEncoder(Protocol):
    """Turns sentences into token ids without special tokens: a Tokenizer."""

    def encode_batch(self, sentences: list[str], /) -> list[list[int]]:
        """The ids of each sentence."""
        ...


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


def train_tokenizers(text: Text, pairs: Iterable[Pair]) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of both sides; a shared one is returned twice."""
    if text.tokenizer == SENTENCEPIECE:
        raise UserError(
            f"text.tokenizer: {SENTENCEPIECE!r} comes with an imported model and is not trained; start "
            f"from one with {spell_option('training.init_from', 'MODEL')}, or choose another"
        )
    sentences = [(pair.source, pair.target) for pair in pairs]
    if text.shared_vocabulary:
        size = text.source_vocabulary_size
        shared = _train_tokenizer(chain.from_iterable(sentences), text.tokenizer, "source", size)
        logger.info(f"vocabulary ({text.tokenizer}): {len(shared):,}, shared by source and target")
        return shared, shared
    source, target = (
        _train_tokenizer((pair[index] for pair in sentences), text.tokenizer, side, size)
        for index, (side, size) in enumerate(
            (("source", text.source_vocabulary_size), ("target", text.target_vocabulary_size))
        )
    )
    logger.info(f"vocabularies ({text.tokenizer}): {len(source):,} source, {len(target):,} target")
    return source, target


def _train_tokenizer(sentences: Iterable[str], kind: str, side: str, size: int) -> Tokenizer:
    try:
        return Tokenizer.train(sentences, kind=kind, size=size)
    except UserError as error:
        raise UserError(f"text.{side}_vocabulary_size: {error}") from None


def encode_pairs(
    pairs: Iterable[Pair],
    source: BatchEncoder,
    target: BatchEncoder,
    *,
    max_tokens: int,
    report: ReadReport | None = None,
) -> Examples:
    """Encode pairs; those without a token, or with over `max_tokens`, on a side are dropped."""
    sources, targets = SequenceBuilder(), SequenceBuilder()
    for source_ids, target_ids in encode_stream(
        pairs, source, target, max_tokens=max_tokens, report=report
    ):
        sources.add(source_ids)
        targets.add(target_ids)
    return Examples(sources.build(), targets.build())


def encode_validation(
    pairs: Iterable[Pair], source: Tokenizer, target: Tokenizer, *, text: Text, max_tokens: int
) -> Examples:
    """Validation pairs as token ids, without BPE dropout; the over-long are left out and logged."""
    parts = [WeightedPairs(pairs)]
    examples = encode_corpus(parts, source, target, text=text, max_tokens=max_tokens)
    return replace(examples, bpe_dropout=None)


def encode_corpus(
    parts: Sequence[WeightedPairs],
    source: Tokenizer,
    target: Tokenizer,
    *,
    text: Text,
    max_tokens: int,
) -> Examples:
    """Training pairs as token ids in memory, with their mixture and BPE dropout."""
    sources, targets = SequenceBuilder(), SequenceBuilder()

    def add(source_ids: list[int], target_ids: list[int]) -> None:
        sources.add(source_ids)
        targets.add(target_ids)

    mixture = encode_into(add, parts, source, target, text=text, max_tokens=max_tokens)
    bpe_dropout = make_bpe_dropout(text, source, target, max_tokens)
    return Examples(sources.build(), targets.build(), mixture, bpe_dropout)


def encode_into(
    add: Callable[[list[int], list[int]], None],
    parts: Sequence[WeightedPairs],
    source: Tokenizer,
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
            raise UserError(
                f"data.max_tokens: no pair has {max_tokens} tokens or fewer; raise it"
            ) from None
        for reason, occurrences in report.dropped.items():
            logger.info(f"left out {occurrences.count:,} pairs: {reason}")
        sizes.append(report.kept_count)
    return Mixture(tuple(sizes), tuple(part.weight for part in parts))


def encode_stream(
    pairs: Iterable[Pair],
    source: BatchEncoder,
    target: BatchEncoder,
    *,
    max_tokens: int,
    report: ReadReport | None = None,
) -> Iterator[tuple[list[int], list[int]]]:
    """The token ids of pair after pair, special tokens included; a UserError if there is none."""
    report = ReadReport() if report is None else report
    count = report.kept_count = 0
    for chunk in _chunks(pairs):
        sources = source.encode_batch([pair.source for pair in chunk])
        targets = target.encode_batch([pair.target for pair in chunk])
        for pair, source_ids, target_ids in zip(chunk, sources, targets, strict=True):
            if rejection := _token_count_rejection(len(source_ids), len(target_ids), max_tokens):
                report.drop(*rejection, pair.line)
            else:
                count += 1
                yield [*source_ids, EOS], [BOS, *target_ids, EOS]
    report.kept_count = count
    if not count:
        reason = f"no pair has 1 to {max_tokens} tokens a side; allow longer sentences"
        raise NoPairFitsError(f"{report.files['source']}: {reason}")


def make_bpe_dropout(
    text: Text, source: Tokenizer, target: Tokenizer, max_tokens: int
) -> BpeDropout | None:
    """The BPE dropout of a recipe, if it has any."""
    if not text.bpe_dropout:
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
