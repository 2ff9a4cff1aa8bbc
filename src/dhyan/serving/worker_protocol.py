"""Messages between server and worker: length-prefixed JSON, and the worker's side of the socket.

The server sends `load`, `translate` and `cancel`; the worker answers `ready` or `load_failed`, then
`words`, `answer` and `batch_done`.
"""

import json
import os
import select
import signal
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dhyan.errors import UserError

LENGTH = struct.Struct(">I")
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
READ_BYTES = 65536
POLL_INTERVAL = 0.005  # seconds between two checks for cancelled jobs

Message = dict[str, Any]
Answer = dict[str, Any]


def pack(message: Mapping[str, Any]) -> bytes:
    """A message as bytes; NaN and infinities are refused."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return LENGTH.pack(len(body)) + body


def message_length(prefix: bytes) -> int:
    """The length of the message after this prefix."""
    (length,) = LENGTH.unpack(prefix)
    if length > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {length:,} bytes; at most {MAX_MESSAGE_BYTES:,}")
    return int(length)


def unpack(body: bytes) -> Message:
    """The message in a body."""
    message = json.loads(body)
    if not isinstance(message, dict):
        raise ValueError("a message must be a JSON object")
    return message


class Unpacker:
    """Messages from a byte stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now."""
        self._buffer += data
        while len(self._buffer) >= LENGTH.size:
            end = LENGTH.size + message_length(bytes(self._buffer[: LENGTH.size]))
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[LENGTH.size : end])
            del self._buffer[:end]
            yield unpack(body)


@dataclass(frozen=True)
class JobOptions:
    """How to translate a text; texts with equal options share a batch. No beam: the model's.

    `glossary` has pairs of a source term and its target term, `prefix` the start of every
    translation.
    """

    beam: int | None = None
    nbest: int = 1
    align: bool = False
    paragraphs: bool = False
    stream: bool = False
    prefix: str = ""
    glossary: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_message(cls, options: Mapping[str, Any]) -> "JobOptions":
        """Options as a message has them."""
        glossary = tuple((source, target) for source, target in options["glossary"])
        return cls(**{**options, "glossary": glossary})


@dataclass(frozen=True)
class JobText:
    """A text of a batch, with the id of its job."""

    job: int
    text: str


class WorkerModel(Protocol):
    """The model of a worker: a translation model, or one that simulates its latency."""

    def card(self) -> dict[str, Any]:
        """Facts about the model for clients, and its default `beam`."""
        ...

    def known_words(self) -> dict[str, list[str]]:
        """The whole words of its vocabularies, by language."""
        ...

    def unknown_languages(self) -> list[str]:
        """The settings of the languages that its task needs and nobody named."""
        ...

    def translate(
        self, texts: Sequence[JobText], options: JobOptions, channel: "WorkerChannel"
    ) -> None:
        """Answer each text by `channel.answer`, unless `channel.is_cancelled`."""
        ...


class WorkerChannel:
    """The worker's end of the socket pair; when the server's end closes, the process exits."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._unpacker = connection, Unpacker()
        self._inbox: deque[Message] = deque()
        self._cancelled: set[int] = set()
        self._words: dict[int, list[str]] = {}
        self._batch, self._polled = 0, 0.0

    def next(self) -> Message:
        """The next message, once it comes."""
        while not self._inbox:
            self._read()
        return self._inbox.popleft()

    def begin_batch(self, batch: int) -> None:
        """Set the batch of the following messages."""
        self._batch = batch

    def is_cancelled(self, job: int) -> bool:
        """Whether a job was cancelled; called at every step of a search."""
        now = time.monotonic()
        if now - self._polled > POLL_INTERVAL:
            self._polled = now
            while select.select([self._connection], [], [], 0)[0]:
                self._read()
        return job in self._cancelled

    def answer(self, job: int, answer: Answer) -> None:
        """Send the answer to a job."""
        self.send({"type": "answer", "batch": self._batch, "job": job, "answer": answer})

    def words(self, job: int, words: Sequence[str]) -> None:
        """Send a job's translation so far; only the words that changed."""
        before = self._words.get(job, ())
        first = _common_prefix(before, words)
        if first < max(len(before), len(words)):
            self._words[job] = list(words)
            message = {"type": "words", "batch": self._batch, "job": job}
            self.send({**message, "from": first, "words": list(words[first:])})

    def end_batch(self) -> None:
        """The batch is done; its cancellations and partial translations are forgotten."""
        self._cancelled.clear()
        self._words.clear()
        self.send({"type": "batch_done", "batch": self._batch})

    def send(self, message: Message) -> None:
        """Send a message to the server."""
        try:
            self._connection.sendall(pack(message))
        except OSError:
            os._exit(0)

    def _read(self) -> None:
        data = self._connection.recv(READ_BYTES)
        if not data:
            os._exit(0)  # the server has exited
        for message in self._unpacker.feed(data):
            if message["type"] == "cancel":
                self._cancelled.update(message["jobs"])
            else:
                self._inbox.append(message)


def _common_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    """How many words two translations share at their start."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))


def run_worker(descriptor: int, load: Callable[[Message], WorkerModel]) -> None:
    """Load the model, translate the canary, and answer batches until the server exits."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    channel = WorkerChannel(socket.socket(fileno=descriptor))
    message = channel.next()
    try:
        model = load(message)
        canary = [JobText(job, text) for job, text in enumerate(message["canary"])]
        answers = CollectedAnswers()
        model.translate(canary, JobOptions(), answers)
    except (UserError, OSError) as error:
        channel.send({"type": "load_failed", "error": str(error)})
        return
    except ModuleNotFoundError as error:
        reason = f"the model needs {error.name}, which is not installed"
        channel.send({"type": "load_failed", "error": reason})
        return
    texts = answers.translations(len(canary))
    ready = {
        "card": model.card(),
        "known_words": model.known_words(),
        "unknown_languages": model.unknown_languages(),
        "canary": texts,
    }
    channel.send({"type": "ready", **ready})
    while True:
        message = channel.next()
        channel.begin_batch(message["batch"])
        jobs = [JobText(job, text) for job, text in message["jobs"]]
        model.translate(jobs, JobOptions.from_message(message["options"]), channel)
        channel.end_batch()


class CollectedAnswers(WorkerChannel):
    """Answers collected in this process instead of sent."""

    def __init__(self) -> None:
        self.answers: dict[int, Answer] = {}

    def is_cancelled(self, job: int) -> bool:
        """Nobody cancels."""
        return False

    def answer(self, job: int, answer: Answer) -> None:
        """Collect an answer."""
        self.answers[job] = answer

    def translations(self, count: int) -> list[str]:
        """The best translation of each text; empty where there is none."""
        return [best_text(self.answers.get(job, {})) for job in range(count)]


def best_text(answer: Mapping[str, Any]) -> str:
    """The best translation of an answer; empty if there is none."""
    translations = answer.get("translations")
    return translations[0]["text"] if translations else ""


def sleep_unless(seconds: float, is_cancelled: Callable[[], bool]) -> None:
    """Sleep, and wake up early once cancelled."""
    end = time.monotonic() + seconds
    while (remaining := end - time.monotonic()) > 0 and not is_cancelled():
        time.sleep(min(remaining, 0.01))
