"""Decoding options: greedy, beam search and its penalties, sampling, length bounds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from dhyan.config.declare_settings import problems_in, setting, settings_of
from dhyan.errors import UnsupportedOption


class DecodingChanges(TypedDict, total=False):
    """Keyword arguments that change decoding options for one call; None leaves one as it is.

    These are the settings of `DecodingOptions` without `max_source_length`.
    """

    beam: int | None
    nbest: int | None
    length_penalty: float | None
    coverage_penalty: float | None
    min_length: int | None
    max_length: int | None
    no_repeat_ngram: int | None
    beam_groups: int | None
    diversity_penalty: float | None
    sample: bool | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """How to search for translations.

    The same class is the section [decoding] of a recipe, the default of a `Translator`, and what
    the command line and the server change. Lengths count tokens without EOS.

    >>> dhyan.DecodingOptions(beam=4).changed(nbest=2).nbest
    2
    """

    max_source_length: int = setting(
        1024,
        "Maximum length of a source sentence, in tokens; a longer one is an error.",
        low=1,
        high=10_000,
    )
    beam: int = setting(
        5, "Beam size, in hypotheses per sentence; 1 is greedy search.", low=1, high=1000
    )
    nbest: int = setting(1, "N-best list: number of translations per sentence.", low=1, high=1000)
    length_penalty: float = setting(
        1.0,
        "Length penalty, an exponent: scores are log-probability / length ** this.",
        low=0.0,
        high=10.0,
    )
    coverage_penalty: float = setting(
        0.0, "Coverage penalty weight (Wu et al., 2016); 0 is none.", low=0.0, high=1e6
    )
    min_length: int = setting(
        0, "Minimum length of a translation, in tokens; 0 is none.", low=0, high=10_000
    )
    max_length: int = setting(
        0, "Maximum length of a translation, in tokens; 0 is 3 × source + 50.", low=0, high=10_000
    )
    no_repeat_ngram: int = setting(
        0, "No-repeat n-gram size, in tokens: none occurs twice; 0 allows all.", low=0, high=10_000
    )
    beam_groups: int = setting(
        1,
        "Number of groups of diverse beam search (Vijayakumar et al., 2018); 1 is none.",
        low=1,
        high=1000,
    )
    diversity_penalty: float = setting(
        0.5,
        "Diversity penalty between beam groups, per repeated token, in log-probability.",
        low=0.0,
        high=1e6,
    )
    sample: bool = setting(
        False, "Sampling: draw tokens from the model's distribution, without a beam."
    )
    temperature: float = setting(
        1.0,
        "Sampling temperature; below 1 prefers likely tokens.",
        low=1e-6,  # below this, single precision overflows
        high=1e6,
        only_with="sample",
    )
    top_k: int = setting(
        0,
        "Top-k sampling (Fan et al., 2018): from the k likeliest tokens; 0 is all.",
        low=0,
        high=1_000_000,
        only_with="sample",
    )
    top_p: float = setting(
        1.0,
        "Nucleus sampling (Holtzman et al., 2020): from this probability mass; 1 is all.",
        low=1e-6,
        high=1.0,
        only_with="sample",
    )
    seed: int = setting(1, "Random seed of sampling.", low=0, only_with="sample")

    @property
    def width(self) -> int:
        """Hypotheses kept per sentence: the beam, or `nbest` if that is more; 1 for sampling."""
        return 1 if self.sample else max(self.beam, self.nbest)

    @property
    def constrains(self) -> bool:
        """Whether search can enforce required tokens: at least two hypotheses in each group."""
        return self.width // self.beam_groups > 1

    def check(self) -> None:
        """Raise UnsupportedOption for a value out of bounds, or for options in contradiction."""
        for problem in self.problems():
            raise UnsupportedOption(problem)

    def problems(self) -> Iterator[str]:
        """Everything wrong with these options; names of options stand in braces."""
        yield from (f"{{{name}}}: {problem}" for name, problem in problems_in(self))
        if self.max_length and self.min_length >= self.max_length:
            yield (
                f"{{min_length}} {self.min_length} leaves no room for an end within "
                f"{{max_length}} {self.max_length}"
            )
        if self.sample and self.beam_groups > 1:
            yield "{sample} has no beam: set {beam_groups} to 1"
        if self.sample and self.coverage_penalty:
            yield "{coverage_penalty} ranks the hypotheses of a beam: set it to 0 to sample"
        if self.beam_groups > 1 and self.width % self.beam_groups:
            yield f"{{beam_groups}} {self.beam_groups} do not divide a beam of {self.width} evenly"

    def changed(self, **changes: Unpack[DecodingChanges]) -> "DecodingOptions":
        """Checked options with these changes; None leaves an option as it is.

        A change without an effect is an error: a recipe may hold a temperature for the day someone
        samples, but a temperature given here needs `sample`.
        """
        for name in changes:
            if name not in DecodingChanges.__annotations__:
                raise TypeError(f"no decoding option of a call is named {name!r}")
        values: dict[str, Any] = {
            name: value for name, value in changes.items() if value is not None
        }
        options = replace(self, **values)
        options.check()
        declared = settings_of(self)
        for name in values:
            if not declared[name].is_used(options):
                raise UnsupportedOption(f"{{{name}}} has no effect without {{sample}}: add it")
        if options.sample and values.get("beam", 1) > 1:
            raise UnsupportedOption(f"{{sample}} has no beam: leave out {{beam}} {options.beam}")
        if values.get("coverage_penalty") and options.width == 1:
            raise UnsupportedOption("{coverage_penalty} needs a {beam} of 2 or more")
        if "diversity_penalty" in values and options.beam_groups == 1:
            raise UnsupportedOption("{diversity_penalty} needs two {beam_groups} or more")
        return options
