"""A training that learns nothing: its validation scores follow from the learning rate.

It writes what `dhyan train` writes that a sweep reads, and stops at SIGTERM. A folder with a file
`die` kills it once, in the middle.
"""

import json
import math
import os
import signal
import sys
import time
import tomllib
from pathlib import Path

folder = Path(sys.argv[1])
recipe = tomllib.loads((folder / "sweep-recipe.toml").read_text())
loss = abs(math.log10(recipe["training"]["learning_rate"]) + 3) + 1
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
(folder / "starts").open("a").write("x")
metrics = folder / "metrics.jsonl"
done = metrics.read_text().count("\n") if metrics.exists() else 0
(folder / "step-0").mkdir(exist_ok=True)
for step in range(done + 1, 6):
    with metrics.open("a") as file:
        event = {"event": "validated", "step": step, "scores": {"loss": loss + 1 / step}}
        file.write(json.dumps(event) + "\n")
    if step == 3 and (folder.parent / "die").exists():
        (folder.parent / "die").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.3 if recipe["training"]["learning_rate"] > 0.1 else 0)
