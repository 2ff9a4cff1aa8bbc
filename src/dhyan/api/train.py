"""`dhyan.train` and `dhyan.resume`: train a model on pairs of any form, or continue a run."""

import contextlib
import inspect
import json
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dhyan.api.pairs import Columns, PairData, PairStream, TableOptions, files_of, to_pairs
from dhyan.api.progress import show_progress
from dhyan.atomic_folder import check_writable
from dhyan.checkpoint import is_run
from dhyan.config import Recipe, dump_recipe, load_recipe, suggestion
from dhyan.config.declare_settings import values_by_key
from dhyan.config.sections import Delimiter, Header
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.model_check import find_saved_recipe
from dhyan.notebook_display import make_frame
from dhyan.run import Run, load
from dhyan.run import train as start_run
from dhyan.training.progress_display import format_scores

RECIPE = "bahdanau2015-small"
DATA_FOLDER = "data"  # of a run folder: the pairs that were given in memory


@dataclass(frozen=True, repr=False)
class TrainingResult:
    """A finished training run: its folder, its scores, and the translator of its best checkpoint.

    `metrics` are the validation scores of the best checkpoint, empty if nothing was validated.

    >>> result = dhyan.resume(run_folder)
    >>> sorted(result.metrics)
    ['bleu', 'chrf', 'loss']
    >>> result.translator.translate("seven").source
    'seven'
    """

    folder: Path
    steps: int
    best_step: int | None
    metrics: Mapping[str, float]
    device: str = "auto"

    @cached_property
    def translator(self) -> Translator:
        """The translator of the best checkpoint, loaded when it is first used."""
        return load(self.folder, device=self.device)

    def to_frame(self) -> Any:
        """The validations as a pandas DataFrame: a row for each, with its step and scores."""
        validations = list(_validations(self.folder))
        names = dict.fromkeys(name for line in validations for name in line["scores"])
        steps = {"step": [line["step"] for line in validations]}
        return make_frame(
            steps | {name: [line["scores"].get(name) for line in validations] for name in names}
        )

    def __repr__(self) -> str:
        best = f"best at step {self.best_step:,} of " if self.best_step is not None else "step "
        scores = f": {format_scores(self.metrics)}" if self.metrics else ""
        return f"TrainingResult({str(self.folder)!r}, {best}{self.steps:,}{scores})"


def train(
    data: PairData | None = None,
    recipe: str | Path | Recipe = RECIPE,
    *,
    out: str | Path | None = None,
    columns: Columns | None = None,
    header: Header = "auto",
    delimiter: Delimiter = "",
    valid: PairData | None = None,
    steps: int | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: bool = True,
    **named_settings: Any,
) -> TrainingResult:
    """Train a model on sentence pairs, to the end of its recipe.

    `data` is a list or generator of (source, target), a pandas or polars frame, a Hugging Face
    dataset, a table file, or a tuple of two files; a recipe with a synthetic task needs none.
    `columns` names the columns of both sides, as in `("en", "hi")` or
    `("translation.en", "translation.hi")`; `header` ("auto", "yes", "no") and `delimiter` ("tab",
    "comma", "semicolon", "pipe") say how files are read. `valid` is the validation set, of any of
    these forms; without it pairs are held out.

    `recipe` is a shipped name, a TOML file or a `Recipe`. `steps`, `epochs`, `seed` and any other key
    of a recipe override it, as in `learning_rate=0.0005`; `settings` takes keys with their section,
    which those that several sections have need: `settings={"encoder.width": 256}`.

    The run folder `out` (by default `runs/RECIPE`) holds checkpoints and metrics. Pairs in memory
    are written to `out/data/train.jsonl`, so that `dhyan.resume(out)` and `dhyan train OUT --resume`
    can continue. Ctrl-C stops after the current step, saves a checkpoint and raises
    KeyboardInterrupt. To follow the events of a run one by one, iterate over `dhyan.run.train`.

    >>> pairs = [("one two", "एक दो"), ("two one", "दो एक")] * 10
    >>> result = dhyan.train(pairs, "numbers", out=folder / "run", steps=2, progress=False)
    >>> result.steps
    2
    >>> result.translator.translate("one two").source
    'one two'
    """
    if isinstance(data, Recipe):
        raise UserError("data: is a Recipe; write dhyan.train(recipe=…, out=…)")
    if not isinstance(recipe, str | Path | Recipe):
        raise UserError(
            f"recipe: is a {type(recipe).__name__}, not a name, a TOML file or a Recipe; the order "
            f"is dhyan.train(data, recipe)"
        )
    folder = _run_folder(recipe, out)
    check_writable(folder)
    if is_run(folder):
        raise UserError(
            f"{folder} holds a run already: continue it with dhyan.resume({str(folder)!r}), or "
            f"give another out"
        )
    overrides = _overrides(settings, steps=steps, epochs=epochs, seed=seed)
    overrides |= _sectioned(_with_settings(recipe, {}), named_settings, given=overrides)
    _check_recipe(recipe, data, overrides)
    table = TableOptions(columns, header, delimiter)
    inputs = [("data", data), ("valid", valid)]
    files = [files_of(own, name) for name, own in inputs if own is not None]
    table.check(files=data is None or any(files))
    with _removed_on_error(folder) as written:
        overrides = {**_write_data(folder, data, valid, table, written), **overrides}
        run = start_run(_with_settings(recipe, overrides), folder, device=device, threads=threads)
    return _finish(run, device=device, progress=progress)


