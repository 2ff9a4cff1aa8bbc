"""From pairs of sentences to vocabularies, and to ids."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from dhyan.config import Text
from dhyan.data.examples import Dropout, Examples, Growing, NoneFits, encoded
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair, Tally
from dhyan.errors import UserError
from dhyan.text.bpe_dropout import MergeDropout
from dhyan.text.placeholders import mask_pair
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """One corpus of perhaps several; its pairs, which can be gone through again and again."""

    pairs: Iterable[Pair]
    weight: float = 1.0


def masked(pairs: Iterable[Pair], kinds: Sequence[str]) -> Iterator[Pair]:
    """The pairs with placeholders for what passes the model by."""
    for pair in pairs:
        if kinds:
            source, target = mask_pair(pair.source, pair.target, kinds)
            yield replace(pair, source=source, target=target)
        else:
            yield pair


def lessons(parts: Iterable[Part], text: Text) -> Iterator[Pair]:
    """The first pairs, from which vocabularies are learned."""
    pairs = chain.from_iterable(part.pairs for part in parts)
    return masked(islice(pairs, text.vocabulary_pairs), text.placeholders)


def learn_tokenizers(text: Text, pairs: Iterable[Pair]) -> tuple[Tokenizer, Tokenizer]:
    """The vocabularies of both sides; a shared one is the same twice."""
    sentences = [(pair.source, pair.target) for pair in pairs]
    if text.shared_vocabulary:
        both = _learn(
            chain.from_iterable(sentences), text.tokenizer, "source", text.source_vocabulary_size
        )
        logger.info(f"vocabulary ({text.tokenizer}): {len(both):,}, shared by source and target")
        return both, both
    source = _learn(
        (one for one, _ in sentences), text.tokenizer, "source", text.source_vocabulary_size
    )
    target = _learn(
        (other for _, other in sentences), text.tokenizer, "target", text.target_vocabulary_size
    )
    logger.info(f"vocabularies ({text.tokenizer}): {len(source):,} source, {len(target):,} target")
    return source, target


def encode(
    pairs: Iterable[Pair],
    source: Tokenizer,
    target: Tokenizer,
    *,
    text: Text,
    longest: int,
) -> Examples:
    """Pairs as ids, as they are when validated on; the over-long are left out and said."""
    examples = encode_parts([Part(pairs)], source, target, text=text, longest=longest)
    return replace(examples, dropout=None)


def encode_parts(
    parts: Sequence[Part],
    source: Tokenizer,
    target: Tokenizer,
    *,
    text: Text,
    longest: int,
) -> Examples:
    """Training pairs as ids in memory, with how often each part comes and how words are cut."""
    sources, targets = Growing(), Growing()

    def add(one: list[int], other: list[int]) -> None:
        sources.add(one)
        targets.add(other)

    mixture = pour(parts, source, target, add, text=text, longest=longest)
    cuts = merge_dropout(text, source, target, longest)
    return Examples(sources.done(), targets.done(), mixture, cuts)


def pour(
    parts: Sequence[Part],
    source: Tokenizer,
    target: Tokenizer,
    add: Callable[[list[int], list[int]], None],
    *,
    text: Text,
    longest: int,
) -> Mixture:
    """Encode part after part, hand on pair after pair, and say what was left out."""
    sizes = []
    for part in parts:
        tally = Tally()
        pairs = masked(part.pairs, text.placeholders)
        try:
            for one, other in encoded(pairs, source, target, longest=longest, tally=tally):
                add(one, other)
        except NoneFits:
            raise UserError(
                f"data.max_tokens: no pair has {longest} tokens or fewer; raise it"
            ) from None
        for reason, noted in tally.drops.items():
            logger.info(f"left out {noted.count:,} pairs: {reason}")
        sizes.append(tally.kept)
    return Mixture(tuple(sizes), tuple(part.weight for part in parts))


def merge_dropout(text: Text, source: Tokenizer, target: Tokenizer, longest: int) -> Dropout | None:
    """How words are cut anew each time they are trained on, if the recipe wants it."""
    if not text.bpe_dropout:
        return None
    chance = text.bpe_dropout
    return Dropout(MergeDropout(source, chance), MergeDropout(target, chance), longest)


def _learn(sentences: Iterable[str], kind: str, side: str, size: int) -> Tokenizer:
    try:
        return Tokenizer.learn(sentences, kind=kind, size=size)
    except UserError as fault:
        raise UserError(f"text.{side}_size: {fault}") from None
