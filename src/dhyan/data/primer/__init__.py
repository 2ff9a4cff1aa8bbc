"""An English–Hindi corpus made by code: an original grammar that speaks both languages at once."""

from dhyan.data.primer.stream import SPLITS, Bounds, primer_pairs, primer_twins, twin_at
from dhyan.data.primer.twin import Twin, Wanted

__all__ = ["SPLITS", "Bounds", "Twin", "Wanted", "primer_pairs", "primer_twins", "twin_at"]
