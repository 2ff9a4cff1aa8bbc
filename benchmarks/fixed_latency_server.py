"""A translation server whose worker has a fixed latency, or runs another command.

`python -m benchmarks.fixed_latency_server '{…}'` takes its settings as JSON.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dhyan.serving.api_keys import read_keys
from dhyan.serving.server import Place, log_to, serve, take_place
from dhyan.serving.settings import Settings
from dhyan.serving.supervisor import Canary, Keeper

FIXED = [sys.executable, "-m", "benchmarks.fixed_latency_worker"]


def main(given: Mapping[str, Any]) -> None:
    """Serve by the settings, the command and what it is to load, the canary, names, keys and
    whether it is watched."""
    settings = Settings(**given.get("settings", {}))
    load = {"each": 0.0, "per_text": 0.0, **given.get("load", {})}
    canary = Canary(**given.get("canary", {}))
    keeper = Keeper(given.get("command", FIXED), load, settings, canary)
    place = Place(port=0, names=given.get("names", ()))
    keys = read_keys(Path(given["keys"])) if "keys" in given else None
    log_to(lambda line: print(line, file=sys.stderr, flush=True))
    taken = take_place(place)
    watched = take_place(Place(port=0)) if given.get("watched") else None
    serve(keeper, taken, place, keys, _say, watched=watched)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
