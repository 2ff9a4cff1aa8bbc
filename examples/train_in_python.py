"""Train a recipe from Python, print the validation scores, translate, and draw the attention."""

import sys
from pathlib import Path

import dhyan
from dhyan.insight.heatmap import save

out = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/example")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400

result = dhyan.train(
    recipe="numbers", out=out, steps=steps, settings={"training.validate_every": 100}
)
print(result)

sentence = "two hundred thirty four thousand five hundred six"
translation = result.translator.translate(sentence)
print(sentence, "→", translation.text)
for word, prob in translation.word_probs:
    print(f"{prob:7.1%}  {word}")
save(dhyan.heatmap(*dhyan.explain(result.translator, sentence)), out / "attention.svg")
print("drew", out / "attention.svg")
