"""README, changelog and examples: programs run, names and links exist, sizes are small."""

import re
import subprocess
from pathlib import Path

import pytest

from dhyan.cli.messages import Exit
from dhyan.config import load_recipe, shipped_recipes
from dhyan.insight.explain import explain
from dhyan.pretrained import MODELS
from dhyan.run import load, train
from tests.fork_server import forked_python
from tests.tiny_models import environment

ROOT = Path(__file__).parents[2]
FEW = {"training.steps": 3, "training.validate_every": 3, "training.valid_sentences": 2}


def run(*arguments, cwd):
    process = subprocess.run(
        forked_python(*arguments), capture_output=True, env=environment(), cwd=cwd
    )
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout.decode()


def test_the_readmes_program_runs(tmp_path):
    for _ in train(load_recipe("numbers", FEW), tmp_path / "runs" / "numbers", threads=1):
        pass
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    assert "BLEU" in run("program.py", cwd=tmp_path)


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/first-translator.md"])
def test_the_output_of_pretrained_models_is_theirs(page):
    """Translations are equal; weights may differ by one hundredth on another machine."""
    text = (ROOT / page).read_text()
    [sentence] = re.findall(r'echo "(.*)" \| dhyan translate en-hi\b', text)
    assert f"\n{load('en-hi').translate(sentence).text}\n" in text
    [model, sentence] = re.findall(r'dhyan show (en-[\w-]+) "(.*)"(?! -o)', text)[-1]
    attention = explain(load(model), sentence)[-1]
    rows = re.findall(rf"^((?: *(?:\d+|·)){{{len(attention.source)}}})  (\S+)$", text, re.MULTILINE)
    assert len(rows) >= 3
    for (shown, word), target, weights in zip(
        rows, attention.target, attention.head_weights(), strict=False
    ):
        assert word == target
        hundredths = [0 if weight == "·" else int(weight) for weight in shown.split()]
        assert hundredths == pytest.approx([100 * weight for weight in weights.tolist()], abs=1)


def test_the_readme_names_recipes_and_commands_that_exist():
    text = (ROOT / "README.md").read_text()
    recipes = set(re.findall(r"dhyan train ([\w-]+)", text))
    assert recipes
    assert recipes <= set(shipped_recipes())
    help_text = run("-m", "dhyan", "--help", cwd=ROOT)
    for command in set(re.findall(r"(?:^|`)dhyan (\w+)", text, re.MULTILINE)):
        assert command in help_text


def test_every_link_and_picture_of_the_readme_exists():
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text())
    assert links
    assert not [link for link in links if ":" not in link and not (ROOT / link).exists()]


def test_the_readme_has_one_and_a_half_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 75


def test_a_checkout_is_small():
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    paths = [ROOT / name for name in listed.rstrip("\0").split("\0")]
    own = [path for path in paths if path.is_file() and MODELS not in path.parents]
    assert sum(path.stat().st_size for path in own) <= 15_000_000


def test_the_changelog_keeps_its_form():
    """Keep a Changelog: releases are `## [name]`, changes stand under the usual headings."""
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "\n## [Unreleased]\n" in text
    headings = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert headings <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert not re.findall(r"^## (?!\[)", text, re.MULTILINE)


def test_every_exit_code_is_in_the_table():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for code in Exit:
        assert re.search(rf"^\|[^|]*\b{code.value}\b", text, re.MULTILINE)
