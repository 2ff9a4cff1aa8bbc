"""Train a recipe from Python, print the validation scores, and draw the attention."""

import sys
from pathlib import Path

import dhyan
from dhyan.insight.heatmap import save
from dhyan.training.events import Validated

out = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/example")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
recipe = dhyan.load_recipe("numbers", {"training.steps": steps, "training.validate_every": 100})

for event in dhyan.train(recipe, out):
    match event:
        case Validated(step=step, scores=scores):
            values = (f"{metric} {value:.2f}" for metric, value in scores.items())
            print(f"step {step}: {', '.join(values)}")

translator = dhyan.load(out)
sentence = "two hundred thirty four thousand five hundred six"
print(sentence, "→", translator(sentence)[0].text)
save(dhyan.heatmap(*dhyan.explain(translator, sentence)), out / "attention.svg")
print("drew", out / "attention.svg")
