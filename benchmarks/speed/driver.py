"""The cases by name: run some of them here, and keep a file of each."""

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

from benchmarks.report import RESULTS, write_beside
from benchmarks.speed.additive_attention import SHAPES, additive
from benchmarks.speed.corpus import EncodedCorpus, multi30k
from benchmarks.speed.hardware_limits import ceilings
from benchmarks.speed.model_recipes import FULL, TINY, Size, bahdanau, luong, transformer
from benchmarks.speed.quality import bleu, losses
from benchmarks.speed.scaling import growth
from benchmarks.speed.timing import Effort, Log, Table
from benchmarks.speed.training import train_on_corpus, train_without_padding
from benchmarks.speed.transformers_peer import MARIANS
from benchmarks.speed.translation import endless, ours, ours_plain
from benchmarks.speed.translation_peers import (
    SETTINGS,
    Comparison,
    Setting,
    ctranslate2,
    transformers_generate,
)

DATA, BEGAN = Path("benchmarks/data"), perf_counter()


@dataclass(frozen=True)
class Here:
    """Where, how large and how thoroughly the cases are run."""

    device: str
    quick: bool
    warm: bool
    data: Path
    peers: bool
    seconds: float
    log: Log

    @property
    def size(self) -> Size:
        """The size of the models."""
        return TINY if self.quick else FULL

    @property
    def effort(self) -> Effort:
        """How long to measure: once to warm up, twice to see that it runs."""
        if self.warm:
            return Effort(2, 1, checks=False)
        return Effort(2, 2) if self.quick else Effort(100, 5)

    @property
    def about_quality(self) -> dict[str, Any]:
        """What the cases of quality want to know."""
        names = ("data", "device", "quick", "seconds", "log")
        return {name: getattr(self, name) for name in names}

    def corpus(self) -> EncodedCorpus:
        """Multi30k, or the first few sentences of it."""
        first = 40 if self.quick else None
        return multi30k(self.data / "multi30k", self.size.pieces, first=first)


def limits(here: Here) -> dict[str, Any]:
    """What the device can do at most."""
    return ceilings(device=here.device, quick=here.quick, log=here.log)


def attention(here: Here) -> dict[str, Any]:
    """Additive attention, all queries at once."""
    shapes = ((2, 3, 5, 16),) if here.quick else SHAPES
    return additive(shapes=shapes, compiled=here.peers, log=here.log)


def multi30k_training(
    here: Here, *, recipe: Callable[..., Any], budgets: tuple[int, ...]
) -> dict[str, Any]:
    """A model on Multi30k, with growing batches."""
    return train_on_corpus(
        partial(recipe, here.size),
        here.corpus(),
        device=here.device,
        budgets=(96,) if here.quick else budgets,
        effort=here.effort,
        log=here.log,
    )


def transformer_training(here: Here) -> dict[str, Any]:
    """Transformer-base on sentences of one length, beside `transformers`."""
    peers = [name for name in MARIANS if "compiled" in name or not here.warm]
    return train_without_padding(
        here.size,
        device=here.device,
        peers=peers[: 1 if here.quick else None] if here.peers else (),
        effort=here.effort,
        log=here.log,
    )


def transformer_translation(here: Here) -> dict[str, Any]:
    """Transformer-base translating, beside `transformers` and CTranslate2."""
    settings = (Setting(1, 1), Setting(3, 2)) if here.quick else SETTINGS
    size = here.size
    table = Table({"tokens a side": size.length, "vocabulary": size.vocabulary}, here.log)
    comparison = Comparison(table, size, settings, here.device, here.effort)
    model = endless(transformer(size), size.vocabulary, here.device)
    with table.trying("dhyan"):
        ours(comparison, model)
    if here.peers:
        with table.trying("CTranslate2"):
            ctranslate2(comparison, here.data / "ct2.tar.xz")
        with table.trying("transformers"):
            transformers_generate(comparison)
    ours_plain(comparison, model)
    return table.figures()


def recurrent_translation(here: Here) -> dict[str, Any]:
    """A recurrent model translating."""
    settings = (Setting(3, 1), Setting(3, 2)) if here.quick else (Setting(128, 1), Setting(128, 5))
    size = replace(here.size, vocabulary=here.size.pieces)
    table = Table({"tokens a side": size.length, "vocabulary": size.vocabulary}, here.log)
    comparison = Comparison(table, size, settings, here.device, here.effort)
    model = endless(bahdanau(size), size.vocabulary, here.device)
    with table.trying("dhyan"):
        ours(comparison, model)
    ours_plain(comparison, model)
    return table.figures()


def same_losses(here: Here) -> dict[str, Any]:
    """Fast and plain, the same losses."""
    return losses(**here.about_quality)


def same_bleu(here: Here) -> dict[str, Any]:
    """Fast and plain, the same BLEU."""
    return bleu(**here.about_quality)


def growing(here: Here) -> dict[str, Any]:
    """What training costs as it grows."""
    return growth(size=here.size, device=here.device, quick=here.quick, log=here.log)


Case = Callable[[Here], dict[str, Any]]
SMALL_TO_LARGE = {"budgets": (4096, 16_384, 65_536)}
CASES: dict[str, dict[str, Case]] = {
    "ceilings": {"ceilings": limits},
    "kernels": {"additive": attention},
    "training": {
        "train-bahdanau": partial(multi30k_training, recipe=bahdanau, **SMALL_TO_LARGE),
        "train-luong": partial(multi30k_training, recipe=luong, **SMALL_TO_LARGE),
        "train-luong-unfed": partial(
            multi30k_training, recipe=partial(luong, feeding=False), **SMALL_TO_LARGE
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
    "growth": {"growth": growing},
}


def main(words: Sequence[str]) -> None:
    """Run the cases of some kinds, or those that are named, and write a file for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("kinds", choices=CASES, nargs="+", metavar="KIND", help=" ".join(CASES))
    parser.add_argument("--case", action="append", help="only this one; may come again")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--warm", action="store_true", help="compile what the cases need, no more")
    parser.add_argument("--alone", action="store_true", help="without other libraries")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the files")
    parser.add_argument("--data", type=Path, default=DATA, help="where multi30k/ lies")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of quality: leave off then")
    arguments = parser.parse_args(words)
    gpu = torch.cuda.is_available()
    place, name = ("cuda", torch.cuda.get_device_name()) if gpu else ("cpu", "")
    here = Here(
        device=place,
        quick=arguments.quick,
        warm=arguments.warm,
        data=arguments.data,
        peers=not arguments.alone,
        seconds=arguments.seconds,
        log=_log,
    )
    keep = partial(write_beside, accelerator=name, folder=arguments.out)
    for what, case in {k: v for kind in arguments.kinds for k, v in CASES[kind].items()}.items():
        if arguments.case and what not in arguments.case:
            continue
        _log(f"== {what}")
        with cut_short(what, keep):
            figures = case(here)
        if not arguments.warm:
            print(keep(what, figures), flush=True)


@contextmanager
def cut_short(what: str, keep: Callable[[str, object], Path]) -> Iterator[None]:
    """Whoever ends the process inside the block gets the rows that there are so far."""

    def rescue(number: int, frame: object) -> None:
        if Table.last is not None:
            Table.last.failed["the rest"] = "there was no time"
            print(keep(what, Table.last.figures()), flush=True)
        os._exit(128 + number)

    before = signal.signal(signal.SIGTERM, rescue)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _log(line: str) -> None:
    print(f"{perf_counter() - BEGAN:6.1f} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
