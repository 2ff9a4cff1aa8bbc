"""HTTP routes of the studio's training view: curves and checkpoint probes of runs, toy tasks."""

import asyncio
import atexit
import json
import tempfile
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from dhyan.checkpoint import steps_in
from dhyan.errors import UserError
from dhyan.evaluation.metric import metric_label, metric_names
from dhyan.studio.checkpoint_probe import CheckpointProbes
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import Name, StrictModel, Text
from dhyan.studio.training_job import (
    METRICS,
    MetricsTail,
    Progress,
    TrainingJob,
    TrainingJobs,
    is_training,
    read_events,
)
from dhyan.web.body_format import server_sent_event

CHECKPOINTS = 12  # of a toy
POLL_SECONDS = 0.25  # between two reads of a metrics log
PROBE = "Anil sends the money to Ravi."


@dataclass(frozen=True)
class Toy:
    """A toy task, learnt in a minute: a recipe with settings, and a probe sentence to watch.

    `languages` are those of its two sides, if its letters are words of a language.
    """

    recipe: str
    settings: Mapping[str, Any]
    probe: str
    expected: str
    languages: tuple[str, str] | None = None


def _schedule(steps: int) -> dict[str, Any]:
    """Evenly spaced checkpoints and validations, all of them kept."""
    interval = steps // CHECKPOINTS
    return {
        "training.steps": interval * CHECKPOINTS,
        "training.save_every": interval,
        "training.validate_every": interval,
        "training.valid_sentences": 20,
        "training.keep_checkpoints": 1000,
        "training.report_every": 5,
        "training.schedule": "cosine",
        "decoding.beam": 1,
    }


_SMALL = {
    "data.pairs": 8000,
    "encoder.embedding_width": 32,
    "encoder.width": 48,
    "encoder.dropout": 0.0,
    "decoder.embedding_width": 32,
    "decoder.width": 64,
    "decoder.readout_width": 48,
    "decoder.dropout": 0.0,
    "decoder.attention.score_width": 48,
}

TOYS: Mapping[str, Toy] = {
    "copy": Toy(
        "numbers",
        {
            **_SMALL,
            **_schedule(240),
            "about": "Toy task: copies letters.",
            "data.synthetic": "copy",
            "training.warmup_steps": 30,
        },
        "n a m a s t e",
        "n a m a s t e",
    ),
    "reverse": Toy(
        "numbers",
        {
            **_SMALL,
            **_schedule(192),
            "about": "Toy task: reverses letters.",
            "data.synthetic": "reverse",
            "training.warmup_steps": 30,
        },
        "n a m a s t e",
        "e t s a m a n",
    ),
    "dates": Toy(
        "numbers",
        {
            **_SMALL,
            **_schedule(300),
            "about": "Toy task: writes dates in digits.",
            "data.synthetic": "dates",
            "text.tokenizer": "characters",
            "training.warmup_steps": 30,
        },
        "25 march 1998",
        "1998-03-25",
    ),
    "hindi": Toy(
        "primer",
        {
            **_schedule(408),
            "about": "Toy task: English to Hindi, short sentences of the primer.",
            "data.pairs": 5000,
            "data.max_words": 8,
            "data.core_share": 0.1,
            "training.warmup_steps": 50,
        },
        "Anil sends the money to Ravi.",
        "अनिल रवि को पैसा भेजता है।",
        ("en", "hi"),
    ),
}


class ToyRequest(StrictModel):
    """Which toy task to train."""

    task: Literal["copy", "reverse", "dates", "hindi"]


class ProbeRequest(StrictModel):
    """A sentence for one checkpoint of a run."""

    run: Name
    step: Annotated[int, Field(ge=0)]
    text: Text


@dataclass(frozen=True)
class Run:
    """A registered model's run or a toy's, and its probe sentence."""

    name: str
    folder: Path
    job: TrainingJob | None = None
    toy: Toy | None = None

    def progress(self) -> Progress:
        """The progress; of a training started elsewhere only whether it is running."""
        if self.job:
            return self.job.progress()
        step = max((event["step"] for event in read_events(self.folder)), default=0)
        state: Literal["running", "done"] = "running" if is_training(self.folder) else "done"
        return Progress(state, step, step, None, {}, None)

    def as_json(self) -> dict[str, Any]:
        """The run as the page gets it."""
        return {
            "name": self.name,
            "toy": bool(self.toy),
            "probe": self.toy.probe if self.toy else PROBE,
            "expected": self.toy.expected if self.toy else "",
            "languages": self.toy.languages if self.toy else None,
            "curves": (self.folder / METRICS).is_file(),
            "checkpoints": sorted(steps_in(self.folder)),
            "progress": asdict(self.progress()),
        }


