"""HTML entities and duplicate pairs: counted, and removed on request."""

import json

import pytest
from typer.testing import CliRunner

from dhyan.cli.data import app
from dhyan.config import differences, load_recipe
from dhyan.data.corpus import load_corpus
from dhyan.data.filters import has_entity, unescape_entities
from dhyan.data.prepare import prepare
from dhyan.data.prepared_corpus import open_prepared
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.errors import UserError
from dhyan.run.resume_checks import MAY_CHANGE
from tests.tiny_models import tiny_settings

ROWS = [
    ("salt &amp; pepper", "muối &quot;và&quot; tiêu"),
    ("It&#39;s late", "Muộn rồi"),
    ("Good  morning", "Chào buổi sáng"),
    ("Good morning", "Chào buổi sáng"),
    ("Good morning", "Chào"),
    ("It's late", "Muộn rồi"),
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in ROWS), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &amp; b", "a & b"),
        ("&quot;a&quot; &#39;b&#39; &#x27;c&#X27;", "\"a\" 'b' 'c'"),
        ("&lt;b&gt; &nbsp;&hellip;", "<b> \u00a0…"),
        ("&amp;quot;", "&quot;"),
        ("?a=1&copy=2 AT&T R&D &unknown; &; &#; fish&chips", None),
        ("a&#10;b", "a b"),
        ("&#0;&#xd800;", "\ufffd\ufffd"),
        ("&#99999999; &#xffffffff;", None),
    ],
)
def test_entities_are_unescaped_once(text, expected):
    assert unescape_entities(text) == (text if expected is None else expected)
    assert has_entity(text) == (expected is not None)


def test_entities_are_unescaped_on_reading_and_counted(table):
    report = ReadReport()
    pairs = list(read_pairs(table, unescape=True, report=report))
    assert (pairs[0].source, pairs[0].target) == ("salt & pepper", 'muối "và" tiêu')
    assert pairs[1].source == "It's late"
    assert report.lines()[1] == (
        f"unescaped HTML entities in 3 sentences ({table}:1, {table}:1, {table}:2)"
    )


def test_duplicates_are_dropped_in_normal_form_and_counted(table):
    report = ReadReport()
    assert [pair.line for pair in read_pairs(table, dedupe=True, report=report)] == [1, 2, 3, 5, 6]
    assert report.dropped["duplicate of an earlier pair"].locations == [f"{table}:4"]
    both = ReadReport()
    list(read_pairs(table, dedupe=True, unescape=True, report=both))
    assert both.dropped["duplicate of an earlier pair"].count == 2


def check(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_the_check_counts_entities_and_advises(table):
    output = check(table).stdout
    assert f"HTML entities                          3  {table}:1, {table}:1, {table}:2\n" in output
    assert "--unescape replaces the HTML entities, --dedupe drops the duplicate pairs" in output
    clean = check(table, "--unescape", "--dedupe").stdout
    assert "HTML entities   " not in clean
    assert "--dedupe" not in clean
    report = json.loads(check(table, "--json").stdout)
    assert report["html_entities"]["count"] == 3
    assert json.loads(check(table, "--json", "--unescape").stdout)["unescaped"]["count"] == 3


def recipe_of(table, **settings):
    return load_recipe("bahdanau2015-small", tiny_settings("rnn", table, "", **settings))


def test_the_corpus_fingerprint_follows_the_filters(table):
    fingerprints = {
        load_corpus(recipe_of(table, **settings)).fingerprint
        for settings in ({}, {"data.unescape": True}, {"data.dedupe": True},
                         {"data.unescape": True, "data.dedupe": True})
    }  # fmt: skip
    assert len(fingerprints) == 4


def test_a_prepared_corpus_holds_what_the_filters_leave(table, tmp_path):
    recipe = recipe_of(table, **{"data.unescape": True, "data.dedupe": True})
    out = tmp_path / "prepared"
    assert prepare(recipe, out).training == len(load_corpus(recipe).training) == 4
    prepared = {"data.source": "", "data.prepared": str(out)}
    assert open_prepared(out, recipe_of("", **prepared)).fingerprint
    with pytest.raises(UserError, match="was prepared with data.drop_leaks = false"):
        open_prepared(out, recipe_of("", **prepared, **{"data.drop_leaks": True}))
    with pytest.raises(UserError, match="was prepared from other pairs"):
        prepare(recipe_of(table), out)


def test_the_validation_set_keeps_its_duplicates(table):
    settings = {"data.valid_source": str(table), "data.dedupe": True, "data.allow_leakage": True}
    corpus = load_corpus(recipe_of(table, **settings))
    assert (len(corpus.training), len(corpus.validation)) == (5, 6)


@pytest.mark.parametrize("key", ["unescape", "dedupe", "drop_leaks"])
def test_a_run_resumes_with_the_same_filters(key, table):
    recipe, other = recipe_of(table), recipe_of(table, **{f"data.{key}": True})
    assert set(differences(recipe, other)) - MAY_CHANGE == {f"data.{key}"}


@pytest.mark.parametrize("key", ["unescape", "dedupe", "drop_leaks"])
def test_a_synthetic_task_has_no_use_for_the_filters(key):
    with pytest.raises(
        UserError, match=f"data.{key}: data.synthetic = 'reverse' makes its own pairs"
    ):
        load_recipe("numbers", {"data.synthetic": "reverse", f"data.{key}": True}).check()
