"""A worker process for the server with a fixed latency and no model: it echoes texts in capitals.

`python -m benchmarks.fixed_latency_worker FD`. A batch takes `each` seconds and `per_text` more for
every text. A few texts make it misbehave, for tests of the server: `!kill`, `!abort`, `!hang`,
`!slow N`, `!unfit`.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dhyan.errors import UserError
from dhyan.serving.framing import Message
from dhyan.serving.jobs import Manner
from dhyan.serving.worker_protocol import Talk, Text, converse, linger


@dataclass(frozen=True)
class Fixed:
    """Says every text again, with its letters in capitals."""

    each: float
    per_text: float
    beam: int
    broken: bool

    def about(self) -> dict[str, Any]:
        """As a model would."""
        return {
            "name": "fixed", "source": "en", "target": "hi", "beam": self.beam, "longest": 1000,
            "parameters": 0,
        }  # fmt: skip

    def say(self, texts: Sequence[Text], manner: Manner, talk: Talk) -> None:
        """Take the time, then answer all."""
        seconds = self.each + self.per_text * len(texts)
        linger(seconds, lambda: all(talk.left(text.number) for text in texts))
        for text in texts:
            if not talk.left(text.number):
                self._answer(text, manner, talk)

    def _answer(self, text: Text, manner: Manner, talk: Talk) -> None:
        match text.text.split():
            case ["!kill"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["!abort"]:
                os.abort()
            case ["!hang"]:
                time.sleep(3600)
            case ["!slow", seconds]:
                linger(float(seconds), lambda: talk.left(text.number))
            case ["!unfit"]:
                talk.answer(text.number, {"problem": "it does not fit", "code": "unfit"})
                return
        said = text.text.upper() + ("?" if self.broken else "")
        if manner.stream:
            words = said.split()
            for count in range(1, len(words) + 1):
                talk.words(text.number, words[:count])
                linger(self.per_text, lambda: talk.left(text.number))
        one: dict[str, Any] = {"text": said, "score": -1.0, "finished": True}
        if manner.align:
            one["alignment"] = [(place, place) for place in range(len(said.split()))]
        told = {"translations": [one] * manner.nbest, "tokens": len(text.text.split())}
        talk.answer(text.number, told)


def load(asked: Message) -> Fixed:
    """As the settings say, after the time that loading takes."""
    time.sleep(asked.get("loading", 0.0))
    if problem := asked.get("problem"):
        raise UserError(problem)
    broken = bool(asked.get("broken")) and os.path.exists(asked["broken"])
    return Fixed(asked["each"], asked["per_text"], asked.get("beam", 1), broken)


if __name__ == "__main__":
    converse(int(sys.argv[1]), load)
