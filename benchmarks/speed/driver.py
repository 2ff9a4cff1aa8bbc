"""Speed benchmarks by name: run them on this machine and write a result file for each."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from benchmarks.report import RESULTS, write_device_result
from benchmarks.speed.additive_attention import SHAPES, additive_attention
from benchmarks.speed.corpus import EncodedCorpus, multi30k
from benchmarks.speed.hardware_limits import hardware_limits
from benchmarks.speed.model_recipes import FULL, TINY, Size, bahdanau, luong, transformer
from benchmarks.speed.quality import compare_bleu, compare_losses
from benchmarks.speed.scaling import scaling
from benchmarks.speed.timing import Effort, Log, Table
from benchmarks.speed.training import train_on_corpus, train_without_padding
from benchmarks.speed.transformers_peer import MARIANS
from benchmarks.speed.translation import measure_engine, measure_reference_search, model_without_eos
from benchmarks.speed.translation_peers import (
    SETTINGS,
    Comparison,
    Setting,
    ctranslate2,
    transformers_generate,
)

DATA, START = Path("benchmarks/data"), perf_counter()


@dataclass(frozen=True)
class RunOptions:
    """Device, sizes, data, and how long to measure."""

    device: str
    quick: bool
    warm: bool
    data: Path
    peers: bool
    seconds: float
    log: Log

    @property
    def size(self) -> Size:
        """Size of the models."""
        return TINY if self.quick else FULL

    @property
    def effort(self) -> Effort:
        """How long to measure: least for warming up, little for `--quick`."""
        if self.warm:
            return Effort(2, 1, checks=False)
        return Effort(2, 2) if self.quick else Effort(100, 5)

    @property
    def quality_options(self) -> dict[str, Any]:
        """Arguments of the quality benchmarks."""
        names = ("data", "device", "quick", "seconds", "log")
        return {name: getattr(self, name) for name in names}

    def corpus(self) -> EncodedCorpus:
        """Multi30k, or its first 40 sentences."""
        first = 40 if self.quick else None
        return multi30k(self.data / "multi30k", self.size.pieces, first=first)


def device_limits(options: RunOptions) -> dict[str, Any]:
    """Peak rates of the device."""
    return hardware_limits(device=options.device, quick=options.quick, log=options.log)


def attention_kernels(options: RunOptions) -> dict[str, Any]:
    """Additive attention, all queries in one call."""
    shapes = ((2, 3, 5, 16),) if options.quick else SHAPES
    return additive_attention(shapes=shapes, compiled=options.peers, log=options.log)


def multi30k_training(
    options: RunOptions, *, recipe: Callable[..., Any], budgets: tuple[int, ...]
) -> dict[str, Any]:
    """Training on Multi30k with several batch sizes."""
    return train_on_corpus(
        partial(recipe, options.size),
        options.corpus(),
        device=options.device,
        budgets=(96,) if options.quick else budgets,
        effort=options.effort,
        log=options.log,
    )


def transformer_training(options: RunOptions) -> dict[str, Any]:
    """Training Transformer-base on sentences of one length, beside `transformers`."""
    peers = [name for name in MARIANS if "compiled" in name or not options.warm]
    return train_without_padding(
        options.size,
        device=options.device,
        peers=peers[: 1 if options.quick else None] if options.peers else (),
        effort=options.effort,
        log=options.log,
    )


def transformer_translation(options: RunOptions) -> dict[str, Any]:
    """Translation with Transformer-base, beside `transformers` and CTranslate2."""
    settings = (Setting(1, 1), Setting(3, 2)) if options.quick else SETTINGS
    size = options.size
    table = Table({"tokens a side": size.length, "vocabulary": size.vocabulary}, options.log)
    comparison = Comparison(table, size, settings, options.device, options.effort)
    model = model_without_eos(transformer(size), size.vocabulary, options.device)
    with table.trying("dhyan"):
        measure_engine(comparison, model)
    if options.peers:
        with table.trying("CTranslate2"):
            ctranslate2(comparison, options.data / "ct2.tar.xz")
        with table.trying("transformers"):
            transformers_generate(comparison)
    measure_reference_search(comparison, model)
    return table.figures()


def recurrent_translation(options: RunOptions) -> dict[str, Any]:
    """Translation with a recurrent model."""
    settings = (
        (Setting(3, 1), Setting(3, 2)) if options.quick else (Setting(128, 1), Setting(128, 5))
    )
    size = replace(options.size, vocabulary=options.size.pieces)
    table = Table({"tokens a side": size.length, "vocabulary": size.vocabulary}, options.log)
    comparison = Comparison(table, size, settings, options.device, options.effort)
    model = model_without_eos(bahdanau(size), size.vocabulary, options.device)
    with table.trying("dhyan"):
        measure_engine(comparison, model)
    measure_reference_search(comparison, model)
    return table.figures()


def same_losses(options: RunOptions) -> dict[str, Any]:
    """Losses of fused and reference kernels."""
    return compare_losses(**options.quality_options)


def same_bleu(options: RunOptions) -> dict[str, Any]:
    """BLEU of fused and reference kernels."""
    return compare_bleu(**options.quality_options)


def training_scaling(options: RunOptions) -> dict[str, Any]:
    """Training throughput by batch size, length and width."""
    return scaling(size=options.size, device=options.device, quick=options.quick, log=options.log)


Case = Callable[[RunOptions], dict[str, Any]]
BATCH_SIZES = {"budgets": (4096, 16_384, 65_536)}
CASES: dict[str, dict[str, Case]] = {
    "hardware-limits": {"hardware-limits": device_limits},
    "kernels": {"additive": attention_kernels},
    "training": {
        "train-bahdanau": partial(multi30k_training, recipe=bahdanau, **BATCH_SIZES),
        "train-luong": partial(multi30k_training, recipe=luong, **BATCH_SIZES),
        "train-luong-unfed": partial(
            multi30k_training, recipe=partial(luong, feeding=False), **BATCH_SIZES
        ),
        "train-transformer-multi30k": partial(
            multi30k_training,
            recipe=partial(transformer, shared=False),
            budgets=(16_384, 65_536),
        ),
        "train-transformer": transformer_training,
    },
    "translation": {
        "translate-bahdanau": recurrent_translation,
        "translate-transformer": transformer_translation,
    },
    "quality": {"quality-losses": same_losses, "quality-bleu": same_bleu},
    "scaling": {"scaling": training_scaling},
}


def main(words: Sequence[str]) -> None:
    """Run the cases of these benchmarks, or those named by `--case`; write a file for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument(
        "benchmarks", choices=CASES, nargs="+", metavar="BENCHMARK", help=" ".join(CASES)
    )
    parser.add_argument("--case", action="append", help="run only this case; repeatable")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, to test that everything runs"
    )
    parser.add_argument("--warm", action="store_true", help="compile the kernels, measure nothing")
    parser.add_argument("--alone", action="store_true", help="leave out other libraries")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result files")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that contains multi30k/")
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="time limit of quality (3600)"
    )
    arguments = parser.parse_args(words)
    gpu = torch.cuda.is_available()
    device, name = ("cuda", torch.cuda.get_device_name()) if gpu else ("cpu", "")
    options = RunOptions(
        device=device,
        quick=arguments.quick,
        warm=arguments.warm,
        data=arguments.data,
        peers=not arguments.alone,
        seconds=arguments.seconds,
        log=_log,
    )
    write = partial(write_device_result, accelerator=name, folder=arguments.out)
    cases = {k: v for name in arguments.benchmarks for k, v in CASES[name].items()}
    for what, case in cases.items():
        if arguments.case and what not in arguments.case:
            continue
        _log(f"== {what}")
        with write_if_terminated(what, write):
            figures = case(options)
        if not arguments.warm:
            print(write(what, figures), flush=True)


@contextmanager
def write_if_terminated(what: str, write: Callable[[str, object], Path]) -> Iterator[None]:
    """On SIGTERM inside the block, write the rows measured so far and exit."""

    def write_and_exit(number: int, frame: object) -> None:
        if Table.last is not None:
            Table.last.failed["remaining cases"] = "terminated"
            print(write(what, Table.last.figures()), flush=True)
        os._exit(128 + number)

    before = signal.signal(signal.SIGTERM, write_and_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _log(line: str) -> None:
    print(f"{perf_counter() - START:6.1f} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
