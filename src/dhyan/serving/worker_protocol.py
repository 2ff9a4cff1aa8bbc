"""The model's side of the talk: batches in, answers out, and who has left meanwhile."""

import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dhyan.errors import UserError
from dhyan.serving.framing import Message, Unpacker, pack
from dhyan.serving.jobs import Answer, Manner

MANNER = tuple(Manner.__dataclass_fields__)
CHUNK = 65536
SELDOM = 0.005  # seconds between two looks at who has left


@dataclass(frozen=True)
class Text:
    """One text of a batch, by its number."""

    number: int
    text: str


class Speaker(Protocol):
    """What answers: a model, or something that only takes as long."""

    def about(self) -> dict[str, Any]:
        """What a client may know of it, and its own `beam`."""
        ...

    def say(self, texts: Sequence[Text], manner: Manner, talk: "Talk") -> None:
        """Answer each text by `talk.answer`, unless `talk.left` says that it need not."""
        ...


class Talk:
    """One end of the pair of sockets; when the other closes, this process ends."""

    def __init__(self, own: socket.socket) -> None:
        self._own, self._unpacker = own, Unpacker()
        self._inbox: deque[Message] = deque()
        self._left: set[int] = set()
        self._said: dict[int, list[str]] = {}
        self._number, self._looked = 0, 0.0

    def next(self) -> Message:
        """The next message, when it comes."""
        while not self._inbox:
            self._read()
        return self._inbox.popleft()

    def begin(self, number: int) -> None:
        """What is told from now on belongs to this batch."""
        self._number = number

    def left(self, number: int) -> bool:
        """Whether nobody waits for a text any more; asked at every step of a search."""
        now = time.monotonic()
        if now - self._looked > SELDOM:
            self._looked = now
            while select.select([self._own], [], [], 0)[0]:
                self._read()
        return number in self._left

    def answer(self, number: int, answer: Answer) -> None:
        """A text's answer."""
        self.send({"is": "said", "number": self._number, "piece": number, "answer": answer})

    def words(self, number: int, words: Sequence[str]) -> None:
        """A text's translation so far, of which only what has changed is sent."""
        before = self._said.get(number, ())
        first = _alike(before, words)
        if first < max(len(before), len(words)):
            self._said[number] = list(words)
            told = {"is": "words", "number": self._number, "piece": number}
            self.send({**told, "from": first, "words": list(words[first:])})

    def end(self) -> None:
        """The batch is over; who left during it, and what was said, is forgotten."""
        self._left.clear()
        self._said.clear()
        self.send({"is": "done", "number": self._number})

    def send(self, message: Message) -> None:
        """Say something."""
        try:
            self._own.sendall(pack(message))
        except OSError:
            os._exit(0)

    def _read(self) -> None:
        data = self._own.recv(CHUNK)
        if not data:
            os._exit(0)  # whoever asked is gone: nothing is worth finishing
        for message in self._unpacker.feed(data):
            if message["do"] == "leave":
                self._left.update(message["pieces"])
            else:
                self._inbox.append(message)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two translations begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def converse(descriptor: int, load: Callable[[Message], Speaker]) -> None:
    """Load, show the canary, and answer until the server is gone."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    talk = Talk(socket.socket(fileno=descriptor))
    asked = talk.next()
    try:
        speaker = load(asked)
        heard = _Overheard()
        texts = [Text(number, text) for number, text in enumerate(asked["canary"])]
        speaker.say(texts, Manner(), heard)
    except (UserError, OSError) as fault:
        talk.send({"is": "unfit", "problem": str(fault)})
        return
    talk.send({"is": "ready", "about": speaker.about(), "canary": heard.texts(len(texts))})
    while True:
        asked = talk.next()
        talk.begin(asked["number"])
        texts = [Text(*one) for one in asked["pieces"]]
        speaker.say(texts, Manner(**{name: asked[name] for name in MANNER}), talk)
        talk.end()


class _Overheard(Talk):
    """Answers that stay here."""

    def __init__(self) -> None:
        self.found: dict[int, Answer] = {}

    def left(self, number: int) -> bool:
        return False

    def answer(self, number: int, answer: Answer) -> None:
        self.found[number] = answer

    def texts(self, count: int) -> list[str]:
        told = (self.found.get(number, {}).get("translations") for number in range(count))
        return [one[0]["text"] if one else "" for one in told]


def linger(seconds: float, leave: Callable[[], bool]) -> None:
    """Sleep, but look up now and then whether to leave."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not leave():
        time.sleep(min(left, 0.01))
