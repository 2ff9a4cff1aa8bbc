"""What looks wrong about a corpus, and is said before it is trained on."""

import logging
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from dhyan.config import Data
from dhyan.data.pairs import Pair
from dhyan.data.read_text import said
from dhyan.data.writing_systems import Scripts
from dhyan.text.languages import known_language, language_of

logger = logging.getLogger(__name__)

LOOKED_AT = 1000  # pairs
MANY = 0.5  # the share of them that are in other letters than their language


def say_scripts(data: Data, pairs: Iterable[Pair]) -> None:
    """Say so if most of a side is written in other letters than its language."""
    languages = (
        known_language(data.source_language) or language_of(data.source),
        known_language(data.target_language) or language_of(data.target),
    )
    scripts, counts = Scripts.of(languages), Counter[str]()
    for pair in islice(pairs, LOOKED_AT):
        counts.update(scripts.strange(pair))
    own = {"source": scripts.source, "target": scripts.target}
    for side, count in counts.items():
        if (script := own[side]) and count > MANY * scripts.pairs:
            name = said(data.source if side == "source" else data.target or data.source)
            swapped = "; have source and target changed places?" if scripts.crossed else ""
            reason = (
                f"of the first {scripts.pairs:,} {side}s {count:,} have no {script.name} letter"
            )
            logger.warning(f"{name}: {reason}{swapped}")
