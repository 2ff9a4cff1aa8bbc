"""COMET (Rei et al., 2020): a neural score of translations, by the package unbabel-comet.

Neither the package nor a model comes with dhyan, and nothing is downloaded: an environment variable
names the file of a model.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dhyan.errors import UserError
from dhyan.evaluation.metric import Metric, Totals

VARIABLE = "DHYAN_COMET_MODEL"  # of the environment: the checkpoint of a model
PACKAGE = "unbabel-comet"
BATCH = 16
EXAMPLE = "checkpoints/model.ckpt of Unbabel/wmt22-comet-da"


def corpus_counts(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[Totals]:
    """The score of every sentence by its first reference, with a count of 1."""
    model = _load(_model_file())
    data = [
        {"src": source, "mt": hypothesis, "ref": first}
        for source, hypothesis, (first, *_) in zip(sources, hypotheses, references, strict=True)
    ]
    prediction = model.predict(data, batch_size=BATCH, gpus=_gpus(), progress_bar=False)
    scores = [float(score) for score in prediction["scores"]]
    if len(scores) != len(data):
        raise UserError(f"{PACKAGE}: gave {len(scores):,} scores for {len(data):,} sentences")
    return [{"score": score, "sentences": 1} for score in scores]


def mean_score(totals: Totals) -> float:
    """The mean of the sentences, times 100."""
    return 100 * totals["score"] / totals["sentences"]


def sign(reference_count: int, marks: Mapping[str, object]) -> str:
    """The model, by the names of its folder and file, and the package."""
    path = _model_file()
    names = f"{path.parent.parent.name}/{path.name}" if path.parent.parent.name else path.name
    fields = {"nrefs": min(reference_count, 1), **marks, "refs": "first", "model": names}
    return "|".join(f"{name}:{value}" for name, value in (fields | {PACKAGE: _version()}).items())


def _counts(hypothesis: str, references: Sequence[str]) -> Totals:
    raise AssertionError("COMET reads the sources: it has corpus_counts")


def _model_file() -> Path:
    name = os.environ.get(VARIABLE, "")
    path = Path(name)
    if not name or not path.is_file():
        found = f"{VARIABLE} is {name!r}, which is no file" if name else f"{VARIABLE} is not set"
        raise UserError(
            f"metric 'comet': {found}; set it to the checkpoint of a COMET model, such as {EXAMPLE}"
        )
    return path


@cache
def _load(path: Path) -> Any:
    try:
        from comet import load_from_checkpoint  # type: ignore[import-not-found]
    except ImportError as error:
        raise UserError(
            f"metric 'comet' needs the package {PACKAGE} ({error}); pip install {PACKAGE}"
        ) from None
    return load_from_checkpoint(str(path))


def _gpus() -> int:
    import torch

    return int(torch.cuda.is_available())


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "unknown"


COMET = Metric(
    name="comet",
    label="COMET",
    about=f"COMET (Rei et al., 2020), times 100, by {PACKAGE} with the model of {VARIABLE}.",
    counts=_counts,
    score=mean_score,
    sign=sign,
    normalize=str,
    corpus_counts=corpus_counts,
)
