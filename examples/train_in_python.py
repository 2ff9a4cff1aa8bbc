"""Train a recipe from Python, listen to what happens, and draw what the model attends to."""

import sys
from pathlib import Path

from dhyan import explain, load
from dhyan.config import load_recipe
from dhyan.insight.heatmap import heatmap, save
from dhyan.run import train
from dhyan.training.events import Validated

out = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/example")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
recipe = load_recipe("numbers", {"training.steps": steps, "training.validate_every": 100})

for event in train(recipe, out):
    match event:
        case Validated(step=step, scores=scores):
            print(f"step {step}: " + ", ".join(f"{k} {v:.2f}" for k, v in scores.items()))

translator = load(out)
sentence = "two hundred thirty four thousand five hundred six"
print(sentence, "→", translator(sentence)[0].text)
save(heatmap(*explain(translator, sentence)), out / "attention.svg")
print("drew", out / "attention.svg")