class Runs:
    """The runs of registered models, and the toys, which are registered when trained.

    A pretrained model has no run.
    """

    def __init__(self, registry: ModelRegistry) -> None:
        self.registry = registry

    @cache  # noqa: B019 (there is one for each server)
    def toys(self) -> TrainingJobs:
        """The toys' jobs, in a folder that is removed with the server."""
        folder = tempfile.TemporaryDirectory(prefix="dhyan-toys-", ignore_cleanup_errors=True)
        jobs = TrainingJobs(Path(folder.name))
        atexit.register(folder.cleanup)
        atexit.register(jobs.stop)  # registered last, so called before the folder is removed
        return jobs

    def all(self) -> list[Run]:
        """Models first, then toys, each once."""
        toys = [Run(job.name, job.folder, job, _toy(job.name)) for job in self.toys().all()]
        toy_names = {run.name for run in toys}
        models = [
            Run(model.name, _run_folder(model.path))
            for model in self.registry.models.values()
            if not model.saved and model.name not in toy_names
        ]
        return [run for run in models if steps_in(run.folder)] + toys

    def get(self, name: str) -> Run:
        """The run of a name."""
        for run in self.all():
            if run.name == name:
                return run
        raise UserError(f"there is no run {name!r}: choose one from the list")

    def start(self, task: str) -> Run:
        """Train a toy; it is registered when it is trained."""
        toy = TOYS[task]
        job = self.toys().start(task, toy.recipe, toy.settings)
        threading.Thread(target=self._register, args=(job,), daemon=True).start()
        return Run(job.name, job.folder, job, toy)

    def _register(self, job: TrainingJob) -> None:
        job.wait()
        if max(steps_in(job.folder), default=0):
            with suppress(UserError):  # the name is taken
                self.registry.add(job.name, job.folder)


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the routes."""
    runs, probes = Runs(registry), CheckpointProbes()

    @app.get("/api/runs")
    def all_runs() -> dict[str, Any]:
        return {
            "runs": [run.as_json() for run in runs.all()],
            "toys": list(TOYS),
            "metrics": {name: metric_label(name) for name in metric_names()},
        }

    @app.get("/api/runs/{name}/events")
    def events(name: str) -> Response:
        return StreamingResponse(_events(runs.get(name)), media_type="text/event-stream")

    @app.post("/api/toys")
    def start(request: ToyRequest) -> dict[str, Any]:
        return runs.start(request.task).as_json()

    @app.post("/api/toys/{name}/cancel")
    def cancel(name: str) -> dict[str, Any]:
        runs.toys().get(name).cancel()
        return runs.get(name).as_json()

    @app.post("/api/probe")
    def probe(request: ProbeRequest) -> dict[str, Any]:
        run = runs.get(request.run)
        expected = run.toy.expected if run.toy and request.text == run.toy.probe else ""
        finished = run.progress().state != "running"
        result = probes.probe(run.folder, request.step, request.text, expected, finished=finished)
        return {**asdict(result), "trace": json.loads(result.trace)}


async def _events(run: Run) -> AsyncIterator[str]:
    """The metrics of a run so far, then as they come, until it has ended."""
    tail, before = MetricsTail(run.folder / METRICS), None
    while True:
        progress = run.progress()
        rewritten, new = tail.read_new()
        now = {**asdict(progress), "checkpoints": sorted(steps_in(run.folder))}
        if rewritten or new:
            yield server_sent_event("metrics", {"rewritten": rewritten, "events": new})
        if now != before:
            yield server_sent_event("progress", now)
        if progress.state != "running":
            yield server_sent_event("done", None)
            return
        before = now
        await asyncio.sleep(POLL_SECONDS)


def _toy(name: str) -> Toy:
    return TOYS[name.rpartition("-")[0]]


def _run_folder(folder: Path) -> Path:
    """The run a model belongs to, if it is one of its checkpoints."""
    return folder.parent if (folder / "recipe.toml").is_file() else folder
