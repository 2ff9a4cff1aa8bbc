"""A translation server whose worker has a fixed latency, or runs another command.

`python -m benchmarks.fixed_latency_server '{…}'` takes its options as JSON.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dhyan.serving.access import read_keys
from dhyan.serving.server import Access, log_to, serve
from dhyan.serving.settings import ServerSettings
from dhyan.serving.supervisor import Canary, WorkerPool
from dhyan.web.connection import ConnectionLimits
from dhyan.web.listen import ListenAddress, bind

FIXED = [sys.executable, "-m", "benchmarks.fixed_latency_worker"]
NO_LATENCY = {"each": 0.0, "per_text": 0.0}


def main(options: Mapping[str, Any]) -> None:
    """Serve by `settings`, `connection` limits, worker `command` and what it is to `load`,
    `canary`, host `names`, file of API `keys`, `origins` of pages, `proxies`, how many `workers` a
    model has, and whether there is a `metrics_port`. `models` are several: what each worker is to
    load, by name."""
    limits = ConnectionLimits(**options.get("connection", {}))
    settings = ServerSettings(**options.get("settings", {}), connection=limits)
    command, canary = options.get("command", FIXED), options.get("canary", {})
    workers = options.get("workers", 1)
    pools = [
        WorkerPool.build(
            command,
            {**NO_LATENCY, **load},
            settings,
            Canary(**canary),
            name=name,
            workers=workers,
        )
        for name, load in options.get("models", {"fixed": options.get("load", {})}).items()
    ]
    address = ListenAddress(port=0, names=options.get("names", ()))
    keys = read_keys(Path(options["keys"])) if "keys" in options else None
    origins, proxies = frozenset(options.get("origins", ())), tuple(options.get("proxies", ()))
    access = Access(address, keys, origins, proxies)
    log_to(lambda line: print(line, file=sys.stderr, flush=True))
    bound = bind(address)
    metrics_socket = bind(ListenAddress(port=0)) if options.get("metrics_port") else None
    serve(pools, bound, access, _announce, metrics_socket=metrics_socket)


def _announce(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
