"""An English–Hindi corpus made by code: an original grammar that speaks both languages at once."""

from dhyan.data.primer.sentence_pair import SentencePair, TranslationCheck
from dhyan.data.primer.splits import (
    SPLITS,
    Bounds,
    generate_sentence,
    generate_sentences,
    primer_pairs,
)

__all__ = [
    "SPLITS",
    "Bounds",
    "SentencePair",
    "TranslationCheck",
    "primer_pairs",
    "generate_sentences",
    "generate_sentence",
]
