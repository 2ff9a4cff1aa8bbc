"""The README.md of an exported folder: how to use it, languages, scores, training data, licence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from dhyan.config import Recipe
from dhyan.model_check import CheckedModel
from dhyan.model_check.model_folder import TRAIN_STATE
from dhyan.pretrained.card import CARD, Card, read_card
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.text.languages import LANGUAGE_NAMES

Format = Literal["ctranslate2", "huggingface", "onnx"]
README = "README.md"
MAX_STATE_BYTES = 2**20
LIBRARIES = {"ctranslate2": "ctranslate2", "huggingface": "transformers", "onnx": "onnxruntime"}
USAGE: dict[str, str] = {
    "huggingface": """\
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained("."), AutoTokenizer.from_pretrained(".")
outputs = model.generate(**tokenizer(["{sentence}"], return_tensors="pt", padding=True))
print(tokenizer.batch_decode(outputs, skip_special_tokens=True)[0])
""",
    "ctranslate2": """\
import ctranslate2
{imports}

{tokenizers}
translator = ctranslate2.Translator(".")
[result] = translator.translate_batch(
    [{encode}], beam_size={beam}, patience=2, length_penalty={penalty:g}
)
print({decode})
""",
    "onnx": """\
from dhyan.interop.onnx_model import load_onnx

print(load_onnx(".").translate("{sentence}").text)
""",
}
TOKENIZERS = {  # by a file of the folder: imports, tokenizers, from text to tokens and back
    "source_tokenizer.json": (
        "from tokenizers import Tokenizer",
        'source, target = map(Tokenizer.from_file, ("source_tokenizer.json", "target_tokenizer.json"))',
        'source.encode("{sentence}").tokens',
        "target.decode([target.token_to_id(token) for token in result.hypotheses[0]])",
    ),
    "source.spm": (
        "from sentencepiece import SentencePieceProcessor",
        'source, target = map(SentencePieceProcessor, ("source.spm", "target.spm"))',
        'source.encode("{sentence}", out_type=str)',
        "target.decode(result.hypotheses[0])",
    ),
    "source.json": (
        "from dhyan.text.tokenizer import Tokenizer",
        'source, target = map(Tokenizer.load, ("source.json", "target.json"))',
        '[list(source.piece_ids())[id] for id in source.encode("{sentence}")]',
        "target.decode([target.piece_ids()[token] for token in result.hypotheses[0]])",
    ),
}
NOTES = {
    "huggingface": "The search of `generation_config.json` is that of dhyan: the same scores, and "
    "the same end.",
    "ctranslate2": "With `patience=2` its beam search ends no sooner than that of dhyan. Of int8 "
    'weights, `compute_type="float32"` computes with unrounded states: slower, and equal to dhyan.',
    "onnx": "`encoder.onnx` turns a batch of token ids into the first state of the decoder, and "
    "`step.onnx` a token and a state into the logits of the next token and the next state; "
    "`dhyan.json` names the tensors of a state. They need no dhyan and no torch: see the "
    "documentation, “Take it elsewhere”.",
}


def write_card(checked: CheckedModel, folder: Path, format: Format) -> None:
    """Write the README.md of an exported folder."""
    found = next((name for name in TOKENIZERS if (folder / name).is_file()), "source.json")
    text = "\n".join(card_lines(checked, format, TOKENIZERS[found])) + "\n"
    (folder / README).write_text(text, encoding="utf-8")


def card_lines(
    checked: CheckedModel, format: Format, tokenizers: tuple[str, str, str, str]
) -> Iterator[str]:
    """What the model's own card says, or else its recipe and its training."""
    recipe = checked.recipe
    data, options = recipe.data, recipe.decoding
    codes = [code for code in (data.source_language, data.target_language) if code]
    card = read_card(checked.folder) if CARD in checked.manifest["files"] else None
    yield from _front_matter(codes, format)
    yield ""
    yield f"# {' → '.join(LANGUAGE_NAMES.get(code, code) for code in codes) or 'A dhyan model'}"
    yield ""
    yield recipe.about or "A model trained with dhyan."
    yield ""
    sentence = "हरे पेड़ के पास एक घर है।" if data.source_language == "hi" else "The house is small."
    imports, made, encode, decode = tokenizers
    usage = USAGE[format].format(
        sentence=sentence,
        beam=options.width,
        penalty=options.length_penalty,
        imports=imports,
        tokenizers=made,
        encode=encode.format(sentence=sentence),
        decode=decode,
    )
    yield from ("```python", usage.rstrip("\n"), "```", "", NOTES[format], "")
    if card is not None:
        yield from _from_card(card)
    else:
        yield from _from_training(checked, recipe)


def _front_matter(codes: list[str], format: Format) -> Iterator[str]:
    """What the Hub of Hugging Face reads."""
    yield "---"
    if codes:
        yield f"language: {json.dumps(codes)}"
    yield f"library_name: {LIBRARIES[format]}"
    yield "pipeline_tag: translation"
    yield 'tags: ["translation", "dhyan"]'
    yield "---"


def _from_card(card: Card) -> Iterator[str]:
    yield "## Scores"
    yield ""
    yield f"On {card.test} ({card.test_pairs:,} pairs, held out), beam {card.beam}, before the export:"
    yield ""
    yield "| metric | score | signature |"
    yield "|---|---|---|"
    yield from (
        f"| {score.name} | {score.value:.2f} | `{score.signature.replace('|', ', ')}` |"
        for score in card.scores.values()
    )
    yield from ("", "## Training data and licences", "")
    for text in card.data:
        yield f"- {text.name}: {text.pairs:,} pairs. Licence: {text.licence}. {text.attribution}."
    yield ""
    yield f"{card.architecture}, {card.parameters:,} parameters, {card.steps:,} steps; {card.date}."
    yield from ("", "## Limits", "", *(f"- {limit}" for limit in card.limits))


def _from_training(checked: CheckedModel, recipe: Recipe) -> Iterator[str]:
    yield "## Scores"
    yield ""
    scores = _validation_scores(checked)
    if scores:
        found = ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
        yield f"On the validation set, step {checked.manifest['step']:,}: {found}."
    else:
        yield "None are known. `dhyan evaluate` measures them on a test set."
    yield from ("", "## Training data and licences", "")
    files = [Path(file).name for file in (recipe.data.source, recipe.data.target) if file]
    synthetic = f"the synthetic corpus `{recipe.data.synthetic}`" if recipe.data.synthetic else ""
    known = synthetic or " and ".join(f"`{file}`" for file in files)
    yield f"Trained on {known}." if known else "The training data are not named in the recipe."
    yield "The licence of the weights follows from that of the data; whoever publishes them states it."


def _validation_scores(checked: CheckedModel) -> dict[str, float]:
    """The scores of the checkpoint, if it holds the state of its training."""
    if TRAIN_STATE not in checked.manifest["files"]:
        return {}
    state: Any = read_json(
        read_file(checked.folder / TRAIN_STATE, max_bytes=MAX_STATE_BYTES), finite=False
    )
    return {
        name: float(value)
        for name, value in state.get("scores", {}).items()
        if isinstance(value, int | float)
    }