def resume(
    folder: str | Path,
    *,
    steps: int | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: bool = True,
    **named_settings: Any,
) -> TrainingResult:
    """Resume a training run from its newest checkpoint, with its own recipe and data.

    It ends in the same weights as if it had never stopped. `steps` or `epochs` make it longer;
    other settings, given as in `dhyan.train`, may change what does not change the model.

    >>> dhyan.resume(run_folder).steps
    12
    """
    folder = Path(folder)
    if not is_run(folder):
        raise UserError(f"{folder}: holds no run to resume; start one with dhyan.train")
    overrides = _overrides(settings, steps=steps, epochs=epochs)
    saved = find_saved_recipe(folder)
    overrides |= _sectioned(load_recipe(saved), named_settings, given=overrides)
    recipe = load_recipe(saved, overrides, same_corpus=True)
    run = start_run(recipe, folder, resume=True, device=device, threads=threads)
    return _finish(run, device=device, progress=progress)


def _finish(run: Run, *, device: str, progress: bool) -> TrainingResult:
    """Train to the end; an interrupt is raised again after the checkpoint is saved."""
    with _stopped_by_interrupt(run) as interrupted, show_progress(run, progress=progress) as report:
        for event in run:
            report(event)
    if interrupted:
        raise KeyboardInterrupt(
            f"stopped with a checkpoint: dhyan.resume({str(run.folder.path)!r})"
        )
    state, folder = run.trainer.state, run.folder.path
    scores = {line["step"]: line["scores"] for line in _validations(folder)}
    return TrainingResult(
        folder, state.step, state.best_step, scores.get(state.best_step, {}), device
    )


