"""Runs as they train: their curves, their attention to one sentence, and toys to train now."""

import asyncio
import atexit
import json
import tempfile
import threading
from collections.abc import AsyncIterator
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
from dhyan.studio.checkpoint_probe import Probes
from dhyan.studio.metrics_log import METRICS, Tail, events_of, trained_now
from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import Body, Name, Text
from dhyan.studio.toy_tasks import TOYS, Toy
from dhyan.studio.training_jobs import Progress, Training, Trainings

EVERY = 0.25  # seconds between two looks at a file
PROBE = "Anil sends the money to Ravi."


class ToyQuestion(Body):
    """Which toy to train."""

    kind: Literal["copy", "reverse", "dates", "hindi"]


class ProbeQuestion(Body):
    """A sentence for one checkpoint of a run."""

    run: Name
    step: Annotated[int, Field(ge=0)]
    text: Text


@dataclass(frozen=True)
class Run:
    """A model on the shelf or a toy, and the sentence it is watched by."""

    name: str
    folder: Path
    training: Training | None = None
    toy: Toy | None = None

    def progress(self) -> Progress:
        """How far it is; of another's training only whether it goes on is known."""
        if self.training:
            return self.training.progress()
        step = max((event["step"] for event in events_of(self.folder)), default=0)
        going = trained_now(self.folder)
        return Progress("running" if going else "done", step, step, None, {}, None)

    def told(self) -> dict[str, Any]:
        """What the page says of it."""
        return {
            "name": self.name,
            "toy": bool(self.toy),
            "probe": self.toy.probe if self.toy else PROBE,
            "answer": self.toy.answer if self.toy else "",
            "curves": (self.folder / METRICS).is_file(),
            "checkpoints": sorted(steps_in(self.folder)),
            "progress": asdict(self.progress()),
        }


class Runs:
    """Everything that can be followed: the models of a shelf, and the toys that join it."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    @cache  # noqa: B019 (there is one for each server)
    def toys(self) -> Trainings:
        """The toys, in a folder that is gone with the server."""
        folder = tempfile.TemporaryDirectory(prefix="dhyan-toys-", ignore_cleanup_errors=True)
        made = Trainings(Path(folder.name))
        atexit.register(folder.cleanup)
        atexit.register(made.end)  # before the folder goes: what is registered last is called first
        return made

    def all(self) -> list[Run]:
        """Models first, then toys, each once."""
        toys = [Run(one.name, one.folder, one, _toy(one.name)) for one in self.toys().all()]
        named = {one.name for one in toys}
        books = [one for one in self.shelf.books.values() if not one.saved]
        models = [Run(one.name, _run_of(one.folder)) for one in books if one.name not in named]
        return models + toys

    def get(self, name: str) -> Run:
        """By name."""
        found = next((run for run in self.all() if run.name == name), None)
        if found is None:
            raise UserError(f"there is no run {name!r}: choose one from the list")
        return found

    def start(self, kind: str) -> Run:
        """Train a toy; at its end it stands on the shelf."""
        toy = TOYS[kind]
        training = self.toys().start(kind, toy.recipe, toy.settings)
        threading.Thread(target=self._shelve, args=(training,), daemon=True).start()
        return Run(training.name, training.folder, training, toy)

    def _shelve(self, training: Training) -> None:
        training.wait()
        if max(steps_in(training.folder), default=0):
            with suppress(UserError):  # a name that stands there already
                self.shelf.add(training.name, training.folder)


def add(app: FastAPI, shelf: Shelf) -> None:
    """What the view `/train` follows and starts."""
    runs, probes = Runs(shelf), Probes()

    @app.get("/api/runs")
    def all_runs() -> dict[str, Any]:
        return {"runs": [run.told() for run in runs.all()], "toys": list(TOYS)}

    @app.get("/api/runs/{name}/events")
    def events(name: str) -> Response:
        return StreamingResponse(_told(runs.get(name)), media_type="text/event-stream")

    @app.post("/api/toys")
    def start(asked: ToyQuestion) -> dict[str, Any]:
        return runs.start(asked.kind).told()

    @app.post("/api/toys/{name}/cancel")
    def cancel(name: str) -> dict[str, Any]:
        runs.toys().get(name).cancel()
        return runs.get(name).told()

    @app.post("/api/probe")
    def probe(asked: ProbeQuestion) -> dict[str, Any]:
        run = runs.get(asked.run)
        answer = run.toy.answer if run.toy and asked.text == run.toy.probe else ""
        settled = run.progress().state != "running"
        found = probes.ask(run.folder, asked.step, asked.text, answer, settled=settled)
        return {**asdict(found), "trace": json.loads(found.trace)}


async def _told(run: Run) -> AsyncIterator[str]:
    """All that the run has told, then what it tells, until it has ended."""
    tail, before = Tail(run.folder / METRICS), None
    while True:
        progress = run.progress()
        anew, new = tail.new()
        now = {**asdict(progress), "checkpoints": sorted(steps_in(run.folder))}
        if anew or new:
            yield _event("metrics", {"anew": anew, "events": new})
        if now != before:
            yield _event("progress", now)
        if progress.state != "running":
            yield _event("done", None)
            return
        before = now
        await asyncio.sleep(EVERY)


def _event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _toy(name: str) -> Toy:
    return TOYS[name.rpartition("-")[0]]


def _run_of(folder: Path) -> Path:
    """The run a model belongs to, if it is one of its checkpoints."""
    return folder.parent if (folder / "recipe.toml").is_file() else folder
