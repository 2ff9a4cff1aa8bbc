"""An English–Hindi corpus made by code: an original grammar that speaks both languages at once."""

from dhyan.data.primer.sentence_pair import Twin, Wanted
from dhyan.data.primer.splits import SPLITS, Bounds, primer_pairs, primer_twins, twin_at

__all__ = ["SPLITS", "Bounds", "Twin", "Wanted", "primer_pairs", "primer_twins", "twin_at"]
