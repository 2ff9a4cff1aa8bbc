"""A worker process: reads names of shards from stdin, translates them, and answers on stdout."""

import json
import os
import sys
from queue import SimpleQueue
from threading import Thread

from dhyan.batch_translation.shard import translate_shard


def main(out: str, device: str, threads: str) -> None:
    """Translate shards until stdin is closed, which ends the process at once."""
    names = SimpleQueue[str]()

    def read_names() -> None:
        for line in sys.stdin.buffer:
            names.put(json.loads(line))
        os._exit(0)

    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever else is printed is no answer
    Thread(target=read_names, daemon=True).start()
    while True:
        outcome = translate_shard(out, names.get(), device, int(threads))
        answers.write(json.dumps(outcome).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
