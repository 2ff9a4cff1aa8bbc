"""A comparison in translating: the same made-up sentences for everyone, as long as their answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.speed.ctranslate2_peer import Try, converted
from benchmarks.speed.model_recipes import Size
from benchmarks.speed.timing import Effort, Row, Table, throughputs
from benchmarks.speed.transformers_peer import marian

UNIT = "output tokens/s"
KINDS = {"cuda": ("float16", "int8_float16"), "cpu": ("float32", "int8")}


@dataclass(frozen=True)
class Setting:
    """So many sentences at once, searched with a beam of this width."""

    sentences: int
    beam: int

    def __str__(self) -> str:
        return f"{'greedy' if self.beam == 1 else f'beam {self.beam}'}, {self.sentences}"


SETTINGS = (Setting(1, 1), Setting(128, 1), Setting(1024, 1), Setting(128, 5), Setting(1024, 5))


@dataclass(frozen=True)
class Workload:
    """What a contestant is given: sources as a tensor and as lists, the beam and the length."""

    ids: Tensor
    rows: list[list[int]]
    beam: int
    length: int


Search = Callable[[Workload], Sequence[Sequence[int]]]


@dataclass(frozen=True)
class Comparison:
    """The same made-up sentences for everyone, of one length and translated into as many tokens."""

    table: Table
    size: Size
    settings: tuple[Setting, ...]
    device: str
    effort: Effort

    def measure(self, who: str, search: Search, note: str = "", *, slow: bool = False) -> None:
        """Time a search at every setting, if it says as many tokens as it is asked for.

        A slow one is timed less often, and not with the most sentences.
        """
        repeats = min(self.effort.windows, 2) if slow else self.effort.windows
        for setting in [
            setting for setting in self.settings if setting.sentences <= 128 or not slow
        ]:
            with self.table.trying(f"{who}, {setting}"):
                workload = self.workload(setting)
                outputs = search(workload)
                if any(len(row) != workload.length for row in outputs):
                    raise ValueError(
                        f"not {workload.length} tokens each: {list(map(len, outputs))}"
                    )
                tokens = setting.sentences * workload.length
                rates = throughputs(lambda: search(workload), tokens, repeats=repeats)  # noqa: B023
                self.table.add(Row.of(who, str(setting), UNIT, rates, note))

    def workload(self, setting: Setting) -> Workload:
        """What everyone is given at a setting."""
        ids = self.random_sources(setting.sentences)
        return Workload(ids.to(self.device), ids.tolist(), setting.beam, self.size.length)

    def note(self, who: str, setting: Setting, seconds: Sequence[float]) -> None:
        """What was timed elsewhere."""
        tokens = setting.sentences * self.size.length
        rates = [tokens / setting for setting in seconds]
        self.table.add(Row.of(who, str(setting), UNIT, rates))

    def random_sources(self, sentences: int) -> Tensor:
        """The sources: the same every time."""
        draw = torch.Generator().manual_seed(sentences)
        shape = (sentences, self.size.length)
        return torch.randint(4, self.size.vocabulary - 1, shape, generator=draw)


def transformers_generate(comparison: Comparison) -> None:
    """`generate` of `transformers`, in bf16."""
    model = marian(comparison.size, comparison.device).bfloat16().eval()
    comparison.measure(
        "transformers, generate", lambda workload: generate(model, workload).tolist()
    )


def ctranslate2(comparison: Comparison, packed: Path | None) -> None:
    """CTranslate2, in each of its precisions, with the weights of MarianMT."""
    device, few = comparison.device, comparison.workload(Setting(16, 1))
    model = marian(comparison.size, device).eval()
    expected = generate(model, few).tolist()
    repeats = comparison.effort.windows
    tries = [try_of(comparison.workload(setting), repeats) for setting in comparison.settings]
    with converted(model.cpu(), packed) as ready:
        [(_, outputs)] = ready.translate([try_of(few, 1)], dtype="float32", device=device)
        comparison.table.check("CTranslate2 says what transformers says", same(outputs, expected))
        for dtype in KINDS[device]:
            with comparison.table.trying(f"CTranslate2, {dtype}"):
                rates = ready.translate(tries, dtype=dtype, device=device)
                for setting, (seconds, _) in zip(comparison.settings, rates, strict=True):
                    comparison.note(f"CTranslate2, {dtype}", setting, seconds)


def try_of(workload: Workload, repeats: int) -> Try:
    """The same, as CTranslate2 is asked."""
    return Try(workload.rows, workload.beam, workload.length, repeats)


def generate(model: Any, workload: Workload) -> Tensor:
    """What `generate` says in exactly so many tokens, without the first one it is given."""
    model.generation_config.eos_token_id = None
    with torch.inference_mode():
        outputs = model.generate(
            input_ids=workload.ids,
            attention_mask=torch.ones_like(workload.ids),
            num_beams=workload.beam,
            do_sample=False,
            max_new_tokens=workload.length,
        )
    return outputs[:, 1:]


def same(setting: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> float:
    """The share of places at which two searches say the same."""
    rows = zip(setting, other, strict=True)
    equal = [a == b for row, twin in rows for a, b in zip(row, twin, strict=True)]
    return sum(equal) / len(equal)
