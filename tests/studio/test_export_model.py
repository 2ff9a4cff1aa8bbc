"""A model as one HTML page: complete, isolated, small enough; what the engine cannot run is refused."""

import base64
import json
import re
import sys

import pytest

from dhyan.cli import main
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.pretrained import TRANSLATORS
from dhyan.studio.export_model import check_supported, export_model
from tests.model_check.valid_model import model_files, write_model
from tests.tiny_models import RECIPES

LARGEST_PAGE = 12_000_000  # bytes; a mail attachment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run folder with float32 weights and a BPE tokenizer."""
    folder = tmp_path_factory.mktemp("model") / "mine"
    languages = {"data.source_language": "en", "data.target_language": "hi"}
    write_model(folder, model_files("rnn", **languages))
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return export_model(folder)


def block(page, name):
    [text] = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)
    return text


@pytest.mark.parametrize(
    ("recipe", "setting", "value"),
    [
        ("rnn", "text.tokenizer", "unigram"),
        ("rnn", "text.placeholders", ["number"]),
        ("rnn", "encoder.input", "one_hot"),
        ("rnn", "decoder.attention.score", "coverage"),
        ("rnn", "decoder.attention.heads", 2),
        ("rnn", "decoder.attention.window", "monotonic"),
        ("rnn", "decoding.no_repeat_ngram", 3),
        ("rnn", "decoding.coverage_penalty", 0.2),
        ("transformer", "encoder.positions", "rotary"),
        ("transformer", "encoder.kv_heads", 1),
        ("transformer", "encoder.activation", "gelu"),
        ("transformer", "decoder.score", "additive"),
    ],
)
def test_what_the_engine_cannot_run_is_refused_by_the_name_of_its_setting(recipe, setting, value):
    settings = load_recipe(RECIPES[recipe], {"text.tokenizer": "bpe", setting: value})
    with pytest.raises(UserError, match=rf"a page cannot run a model with {re.escape(setting)} = "):
        check_supported(settings, "mine")


@pytest.mark.parametrize("recipe", RECIPES.values())
def test_shipped_recipes_with_bpe_are_supported(recipe):
    check_supported(load_recipe(recipe, {"text.tokenizer": "bpe"}), "mine")


def test_only_the_page_and_its_worker_may_run_and_nothing_is_fetched(page):
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)
    assert policy.startswith("default-src 'none'; ")
    assert policy.endswith("; worker-src data:")
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert not re.search(r'(?:href|src)="/', page)


def test_the_worker_has_all_it_imports_inside(page):
    url = json.loads(block(page, "model-facts"))["worker"]
    assert url.startswith("data:text/javascript")
    source = base64.b64decode(url.partition("base64,")[2]).decode()
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    assert not re.search(r"^import\b", code, re.M)
    modules = re.findall(r"^const (engine_\w+_js) = \(\(\) => \{", code, re.M)
    assert len(modules) == len(set(modules)) > 5  # each module once
    assert modules[-1] == "engine_worker_js"


def test_float_weights_are_stored_in_int8(page, folder):
    stored = base64.b64decode(block(page, "model-weights"))
    length = int.from_bytes(stored[:8], "little")
    header = json.loads(stored[8 : 8 + length])
    types = {name: entry["dtype"] for name, entry in header.items() if "weight" in name}
    matrices = {name: kind for name, kind in types.items() if not name.endswith(":scale")}
    assert set(matrices.values()) == {"I8"}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_pretrained_model_fits_into_a_mail(name):
    page = export_model(name)
    assert len(page.encode()) <= LARGEST_PAGE
    card = json.loads(block(page, "embedded-responses"))["/api/card"]
    assert all(text["licence"] and text["attribution"] for text in card["data"])


def test_the_command_writes_the_page(folder, tmp_path, monkeypatch, capsys):
    output = tmp_path / "mine.html"
    words = ["dhyan", "export", str(folder), str(output), "--to", "html"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert output.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert str(output) in capsys.readouterr().out


def test_a_model_that_is_refused_leaves_no_file(tmp_path, monkeypatch, capsys):
    write_model(tmp_path / "mine", model_files("transformer", **{"encoder.positions": "rotary"}))
    output = tmp_path / "mine.html"
    words = ["dhyan", "export", str(tmp_path / "mine"), str(output), "--to", "html"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "encoder.positions = rotary" in capsys.readouterr().err
    assert not output.exists()
