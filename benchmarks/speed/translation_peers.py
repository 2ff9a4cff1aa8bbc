"""Translation throughput of several systems on the same random sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.speed.ctranslate2_peer import TranslationJob, convert_model
from benchmarks.speed.model_recipes import Size
from benchmarks.speed.timing import Effort, Row, Table, throughputs
from benchmarks.speed.transformers_peer import marian

UNIT = "output tokens/s"
DTYPES = {"cuda": ("float16", "int8_float16"), "cpu": ("float32", "int8")}


@dataclass(frozen=True)
class Setting:
    """Batch size and beam width."""

    sentences: int
    beam: int

    def __str__(self) -> str:
        return f"{'greedy' if self.beam == 1 else f'beam {self.beam}'}, {self.sentences}"


SETTINGS = (Setting(1, 1), Setting(128, 1), Setting(1024, 1), Setting(128, 5), Setting(1024, 5))


@dataclass(frozen=True)
class Workload:
    """Input of a search: sources as a tensor and as lists, beam, and output length."""

    ids: Tensor
    rows: list[list[int]]
    beam: int
    length: int


Search = Callable[[Workload], Sequence[Sequence[int]]]


@dataclass(frozen=True)
class Comparison:
    """Random sentences of one length, translated by every system into as many tokens."""

    table: Table
    size: Size
    settings: tuple[Setting, ...]
    device: str
    effort: Effort

    def measure(self, who: str, search: Search, note: str = "", *, slow: bool = False) -> None:
        """Time a search at every setting, provided its outputs have the required length.

        A slow search is timed less often, and not at the largest batch size.
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
                        f"expected {workload.length} tokens each, got {list(map(len, outputs))}"
                    )
                tokens = setting.sentences * workload.length
                rates = throughputs(lambda: search(workload), tokens, repeats=repeats)  # noqa: B023
                self.table.add(Row.of(who, str(setting), UNIT, rates, note))

    def workload(self, setting: Setting) -> Workload:
        """The input of every system at a setting."""
        ids = self.random_sources(setting.sentences)
        return Workload(ids.to(self.device), ids.tolist(), setting.beam, self.size.length)

    def add_row(self, who: str, setting: Setting, seconds: Sequence[float]) -> None:
        """Add a row that was timed in another process."""
        tokens = setting.sentences * self.size.length
        rates = [tokens / duration for duration in seconds]
        self.table.add(Row.of(who, str(setting), UNIT, rates))

    def random_sources(self, sentences: int) -> Tensor:
        """Random source token ids, the same in every run."""
        generator = torch.Generator().manual_seed(sentences)
        shape = (sentences, self.size.length)
        return torch.randint(4, self.size.vocabulary - 1, shape, generator=generator)


def transformers_generate(comparison: Comparison) -> None:
    """`generate` of `transformers`, in bf16."""
    model = marian(comparison.size, comparison.device).bfloat16().eval()
    comparison.measure(
        "transformers, generate", lambda workload: generate(model, workload).tolist()
    )


def ctranslate2(comparison: Comparison, archive: Path | None) -> None:
    """CTranslate2, in each of its precisions, with the weights of MarianMT."""
    device, few = comparison.device, comparison.workload(Setting(16, 1))
    model = marian(comparison.size, device).eval()
    expected = generate(model, few).tolist()
    repeats = comparison.effort.windows
    jobs = [job_of(comparison.workload(setting), repeats) for setting in comparison.settings]
    with convert_model(model.cpu(), archive) as translator:
        [(_, outputs)] = translator.translate([job_of(few, 1)], dtype="float32", device=device)
        comparison.table.check(
            "CTranslate2: share of tokens equal to transformers", matching_share(outputs, expected)
        )
        for dtype in DTYPES[device]:
            with comparison.table.trying(f"CTranslate2, {dtype}"):
                rates = translator.translate(jobs, dtype=dtype, device=device)
                for setting, (seconds, _) in zip(comparison.settings, rates, strict=True):
                    comparison.add_row(f"CTranslate2, {dtype}", setting, seconds)


def job_of(workload: Workload, repeats: int) -> TranslationJob:
    """A workload as a job of CTranslate2."""
    return TranslationJob(workload.rows, workload.beam, workload.length, repeats)


def generate(model: Any, workload: Workload) -> Tensor:
    """Output of `generate` with exactly the required length, without the start token."""
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


def matching_share(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> float:
    """Share of positions at which two outputs have the same token."""
    rows = zip(first, second, strict=True)
    equal = [a == b for row, other in rows for a, b in zip(row, other, strict=True)]
    return sum(equal) / len(equal)
