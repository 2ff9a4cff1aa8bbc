"""Supervisors of the worker processes of a model: each starts one, checks it with a canary, and
restarts it on exit; a pool has those of one model."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dhyan.serving.settings import ServerSettings
from dhyan.serving.worker_protocol import LENGTH, Message, message_length, pack, unpack

LOG = logging.getLogger("dhyan.serving")
WORKER_DIED = "the worker process died; another is being started"


class WorkerExited(Exception):
    """The worker process has exited, or sends what cannot be parsed."""


class WorkerProcess:
    """A process with one end of a socket pair; it exits when the other end closes."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.process, self._reader, self._writer = process, reader, writer
        self.exited = asyncio.Event()
        self.on_message: Callable[[Message], None] = lambda message: None
        self._on_exit: Callable[[], None] = lambda: None
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, command: Sequence[str]) -> "WorkerProcess":
        """Start `command FD`; its output goes to stderr."""
        local, remote = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                str(remote.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sys.stderr if _is_open(sys.stderr) else asyncio.subprocess.DEVNULL,
                pass_fds=(remote.fileno(),),
                start_new_session=True,  # Ctrl-C is for the server, which lets the worker finish
            )
        except BaseException:
            local.close()
            raise
        finally:
            remote.close()
        try:
            reader, writer = await asyncio.open_connection(sock=local)
        except BaseException:
            process.kill()
            local.close()
            raise
        return cls(process, reader, writer)

    def send(self, **message: Any) -> None:
        """Send a message; a process that has exited does not get it."""
        if not self.exited.is_set():
            self._writer.write(pack(message))

    async def request(self, message: Mapping[str, Any], *, timeout: float) -> Message:
        """Send a message and wait for the next one that comes."""
        replies: asyncio.Queue[Message | None] = asyncio.Queue()
        self.on_message = replies.put_nowait
        self._on_exit = lambda: replies.put_nowait(None)
        self.send(**message)
        if self.exited.is_set():
            raise WorkerExited
        try:
            reply = await asyncio.wait_for(replies.get(), timeout)
        except TimeoutError:
            reply = None
        if reply is None:
            raise WorkerExited
        return reply

    def kill(self) -> None:
        """Kill the process, whatever it does."""
        with suppress(ProcessLookupError):
            self.process.kill()

    async def stop(self) -> None:
        """Kill the process and wait for its exit."""
        self._writer.close()
        self.kill()
        await self.process.wait()
        self._reading.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await self._reading
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        try:
            while True:
                length = message_length(await self._reader.readexactly(LENGTH.size))
                self.on_message(unpack(await self._reader.readexactly(length)))
        except (asyncio.IncompleteReadError, OSError, ValueError):
            pass
        finally:
            self.exited.set()
            self._on_exit()


def _is_open(stream: Any) -> bool:
    try:
        os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return False
    return True


@dataclass
class Canary:
    """Sentences whose translations must not change; if none are given, the first worker's
    translations are expected of all, provided they are not empty."""

    sentences: tuple[str, ...] = ("one",)
    expected: tuple[str, ...] | None = None

    def check(self, translations: Sequence[str]) -> str:
        """The error of the translations; empty if they are as expected."""
        if self.expected is None:
            complete = len(translations) == len(self.sentences)
            if not complete or not all(text.strip() for text in translations):
                return "the model has no translation for a canary sentence: choose one by --canary"
            self.expected = tuple(translations)
        pairs = zip(translations, self.expected, strict=False)
        wrong = sum(translation != expected for translation, expected in pairs)
        if len(translations) != len(self.expected) or wrong:
            total = len(self.expected)
            return f"{max(wrong, 1)} of {total} canary sentences are translated wrongly"
        return ""