@contextlib.contextmanager
def _stopped_by_interrupt(run: Run) -> Iterator[list[int]]:
    """Ctrl-C, or a notebook's interrupt, stops the run after the current step; a second, at once."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def stop(number: int, frame: object) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run.trainer.interrupt("interrupted")

    handler = signal.signal(signal.SIGINT, stop)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, handler)


def _validations(folder: Path) -> Iterator[dict[str, Any]]:
    """The validations in metrics.jsonl, in order."""
    lines = (json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines())
    return (line for line in lines if line["event"] == "validated")


def _run_folder(recipe: str | Path | Recipe, out: str | Path | None) -> Path:
    if out is not None:
        return Path(out)
    if isinstance(recipe, Recipe):
        raise UserError("out: a Recipe has no name to call its run by; give out='runs/NAME'")
    return Path("runs") / Path(recipe).stem


def _overrides(settings: Mapping[str, Any] | None, **common: int | None) -> dict[str, Any]:
    """The settings by dotted key, with those that have keywords of their own."""
    overrides = dict(settings or {})
    for name, value in common.items():
        key = f"training.{name}"
        if value is None:
            continue
        if key in overrides:
            raise UserError(f"{name}={value} and settings[{key!r}]: given twice; leave one out")
        overrides[key] = value
    return overrides


def _sectioned(
    recipe: Recipe, named: Mapping[str, Any], *, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Settings that are given as keywords, by dotted key."""
    keys = [key for key, _ in values_by_key(recipe)]
    overrides = {}
    for name, value in named.items():
        found = [key for key in keys if key.rpartition(".")[2] == name]
        if not found:
            known = [*inspect.signature(train).parameters, *(key.split(".")[-1] for key in keys)]
            raise UserError(f"{name}: is no setting of the recipe{suggestion(name, known)}")
        if len(found) > 1:
            example = f"settings={{{found[0]!r}: {value!r}}}"
            raise UserError(f"{name}: there are {', '.join(found)}; name one, as in {example}")
        if found[0] in given:
            raise UserError(
                f"{name}={value} and settings[{found[0]!r}]: given twice; leave one out"
            )
        overrides[found[0]] = value
    return overrides


def _check_recipe(
    recipe: str | Path | Recipe, data: PairData | None, overrides: Mapping[str, Any]
) -> None:
    """Refuse a recipe without data, or settings that do not fit it, before data are written."""
    known = _with_settings(recipe, overrides)
    if data is None and not (known.data.synthetic or known.data.source or known.data.prepared):
        raise UserError("data: none given, and the recipe names none; give pairs, a frame or files")


def _with_settings(recipe: str | Path | Recipe, overrides: Mapping[str, Any]) -> Recipe:
    """A recipe by name, by file or itself, with other settings."""
    if not isinstance(recipe, Recipe):
        return load_recipe(str(recipe), overrides)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        path.write_text(dump_recipe(recipe), encoding="utf-8")
        return load_recipe(str(path), overrides)


def _write_data(
    folder: Path,
    data: PairData | None,
    valid: PairData | None,
    table: TableOptions,
    written: list[Path],
) -> dict[str, Any]:
    """The settings that name the data; pairs in memory are written to tables in the run folder."""
    settings = table.settings()
    sides = {"": ("data", data), "valid_": ("valid", valid)}
    for side, (name, pairs) in sides.items():
        if pairs is None:
            continue
        if files := files_of(pairs, name):
            source, target = files
        else:
            stream = to_pairs(pairs, TableOptions(table.columns), name=name)
            source, target = folder / DATA_FOLDER / f"{side.rstrip('_') or 'train'}.jsonl", None
            _write_table(source, stream, table.columns or ("source", "target"))
            written.append(source)
            languages = zip(("source", "target"), stream.languages, strict=True)
            settings |= {f"data.{end}_language": code for end, code in languages if code}
        settings[f"data.{side}source"] = os.path.abspath(source)
        if target:
            settings[f"data.{side}target"] = os.path.abspath(target)
    return settings


def _write_table(path: Path, stream: PairStream, keys: Columns) -> None:
    """Write pairs as JSON Lines, all of them or nothing."""
    if path.exists():
        raise UserError(f"{path}: exists already; remove it, or give another out")
    partial = path.with_name(f"tmp-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "w", encoding="utf-8") as file:
            for pair in stream.pairs:
                record = dict(zip(keys, pair, strict=True))
                file.write(json.dumps(record) + "\n")
        partial.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


@contextlib.contextmanager
def _removed_on_error(folder: Path) -> Iterator[list[Path]]:
    """Remove the tables that were written, and folders made for them, if no run was started."""
    folders = (folder / DATA_FOLDER, folder, *folder.parents)
    created, written = [path for path in folders if not path.exists()], list[Path]()
    try:
        yield written
    except BaseException:
        if not is_run(folder):
            with contextlib.suppress(OSError):
                for path in written:
                    path.unlink()
                for path in created:
                    path.rmdir()
        raise
