"""How translations are looked for: the width and bounds of a search, or a way to draw words."""

import math
from dataclasses import dataclass, replace

from dhyan.decoding.errors import Unfit

OF_SAMPLING = ("temperature", "top_k", "top_p", "seed")
COLDEST, STEEPEST = 1e-6, 10  # past these, single precision has no numbers left


@dataclass(frozen=True, kw_only=True)
class Manner:
    """All that may be chosen about a search; what contradicts itself is refused.

    `least` and `limit` bound the tokens of a translation, 0 for none and for a limit that follows
    from the source. `coverage` weighs how much of the source was attended to (Wu et al., 2016);
    `groups` part the beam into such that avoid each other's words by `diversity`. `sample` draws
    words instead of searching: as many translations as `nbest` says, whatever the beam.
    """

    beam: int = 5
    nbest: int = 1
    length_power: float = 1.0
    least: int = 0
    limit: int = 0
    no_repeat: int = 0
    coverage: float = 0.0
    groups: int = 1
    diversity: float = 0.5
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("length_power", "coverage", "diversity", "temperature", "top_p"):
            value = getattr(self, name)
            _check(math.isfinite(value), f"{{{name}}} is {value}: give a number")
        for name in ("beam", "nbest", "groups"):
            value = getattr(self, name)
            _check(value >= 1, f"{{{name}}} is {value}: give at least 1")
        for name in ("least", "limit", "no_repeat", "coverage", "diversity", "top_k"):
            value = getattr(self, name)
            _check(value >= 0, f"{{{name}}} is {value}: give 0 for none, or more")
        power = self.length_power
        _check(0 <= power <= STEEPEST, f"{{length_power}} is {power}: give 0 to {STEEPEST}")
        _check(self.seed >= 0, f"{{seed}} is {self.seed}: give 0 or more")
        _check(
            self.temperature >= COLDEST,
            f"{{temperature}} is {self.temperature}: give more than 0, at least {COLDEST}",
        )
        _check(0 < self.top_p <= 1, f"{{top_p}} is {self.top_p}: give more than 0, at most 1")
        _check(
            not self.limit or self.least < self.limit,
            f"{{least}} {self.least} leaves no room for an end within {{limit}} {self.limit}",
        )
        self._check_ways()

    def _check_ways(self) -> None:
        """A search of groups, a search that is ranked anew, and sampling do not all go together."""
        if self.sample:
            _check(
                self.groups == 1, "{sample} draws word by word and has no beam: set {groups} to 1"
            )
            _check(not self.coverage, "{coverage} ranks what a beam found: set it to 0 to sample")
        else:
            _check(
                self.width % self.groups == 0,
                f"{{groups}} {self.groups} do not divide a beam of {self.width} evenly",
            )

    @property
    def width(self) -> int:
        """How many beginnings are kept: at least as many as are asked for."""
        return 1 if self.sample else max(self.beam, self.nbest)

    @property
    def requires(self) -> bool:
        """Whether the search has the room to see to required terms: two places in each group."""
        return self.width // self.groups > 1

    def changed(self, **changes: object) -> "Manner":
        """The same but for what is given; None leaves it, and what would have no effect is refused.

        So the temperature of a recipe may wait for someone to sample, one asked for may not.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        if unknown := sorted(given.keys() - self.__dataclass_fields__):
            raise TypeError(f"a manner of searching has no {unknown[0]!r}")
        manner = replace(self, **given)  # type: ignore[arg-type]
        if manner.sample:
            wide = given.get("beam", 1)
            _check(wide == 1, f"{{sample}} draws words and has no beam: leave out {{beam}} {wide}")
        else:
            for name in OF_SAMPLING:
                _check(name not in given, f"{{{name}}} is of use only with {{sample}}: add it")
        if manner.width == 1:
            _check(not given.get("coverage"), "{coverage} ranks what a beam of 2 or more found")
        if manner.groups == 1:
            _check("diversity" not in given, "{diversity} is of use only with two {groups} or more")
        return manner


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Unfit(otherwise)