@dataclass
class Supervisor:
    """Keeps one worker running; knows whether the model can translate, and if not, why."""

    command: Sequence[str]
    load: Mapping[str, Any]
    settings: ServerSettings
    canary: Canary = field(default_factory=Canary)
    name: str = "model"
    number: int = 0
    """of the worker, from 1; 0 if the model has only one"""
    card: dict[str, Any] = field(default_factory=dict)
    known_words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """the case-folded words of the model's vocabularies, by language"""
    ready: bool = False
    reason: str = "the model is being loaded"
    starts: int = 0
    loaded: bool = False
    """whether a worker of it has ever been ready"""
    worker: WorkerProcess | None = None

    async def run(self, serve: Callable[[WorkerProcess], Awaitable[None]]) -> None:
        """Start one worker after the other, each served until it exits."""
        delay = self.settings.restart_delay
        while True:
            self.worker = None
            try:
                self.worker = await WorkerProcess.start(self.command)
                self.starts += 1
                if await self._load(self.worker):
                    delay = self.settings.restart_delay
                    await serve(self.worker)
                    self._not_ready(WORKER_DIED)
                    continue
            except OSError as error:
                reason = error.strerror or str(error)
                self._not_ready(f"the worker process cannot be started: {reason}")
            finally:
                self.ready = False
                if self.worker:
                    await self.worker.stop()
            await asyncio.sleep(delay)
            delay = min(2 * delay, self.settings.max_restart_delay)

    async def _load(self, worker: WorkerProcess) -> bool:
        """Whether a new worker has loaded the model and translates the canary right."""
        message = {"type": "load", **self.load, "canary": self.canary.sentences}
        try:
            reply = await worker.request(message, timeout=self.settings.load_timeout)
        except WorkerExited:
            self._not_ready("the worker process died while loading the model")
            return False
        reason = str(reply.get("error", "")) or self.canary.check(reply.get("canary", ()))
        if reason:
            self._not_ready(reason)
            return False
        settings = " and ".join(reply.get("unknown_languages", ()))
        if settings and not self.loaded and self.number <= 1:
            warning = "%s: its languages are not known; name them in training with %s"
            LOG.warning(warning, self.name, settings)
        self.card = {"name": self.name, **reply["card"]}
        self.known_words = {
            language: frozenset(map(str.casefold, words))
            for language, words in reply.get("known_words", {}).items()
        }
        self.ready, self.reason, self.loaded = True, "", True
        LOG.warning("%s: ready", self._label)
        return True

    def _not_ready(self, reason: str) -> None:
        self.ready, self.reason = False, reason
        LOG.warning("%s: not ready: %s", self._label, reason)

    @property
    def _label(self) -> str:
        return f"{self.name}, worker {self.number}" if self.number else self.name


@dataclass(frozen=True)
class WorkerPool:
    """The supervisors of a model, each with a worker process that has a copy of the model."""

    supervisors: Sequence[Supervisor]

    @classmethod
    def build(
        cls,
        command: Sequence[str],
        load: Mapping[str, Any],
        settings: ServerSettings,
        canary: Canary,
        *,
        name: str,
        workers: int = 1,
    ) -> "WorkerPool":
        """A pool of so many workers, which must translate the one canary alike."""
        numbers = range(1, workers + 1) if workers > 1 else (0,)
        return cls(
            [
                Supervisor(command, load, settings, canary, name=name, number=number)
                for number in numbers
            ]
        )

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.supervisors[0].name

    @property
    def settings(self) -> ServerSettings:
        """The settings of the server."""
        return self.supervisors[0].settings

    @property
    def canary(self) -> Canary:
        """The canary that all workers share."""
        return self.supervisors[0].canary

    @property
    def card(self) -> dict[str, Any]:
        """Facts about the model, once a worker has loaded it."""
        return next((each.card for each in self.supervisors if each.card), {})

    @property
    def known_words(self) -> Mapping[str, frozenset[str]]:
        """The case-folded words of the model's vocabularies, by language."""
        return next((each.known_words for each in self.supervisors if each.card), {})

    @property
    def ready(self) -> bool:
        """Whether all workers have been ready, and at least one is."""
        return all(each.loaded for each in self.supervisors) and self.workers_ready > 0

    @property
    def workers_ready(self) -> int:
        """The workers that can translate."""
        return sum(each.ready for each in self.supervisors)

    @property
    def reason(self) -> str:
        """Why the first worker that is not ready is not."""
        return next((each.reason for each in self.supervisors if not each.ready), "")

    @property
    def starts(self) -> int:
        """Worker processes started."""
        return sum(each.starts for each in self.supervisors)

    def workers(self) -> Iterator[WorkerProcess]:
        """The worker processes that can translate."""
        for supervisor in self.supervisors:
            worker = supervisor.worker
            if supervisor.ready and worker and not worker.exited.is_set():
                yield worker

    async def run(self, serve: Callable[[WorkerProcess], Awaitable[None]]) -> None:
        """Run all supervisors until one of them fails."""
        async with asyncio.TaskGroup() as group:
            for supervisor in self.supervisors:
                group.create_task(supervisor.run(serve))

    def kill(self) -> None:
        """Kill all worker processes, whatever they do."""
        for supervisor in self.supervisors:
            if supervisor.worker:
                supervisor.worker.kill()
