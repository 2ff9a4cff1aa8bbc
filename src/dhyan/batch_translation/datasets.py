"""Translate a dataset that Dask or Ray holds already: a bag, a column of a dataframe, a dataset.

What is returned is lazy, as the engine has it; each of its processes opens the model once.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from dhyan.batch_translation.job import TranslationJob, make_job
from dhyan.errors import UserError

TEXTS_AT_A_TIME = 512


def translate_bag(bag: Any, model: str | Path, *, device: str = "auto", **options: Any) -> Any:
    """A Dask bag of the translations of a bag of sentences, in the same order and partitions.

    The options are those of `make_job`, such as `beam` and `target_language`. A sentence that
    cannot be translated becomes an empty one.
    """
    return bag.map_partitions(
        partial(_translate_texts, job=make_job(model, **options), device=device)
    )


def translate_dataframe(
    frame: Any,
    model: str | Path,
    column: str,
    *,
    into: str = "translation",
    device: str = "auto",
    **options: Any,
) -> Any:
    """A Dask or pandas dataframe with a further column, the translations of another."""
    if column not in frame.columns:
        raise UserError(f"column: the dataframe has no {column!r}; it has {list(frame.columns)}")
    add = partial(
        _add_column, column=column, into=into, job=make_job(model, **options), device=device
    )
    if not hasattr(frame, "map_partitions"):
        return add(frame)
    meta = frame._meta.assign(**{into: frame._meta[column]})
    return frame.map_partitions(add, meta=meta)


def translate_dataset(
    dataset: Any,
    model: str | Path,
    column: str,
    *,
    into: str = "translation",
    device: str = "auto",
    workers: int = 1,
    **options: Any,
) -> Any:
    """A Ray dataset with a further column, the translations of another, by so many actors."""
    job = make_job(model, **options)
    return dataset.map_batches(
        BatchTranslator,
        fn_constructor_args=(job, column, into, device),
        batch_size=TEXTS_AT_A_TIME,
        concurrency=workers,
        num_gpus=1 if device.startswith("cuda") else 0,
    )


class BatchTranslator:
    """Adds a column of translations to batches of columns: a class for `ray.data` to construct."""

    def __init__(self, job: TranslationJob, column: str, into: str, device: str) -> None:
        self.job, self.column, self.into, self.device = job, column, into, device

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The batch with its new column."""
        translations = _translate_texts(batch[self.column], job=self.job, device=self.device)
        return {**batch, self.into: list(translations)}


def _add_column(frame: Any, *, column: str, into: str, job: TranslationJob, device: str) -> Any:
    translations = _translate_texts(frame[column], job=job, device=device)
    return frame.assign(**{into: list(translations)})


def _translate_texts(texts: Iterable[Any], *, job: TranslationJob, device: str) -> Iterator[str]:
    """The translation of each text; empty for what is no text, or cannot be translated."""
    remaining, done = iter(texts), 0
    while chunk := list(islice(remaining, TEXTS_AT_A_TIME)):
        translator = job.open(device=device, threads=1)
        usable = [text if isinstance(text, str) else "" for text in chunk]
        for result in job.translate(translator, usable, done):
            yield "" if isinstance(result, UserError) else result.text
        done += len(chunk)
