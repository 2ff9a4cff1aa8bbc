"""The table of mechanisms: every row's class exists, its command trains, its count is right."""

import ast
import operator
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from torch import nn

from dhyan import attention
from dhyan.attention import MultiHeadAttention, SingleHeadAttention
from dhyan.attention.registry import BUILT_IN
from dhyan.config import load_recipe, parse_setting
from dhyan.models.copy_mechanism import CopyingDecoder
from dhyan.run import train
from tests.fork_server import forked_python
from tests.tiny_models import environment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "mechanisms.md").read_text()
SMALL = {
    "data.synthetic": "numbers", "data.pairs": 60, "training.steps": 2, "training.valid_sentences": 2,
    "training.early_stopping_metric": "loss", "training.tokens_per_batch": 300, "data.max_tokens": 40,
}  # fmt: skip


def rows():
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and "](" in line:
            yield pytest.param(*cells, id=cells[0])


def settings_of(command):
    words = shlex.split(command)
    assert words[:2] == ["dhyan", "train"]
    assert words[3::2] == ["--set"] * len(words[3::2])
    return words[2], dict(parse_setting(setting) for setting in words[4::2])


def letters(model, recipe):
    """The values in a model of the letters that the page uses."""
    decoder, attention_settings = recipe.decoder, getattr(recipe.decoder, "attention", None)
    values = {
        "W": decoder.width,
        "D": model.encoder.width,
        "Q": decoder.width,
        "M": recipe.data.max_tokens + 1,
        "V": model.decoder.token_embedding.num_embeddings,
        "H": attention_settings.heads if attention_settings else decoder.heads,
        "G": (attention_settings.kv_heads or attention_settings.heads)
        if attention_settings
        else decoder.kv_heads or decoder.heads,
    }
    if attention_settings:
        values |= {
            "A": attention_settings.score_width,
            "F": attention_settings.coverage_filters,
            "R": attention_settings.coverage_filter_radius,
        }
    return values


def mechanism_modules(model, name, about):
    """The modules of the model that a row describes, and their widths."""
    if name == "CopyingDecoder":
        copying = model.decoder
        assert type(copying) is CopyingDecoder
        return [copying.copy_attention, copying.gate], {"Q": copying.decoder.width}
    every = dict(model.named_modules())
    heads = SingleHeadAttention | MultiHeadAttention
    masks = [module.mask for module in every.values() if isinstance(module, heads)]
    if name[0].islower():
        assert getattr(attention, name) in masks
        return [], {}
    if any(type(mask).__name__ == name and not isinstance(mask, nn.Module) for mask in masks):
        return [], {}
    end = "cross_attention" if about.startswith("cross") else "attention"
    fitting = [m for n, m in every.items() if type(m).__name__ == name and n.endswith(end)]
    fitting = fitting or [m for m in every.values() if type(m).__name__ == name]
    assert fitting, f"{name} is nowhere in this model"
    return fitting[-1:], {}


@pytest.mark.parametrize(
    ("about", "equation", "link", "command", "parameters", "cost", "paper"), list(rows())
)
def test_a_row_of_the_table(about, equation, link, command, parameters, cost, paper, tmp_path):
    name, path = re.fullmatch(r"\[`(\w+)`\]\(\.\./\.\./(.+)\)", link).groups()
    assert re.search(rf"^(class |def |){name}\b", (ROOT / path).read_text(), re.MULTILINE)
    assert hasattr(attention, name) or name in ("UniformScore", "CopyingDecoder")
    assert equation
    assert cost
    assert paper
    if not command.startswith("`dhyan"):
        process = subprocess.run(
            forked_python(*shlex.split(command.strip("`"))[1:]),
            cwd=ROOT, env=environment(), capture_output=True,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr.decode()
        return
    recipe_name, settings = settings_of(command.strip("`"))
    recipe = load_recipe(recipe_name, {**settings, **SMALL})
    run = train(recipe, tmp_path / "run", threads=1)
    for _ in run:
        pass
    model = run.folder.translator.model
    parts, widths = mechanism_modules(model, name, about)
    counted = sum(p.numel() for part in parts for p in part.parameters())
    formula = ast.parse(parameters.strip("`"), about, "eval").body
    assert counted == value_of(formula, {**letters(model, recipe), **widths})  # the page's words


OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}


def value_of(formula, letters):
    """The value of an arithmetic formula."""
    match formula:
        case ast.Constant(value=number):
            return number
        case ast.Name(id=letter):
            return letters[letter]
        case ast.BinOp(left=left, op=operation, right=right):
            return OPERATIONS[type(operation)](value_of(left, letters), value_of(right, letters))
    raise ValueError(ast.dump(formula))


def test_every_mechanism_of_ours_is_in_the_table():
    for score in BUILT_IN:
        label = {
            "scaled_dot": "scaled dot",
            "bottleneck": "no attention",
            "location_aware": "location-aware",
        }.get(score, score)
        assert re.search(rf"^\| {label}\b", PAGE, re.MULTILINE), score


def test_the_users_own_score_works_from_the_command_line(tmp_path):
    plugin = ("--plugin", ROOT / "examples" / "own_score.py")
    settings = [f"{key}={value}" for key, value in SMALL.items()]
    sets = [word for setting in settings for word in ("--set", setting)]

    def dhyan(*words, **more):
        return subprocess.run(
            forked_python("-m", "dhyan", *words),
            cwd=tmp_path, env=environment(), capture_output=True, **more,
        )  # fmt: skip

    score = ("--set", "decoder.attention.score=cosine")
    process = dhyan(*plugin, "train", "numbers", *score, *sets)
    assert process.returncode == 0, process.stderr.decode()
    process = dhyan(*plugin, "translate", "runs/numbers", input=b"three\n")
    assert process.returncode == 0, process.stderr.decode()
    assert len(process.stdout.splitlines()) == 1
    process = dhyan("translate", "runs/numbers", input=b"three\n")
    assert process.returncode == 2
    assert b"no attention is called 'cosine'" in process.stderr
    process = dhyan("--plugin", "nowhere.py", "info", "runs/numbers")
    assert process.returncode == 2
    assert process.stderr.count(b"\n") == 1
