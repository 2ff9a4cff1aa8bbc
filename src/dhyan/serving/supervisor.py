"""Supervisor of the worker process: starts it, checks it with a canary, restarts it on exit."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dhyan.serving.settings import ServerSettings
from dhyan.serving.worker_protocol import LENGTH, Message, message_length, pack, unpack
from dhyan.text.languages import UNDETERMINED

LOG = logging.getLogger("dhyan.serving")
LANGUAGE_KEYS = ("source_language", "target_language")
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
    card: dict[str, Any] = field(default_factory=dict)
    known_words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """the case-folded words of the model's vocabularies, by language"""
    ready: bool = False
    reason: str = "the model is being loaded"
    starts: int = 0
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
        if not self.card:
            self._log_unknown_languages(reply["card"])
        self.card = {"name": self.name, **reply["card"]}
        self.known_words = {
            language: frozenset(map(str.casefold, words))
            for language, words in reply.get("known_words", {}).items()
        }
        self.ready, self.reason = True, ""
        LOG.warning("%s: ready", self.name)
        return True

    def _log_unknown_languages(self, card: Mapping[str, Any]) -> None:
        sides = [side for side in LANGUAGE_KEYS if card.get(side) == UNDETERMINED]
        if sides and card.get("task") == "translate":
            settings = " and ".join(f"data.{side}" for side in sides)
            message = "%s: its languages are not known; name them in training with %s"
            LOG.warning(message, self.name, settings)

    def _not_ready(self, reason: str) -> None:
        self.ready, self.reason = False, reason
        LOG.warning("%s: not ready: %s", self.name, reason)
