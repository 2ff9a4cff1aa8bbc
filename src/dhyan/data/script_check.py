"""Script check: lines that are not in the script of their language, and swapped sides."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from dhyan.config import Data
from dhyan.data.pairs import Pair, Side
from dhyan.data.text_lines import printable
from dhyan.text.languages import Script, language_of, parse_language, script_of

logger = logging.getLogger(__name__)

SWAPPED_SHARE = 0.5  # of the pairs, with each side in the script of the other
SAMPLE_PAIRS = 1000  # pairs at the start of a corpus that are checked before training
WARNING_SHARE = 0.5  # of the sample, in another script than the language's


@dataclass
class ScriptCheck:
    """Checks whether each side is in the script of its language; an unknown one is not checked."""

    source: Script | None
    target: Script | None
    pairs: int = 0
    swapped_pairs: int = 0

    @classmethod
    def of(cls, languages: Sequence[str]) -> "ScriptCheck":
        """The check for the languages of source and target."""
        source, target = map(script_of, languages)
        return cls(source, target)

    def wrong_sides(self, pair: Pair) -> list[Side]:
        """The sides of a pair that have no letter of their language's script."""
        sides: dict[Side, tuple[Script | None, str]] = {
            "source": (self.source, pair.source),
            "target": (self.target, pair.target),
        }
        wrong = [
            side for side, (script, text) in sides.items() if script and script.is_missing(text)
        ]
        self.pairs += 1
        self.swapped_pairs += len(wrong) == len(sides)
        return wrong

    @property
    def swapped(self) -> bool:
        """Whether source and target seem to be swapped."""
        return self.source != self.target and self.swapped_pairs > SWAPPED_SHARE * self.pairs


def warn_about_scripts(data: Data, pairs: Iterable[Pair]) -> None:
    """Log a warning if most of a side is in another script than its language's."""
    languages = (
        parse_language(data.source_language) or language_of(data.source),
        parse_language(data.target_language) or language_of(data.target),
    )
    check, counts = ScriptCheck.of(languages), Counter[Side]()
    for pair in islice(pairs, SAMPLE_PAIRS):
        counts.update(check.wrong_sides(pair))
    for side, count in counts.items():
        script = check.source if side == "source" else check.target
        if script and count > WARNING_SHARE * check.pairs:
            file = printable(data.source if side == "source" else data.target or data.source)
            reason = f"{count:,} of the first {check.pairs:,} {side}s have no {script.name} letter"
            hint = "; are source and target swapped?" if check.swapped else ""
            logger.warning(f"{file}: {reason}{hint}")
