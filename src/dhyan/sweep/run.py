"""Run a sweep: ask Optuna for settings, train in processes, prune by validation, resume."""

import fcntl
import json
import logging
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import sleep
from typing import IO, TYPE_CHECKING, Any

from dhyan.atomic_folder import check_writable, to_json_bytes
from dhyan.config import Recipe, dump_recipe, load_recipe
from dhyan.errors import UserError, spell_option
from dhyan.safe_io.bounded_files import UnsafeFile, read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.seeds import derive_seed
from dhyan.sweep.space import Dimension
from dhyan.training.state import lower_is_better

if TYPE_CHECKING:
    import optuna

logger = logging.getLogger(__name__)

PLAN, RECIPE, JOURNAL, LOCK, LOG = "sweep.json", "recipe.toml", "journal.log", "lock", "log.txt"
TRIAL_RECIPE = "sweep-recipe.toml"
POLL_SECONDS = 0.2
MAX_DEATHS = 3  # of the process of one trial
STARTUP_TRIALS = 5  # at random, before Optuna prefers settings and prunes
MAX_PLAN_BYTES = 2**20
STUDY, WAITING = "sweep", "WAITING"  # a trial that someone has enqueued, with Optuna

TrainCommand = Callable[[Path], Sequence[str]]
"""The command that trains in a trial's folder by its sweep-recipe.toml, new or resumed."""


@dataclass(frozen=True)
class TrialEnded:
    """A trial that ended: `state` is complete, pruned or failed; `score` is its best so far."""

    number: int
    state: str
    score: float | None
    settings: Mapping[str, Any]
    reason: str = ""


@dataclass
class _RunningTrial:
    trial: "optuna.Trial"
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None
    deaths: int = 0
    pruned: bool = False
    reported: set[int] = field(default_factory=set)


