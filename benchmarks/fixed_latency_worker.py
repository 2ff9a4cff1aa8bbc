"""A worker process for the server with a fixed latency and no model: it echoes texts in capitals.

`python -m benchmarks.fixed_latency_worker FD`. A batch takes `each` seconds and `per_text` more for
every text. A few texts make it misbehave, for tests of the server: `!kill`, `!abort`, `!hang`,
`!slow N`, `!unsupported`.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dhyan.errors import UserError
from dhyan.serving.worker_protocol import (
    JobOptions,
    JobText,
    Message,
    WorkerChannel,
    run_worker,
    sleep_unless,
)
from dhyan.text.languages import UNDETERMINED


@dataclass(frozen=True)
class FixedLatencyModel:
    """Echoes every text in capitals; with a question mark if it is `broken`."""

    each: float
    per_text: float
    beam: int
    broken: bool
    languages: Sequence[str]
    words: Mapping[str, list[str]]

    def card(self) -> dict[str, Any]:
        """Facts as a model has them."""
        source, target = self.languages
        return {
            "task": "translate", "source_language": source, "target_language": target,
            "beam": self.beam, "max_source_length": 1000, "parameters": 0,
        }  # fmt: skip

    def unknown_languages(self) -> list[str]:
        """The settings of those languages that are not known."""
        settings = ("data.source_language", "data.target_language")
        pairs = zip(settings, self.languages, strict=True)
        return [setting for setting, language in pairs if language == UNDETERMINED]

    def known_words(self) -> dict[str, list[str]]:
        """Words of its languages."""
        return {language: self.words.get(language, []) for language in self.languages}

    def translate(
        self, texts: Sequence[JobText], options: JobOptions, channel: WorkerChannel
    ) -> None:
        """Take the time, then answer all."""
        seconds = self.each + self.per_text * len(texts)
        sleep_unless(seconds, lambda: all(channel.is_cancelled(text.job) for text in texts))
        for text in texts:
            if not channel.is_cancelled(text.job):
                self._answer(text, options, channel)

    def _answer(self, text: JobText, options: JobOptions, channel: WorkerChannel) -> None:
        match text.text.split():
            case ["!kill"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["!abort"]:
                os.abort()
            case ["!hang"]:
                time.sleep(3600)
            case ["!slow", seconds]:
                sleep_unless(float(seconds), lambda: channel.is_cancelled(text.job))
            case ["!unsupported"]:
                error = {"error": "this option is not supported", "code": "unsupported_option"}
                channel.answer(text.job, error)
                return
        echo = text.text.upper() + ("?" if self.broken else "")
        for source, target in options.glossary:
            echo = echo.replace(source.upper(), target)
        echo = f"{options.prefix} {echo}" if options.prefix else echo
        if options.stream:
            words = echo.split()
            for count in range(1, len(words) + 1):
                channel.words(text.job, words[:count])
                sleep_unless(self.per_text, lambda: channel.is_cancelled(text.job))
        translation: dict[str, Any] = {"text": echo, "score": -1.0, "finished": True}
        if options.align:
            translation["alignment"] = [(index, index) for index in range(len(echo.split()))]
        tokens = len(text.text.split())
        channel.answer(text.job, {"translations": [translation] * options.nbest, "tokens": tokens})


def load(message: Message) -> FixedLatencyModel:
    """As the message says, after the time that loading takes."""
    time.sleep(message.get("loading", 0.0))
    if error := message.get("error"):
        raise UserError(error)
    broken = bool(message.get("broken")) and os.path.exists(message["broken"])
    return FixedLatencyModel(
        message["each"],
        message["per_text"],
        message.get("beam", 1),
        broken,
        message.get("languages", ("en", "hi")),
        message.get("words", {}),
    )


if __name__ == "__main__":
    run_worker(int(sys.argv[1]), load)