class Sweep:
    """The trials of a folder; a lock keeps other processes out until it is closed."""

    def __init__(
        self, folder: Path, recipe: Recipe, space: tuple[Dimension, ...], seed: int, lock: IO[bytes]
    ) -> None:
        self.folder, self.recipe, self.space, self.seed, self.lock = (
            folder, recipe, space, seed, lock,
        )  # fmt: skip
        self.metric = recipe.training.early_stopping_metric
        self.study = _open_study(folder, self.metric)

    def trial_folder(self, number: int) -> Path:
        """The run folder of a trial."""
        return self.folder / f"trial-{number:04}"

    def run(
        self, trials: int, command: TrainCommand, *, jobs: int = 1
    ) -> Generator[TrialEnded, None, None]:
        """Run trials until there are so many, and yield each as it ends.

        Trials that were interrupted are resumed first. When the iteration ends early, the trainings
        save a checkpoint and stop.
        """
        running = [_RunningTrial(trial, folder) for trial, folder in self._interrupted()]
        waiting = list(running)
        running.clear()
        try:
            while True:
                while len(running) < jobs and (trial := self._next(waiting, trials)):
                    if ended := self._start(trial, command):
                        yield ended
                    else:
                        running.append(trial)
                if not running:
                    return
                sleep(POLL_SECONDS)
                for trial in list(running):
                    if ended := self._watch(trial, command):
                        running.remove(trial)
                        yield ended
        finally:
            self._stop(running)

    def _next(self, waiting: list[_RunningTrial], trials: int) -> _RunningTrial | None:
        """An interrupted trial, else a new one, unless there are enough."""
        if waiting:
            return waiting.pop(0)
        number = sum(trial.state.name != WAITING for trial in self._trials())
        if number >= trials:
            return None
        self.study.sampler = _make_sampler(derive_seed(self.seed, number))
        trial = self.study.ask()
        return _RunningTrial(trial, self.trial_folder(trial.number))

    def _interrupted(self) -> Iterator["tuple[optuna.Trial, Path]"]:
        """The trials that a process which ended has left."""
        import optuna

        for frozen in self._trials():
            if not frozen.state.is_finished() and frozen.state.name != WAITING:
                trial = optuna.Trial(self.study, frozen._trial_id)
                yield trial, self.trial_folder(frozen.number)

    def _trials(self) -> "list[optuna.trial.FrozenTrial]":
        return self.study.get_trials(deepcopy=False)

    def _start(self, running: _RunningTrial, command: TrainCommand) -> TrialEnded | None:
        """Start the process of a trial; one whose settings contradict each other fails here."""
        settings = {dimension.key: dimension.suggest(running.trial) for dimension in self.space}
        running.folder.mkdir(exist_ok=True)
        path = running.folder / TRIAL_RECIPE
        try:
            recipe = load_recipe(self.folder / RECIPE, settings)
        except UserError as error:
            return self._tell(running, "failed", str(error))
        path.write_text(dump_recipe(recipe), encoding="utf-8")
        resume = any(running.folder.glob("step-*"))
        with open(running.folder / LOG, "ab") as log:
            running.process = subprocess.Popen(
                command(running.folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches it through this process, once
            )
        shown = ", ".join(f"{key} {value}" for key, value in settings.items())
        logger.info(f"trial {running.trial.number}: {'resumed' if resume else shown}")
        return None

    def _watch(self, running: _RunningTrial, command: TrainCommand) -> TrialEnded | None:
        """Report new validations, prune, and see whether the process has ended, and how."""
        assert running.process is not None
        code = running.process.poll()  # before its last validations are read
        self._report(running)
        if code is None:
            if not running.pruned and self._should_prune(running):
                running.pruned = True
                running.process.send_signal(signal.SIGTERM)
            return None
        if running.pruned:
            return self._tell(running, "pruned")
        if code == 0:
            return self._tell(running, "complete")
        if code < 0 and running.deaths < MAX_DEATHS:
            running.deaths += 1
            logger.warning(f"trial {running.trial.number}: killed; it is resumed")
            return self._start(running, command)
        return self._tell(running, "failed", _last_line(running.folder / LOG))

    def _report(self, running: _RunningTrial) -> None:
        known = running.reported or set(_intermediate(self.study, running.trial))
        for step, score in validations(running.folder, self.metric):
            if step not in known:
                running.trial.report(score, step)
                known.add(step)
        running.reported = known

    def _should_prune(self, running: _RunningTrial) -> bool:
        return bool(running.reported) and running.trial.should_prune()

    def _tell(self, running: _RunningTrial, state: str, reason: str = "") -> TrialEnded:
        """Record the end of a trial; a complete one without a validation has failed."""
        from optuna.trial import TrialState

        scores = [score for _, score in validations(running.folder, self.metric)]
        best = (min if lower_is_better(self.metric) else max)(scores, default=None)
        if state == "complete" and best is None:
            state, reason = "failed", "no validation; set training.validate_every below its steps"
        states = {
            "complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL,
        }  # fmt: skip
        trial = running.trial
        if reason:
            trial.set_user_attr("reason", reason)
        if best is not None:
            trial.set_user_attr("best", best)
        self.study.tell(
            trial, best if state == "complete" else None, state=states[state], skip_if_finished=True
        )
        return TrialEnded(trial.number, state, best, dict(trial.params), reason)

    def _stop(self, running: Sequence[_RunningTrial]) -> None:
        """Let trainings save a checkpoint and stop; their trials are resumed another time."""
        processes = [trial.process for trial in running if trial.process]
        for process in processes:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait()


def open_sweep(folder: Path, recipe: Recipe, space: tuple[Dimension, ...], *, seed: int) -> Sweep:
    """The sweep of a new folder, or that of one begun with the same recipe, space and seed."""
    require_optuna()
    check_writable(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / PLAN).exists():
        raise UserError(
            f"{folder}: holds something else already; name another {spell_option('out')}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    lock = open(folder / LOCK, "ab")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise UserError(f"{folder}: another process runs this sweep; wait for it") from None
    plan = json.loads(
        json.dumps({"format": 1, "seed": seed, "space": [asdict(part) for part in space]})
    )
    text = dump_recipe(recipe)
    if (folder / PLAN).exists():
        _check_same(folder, plan, text)
    else:
        (folder / RECIPE).write_text(text, encoding="utf-8")
        (folder / PLAN).write_bytes(to_json_bytes(plan))
    return Sweep(folder, recipe, space, seed, lock)


def validations(folder: Path, metric: str) -> Iterator[tuple[int, float]]:
    """Step and score of each validation of a run, by its metrics.jsonl."""
    path = folder / "metrics.jsonl"
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with suppress(ValueError, KeyError, TypeError):  # a line that is being written
            event = json.loads(line)
            if event["event"] == "validated":
                yield int(event["step"]), float(event["scores"][metric])


def require_optuna() -> None:
    """Refuse a sweep if Optuna is not installed."""
    if find_spec("optuna") is None:
        raise UserError("a sweep needs Optuna, which is not installed: pip install 'dhyan[sweep]'")


def _open_study(folder: Path, metric: str) -> "optuna.Study":
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(
        study_name=STUDY,
        storage=JournalStorage(JournalFileBackend(str(folder / JOURNAL))),
        direction="minimize" if lower_is_better(metric) else "maximize",
        sampler=_make_sampler(0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS),
        load_if_exists=True,
    )


def _make_sampler(seed: int) -> "optuna.samplers.BaseSampler":
    """The tree-structured Parzen estimator (Bergstra et al., 2011)."""
    import optuna

    return optuna.samplers.TPESampler(
        seed=seed % 2**32, n_startup_trials=STARTUP_TRIALS, constant_liar=True
    )


def _intermediate(study: "optuna.Study", trial: "optuna.Trial") -> Sequence[int]:
    frozen = study.get_trials(deepcopy=False)[trial.number]
    return list(frozen.intermediate_values)


def _check_same(folder: Path, plan: Mapping[str, Any], recipe: str) -> None:
    try:
        begun = read_json(read_file(folder / PLAN, max_bytes=MAX_PLAN_BYTES))
    except (UnsafeFile, ValueError) as error:
        raise UserError(f"{folder / PLAN}: cannot be understood ({error})") from None
    same_recipe = (folder / RECIPE).read_text(encoding="utf-8") == recipe
    for what, same in {
        "another space": begun.get("space") == plan["space"],
        "another seed": begun.get("seed") == plan["seed"],
        "another recipe": same_recipe,
    }.items():
        if not same:
            raise UserError(
                f"{folder}: was begun with {what}; give the same, or name another "
                f"{spell_option('out')}"
            )


def _last_line(path: Path) -> str:
    """Why a process ended, by the last line of its log."""
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("dhyan: ") if lines else f"no output; see {path}"
