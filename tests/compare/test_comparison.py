"""A comparison from its request to its report: it can be resumed, and repeats nothing."""

import json
import re
from dataclasses import replace
from math import exp

import pytest

from dhyan.compare import report
from dhyan.compare.budget import ENDLESS, Budget
from dhyan.compare.evaluate import evaluate_model, read_result
from dhyan.compare.plan import Candidate, Entry, PlanRequest, make_plan, read_plan
from dhyan.compare.report import write_report
from dhyan.compare.speed import measure_speed, read_speed, training_speed
from dhyan.compare.test_sets import EvaluationOptions, read_tests
from dhyan.compare.train import start_run, train_in_parallel, training_seconds
from dhyan.config import load_recipe
from dhyan.data.synthetic import number_pairs
from dhyan.errors import UserError
from dhyan.evaluation.significance import Resampling
from dhyan.run import load
from dhyan.run.validation import Validation
from dhyan.training.events import Stepped, Validated
from tests.tiny_models import dhyan, here, tiny_recipe, write_corpus

ALONE = {"device": "cpu", "threads": 1}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    source, target = write_corpus(folder, pairs=300)
    pairs = number_pairs(seed=99)
    test = [next(pairs) for _ in range(12)]
    (folder / "t.en").write_text("".join(f"{pair.source}\n" for pair in test))
    (folder / "t.hi").write_text("".join(f"{pair.target}\n" for pair in test))
    (folder / "t.links").write_text("0-0\n" * 12)
    return source, target, folder


def plan_request(files, *, budget=Budget(steps=4), gold=True, parameters=42_000, **changes):  # noqa: B008
    source, target, folder = files
    changes = {"decoding.max_length": 6, "decoding.beam": 2, **changes}
    candidates = [
        Candidate("attends", tiny_recipe("rnn", source, target, **changes), "it attends"),
        Candidate(
            "does-not",
            tiny_recipe(
                "rnn", source, target, **{"decoder.attention.score": "bottleneck", **changes}
            ),
            "it does not",
        ),
        Candidate("layers", tiny_recipe("transformer", source, target, **changes), "it has layers"),
    ]
    links = str(folder / "t.links") if gold else ""
    tests = EvaluationOptions(source=str(folder / "t.en"), target=str(folder / "t.hi"), gold=links)
    return PlanRequest(tuple(candidates), budget, parameters, tests)


def train_entry(plan, entry):
    return list(start_run(plan, entry, **ALONE))


@pytest.fixture(scope="module")
def comparison(files, tmp_path_factory):
    """A whole comparison: its plan, report.json and report.md."""
    plan = make_plan(plan_request(files), tmp_path_factory.mktemp("compared") / "out")
    tests = read_tests(plan.folder)
    results, speeds = {}, {}
    for entry in plan.entries:
        train_entry(plan, entry)
        results[entry.name] = evaluate_model(plan, entry, tests, **ALONE)
        speeds[entry.name] = measure_speed(plan, entry, tests.main, **ALONE)
    page = write_report(
        plan, tests, results, speeds, command="dhyan compare …", resampling=Resampling(20)
    )
    return plan, json.loads(page.with_suffix(".json").read_text()), page.read_text()


def rewrite_report(comparison, **options):
    """Write the report of the comparison once more."""
    plan = comparison[0]
    results = {entry.name: read_result(plan, entry) for entry in plan.entries}
    speeds = {entry.name: read_speed(plan, entry, **ALONE) for entry in plan.entries}
    facts = {"command": "dhyan compare …", "resampling": Resampling(20), **options}
    return write_report(plan, read_tests(plan.folder), results, speeds, **facts)


def test_models_share_vocabularies_and_size(comparison):
    plan, facts, _ = comparison
    saved = {}
    for entry in plan.entries:
        [step] = plan.run_folder(entry).glob("step-4")
        saved[entry.name] = [(step / name).read_text() for name in ("source.json", "target.json")]
        assert entry.parameters == pytest.approx(42_000, rel=0.05)
    assert len({str(texts) for texts in saved.values()}) == 1
    assert facts["parameters_allowed"] == 42_000


def test_a_step_budget_trains_exactly_that_many_steps(comparison):
    _, facts, _ = comparison
    assert {model["steps"] for model in facts["models"].values()} == {4}


def test_perplexity_is_that_of_the_references_under_teacher_forcing(comparison):
    plan, facts, page = comparison
    pairs = read_tests(plan.folder).main.reference_set().pairs
    for entry in plan.entries:
        translator = load(plan.run_folder(entry), device="cpu")
        loss = Validation.of(entry.recipe, pairs, translator)()["loss"]
        perplexity = facts["models"][entry.name]["perplexity"]
        assert perplexity == pytest.approx(exp(loss), rel=1e-4)
        assert f"| {perplexity:.2f} |" in page


def test_the_report_has_every_model_and_figure(comparison):
    plan, facts, page = comparison
    assert list(facts["models"]) == [entry.name for entry in plan.entries]
    for model in facts["models"].values():
        assert model["training_tokens_per_second"] > 0
        assert model["sentences_per_second"] > 0
        assert len(model["positions"]["shares"]) == 5
        test = model["tests"]["test"]
        assert {"bleu", "chrf", "by_length", "retained"} <= test.keys()
    for figure in re.findall(r"\((figures/\S+)\)", page):
        assert (plan.folder / figure).stat().st_size > 1000
        assert (plan.folder / figure).with_suffix(".svg").exists()
    assert "figures/attention-1.png" in page
    for key in ("command", "date", "machine", "versions", "seed", "budget"):
        assert facts[key]


def test_the_report_is_complete_without_figures(log, comparison, monkeypatch):
    plan, _, page = comparison

    def refuse(*arguments):
        raise UserError("no font")

    monkeypatch.setattr(report, "_draw_figures", refuse)
    path = rewrite_report(comparison)
    bare = path.read_text()
    path.write_text(page)
    assert "![" in page
    assert "![" not in bare
    assert "## How it was measured" in bare
    warnings = [record.getMessage() for record in log.records if record.levelname == "WARNING"]
    assert warnings == [
        "the report has no figures: no font; run the same command again to add them"
    ]


def test_every_table_has_its_counts(comparison):
    _, facts, page = comparison
    assert page.count("| *sentences* |") == 2  # by length, and alignments
    assert "| *tokens* |" in page
    assert "Test set `test`, 12 sentences" in page
    assert facts["lengths"]["test"]["shortest"] >= 1


def test_the_speed_of_a_recipe_with_a_schedule_is_measured(files):
    source, target, _ = files
    halving = {"training.schedule": "halving", "training.halve_from": 9, "training.halve_every": 3}
    recipe = tiny_recipe("rnn", source, target, **halving)
    assert training_speed(Entry("halving", recipe, 0, ""), **ALONE) > 0


def test_speeds_of_other_threads_are_measured_again(comparison):
    plan, facts, _ = comparison
    entry = plan.entries[0]
    known = read_speed(plan, entry, **ALONE)
    assert known["environment"]["machine"]["threads"] == 1 == facts["machine"]["threads"]
    assert read_speed(plan, entry, device="cpu", threads=2) is None
    assert read_speed(plan, entry, **ALONE) == known


def test_pairs_of_an_interrupted_preparation_are_replaced(tmp_path):
    def prepare(pairs):
        recipe = tiny_recipe("rnn", "", "", **{"data.synthetic": "numbers", "data.pairs": pairs})
        candidates = (Candidate("a", recipe), Candidate("b", recipe))
        make_plan(PlanRequest(candidates, Budget(steps=1), 0), tmp_path / "out")
        return len((tmp_path / "out" / "pairs" / "train.en").read_text().splitlines())

    first = prepare(200)
    (tmp_path / "out" / "plan.json").unlink()
    assert prepare(150) < first


def test_a_foreign_folder_is_not_touched(tmp_path):
    mine = tmp_path / "out" / "corpus" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    candidate = Candidate("a", load_recipe("numbers", {"data.pairs": 100}))
    with pytest.raises(UserError, match="corpus: exists already"):
        make_plan(PlanRequest((candidate,), Budget(steps=1), 0), tmp_path / "out")
    assert mine.read_text() == "precious"


def test_alignment_needs_attention_and_selects_layers_on_other_sentences(comparison):
    _, facts, _ = comparison
    models = facts["models"]
    assert models["does-not"]["alignment"] is None
    alignment = models["layers"]["alignment"]
    assert len(alignment["tried"]) == 2
    least = min(rate for by_step in alignment["tried"].values() for rate in by_step.values())
    assert alignment["tried"][alignment["where"]][alignment["at"]] == least
    assert alignment["tests"]["test"]["emits"]["sentences"] == 6


def test_the_same_request_resumes_the_plan(comparison, files):
    plan, _, _ = comparison
    assert make_plan(plan_request(files), plan.folder) == plan == read_plan(plan.folder)
    assert all(read_result(plan, entry) for entry in plan.entries)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": Budget(steps=5)}, "--budget: 4 steps before, 5 steps now"),
        ({"parameters": 0}, "--parameters: 42000 before, none now"),
        ({"training.seed": 5}, "attends: training.seed: 1 before, 5 now"),
        ({"gold": False}, "the tests"),
    ],
)
def test_another_request_is_an_error_that_names_the_difference(comparison, files, changes, message):
    plan, _, _ = comparison
    with pytest.raises(UserError, match=message):
        make_plan(plan_request(files, **changes), plan.folder)


def test_a_resumed_run_ends_with_the_same_weights(comparison, tmp_path):
    plan, _, _ = comparison
    other = replace(plan, folder=tmp_path)
    entry = other.entries[0]
    run = start_run(other, entry, **ALONE)
    for event in run:
        if isinstance(event, Stepped) and event.step == 1:
            run.trainer.stop("enough")
    steps = [event.step for event in train_entry(other, entry) if isinstance(event, Stepped)]
    assert steps == [2, 3, 4]
    weights = [
        (each.run_folder(entry) / "step-4" / "model.safetensors").read_bytes()
        for each in (plan, other)
    ]
    assert weights[0] == weights[1]


def with_time_budget(plan, folder, seconds):
    """The plan with a time budget, for its first entry."""
    entry = plan.entries[0]
    training = replace(entry.recipe.training, steps=ENDLESS, validate_every=1000, save_every=1000)
    entry = replace(entry, recipe=replace(entry.recipe, training=training))
    return replace(plan, folder=folder, budget=Budget(seconds=seconds), entries=(entry,)), entry


def test_a_time_budget_ends_with_a_validation(comparison, tmp_path):
    plan, entry = with_time_budget(comparison[0], tmp_path, 0.02)
    events = train_entry(plan, entry)
    last = max(event.step for event in events)
    assert [event.step for event in events if isinstance(event, Validated)][-1] == last
    assert training_seconds(plan.run_folder(entry), last) >= 0.02
    assert train_entry(plan, entry) == []


def test_a_time_budget_counts_time_before_resumption(comparison, tmp_path):
    plan, entry = with_time_budget(comparison[0], tmp_path, 1000.0)
    run = start_run(plan, entry, **ALONE)
    for event in run:
        if isinstance(event, Stepped) and event.step == 3:
            run.trainer.stop("enough")
    spent = run.spent()
    shorter = replace(plan, budget=Budget(seconds=spent))
    assert train_entry(shorter, entry) == []
    assert spent > 0


def test_errors_name_the_recipe(files, tmp_path):
    source, target, _ = files
    wrong = tiny_recipe("rnn", source, target)
    narrow = replace(wrong.decoder, attention=replace(wrong.decoder.attention, score="dot"))
    wrong = replace(wrong, decoder=narrow)
    with pytest.raises(UserError, match=r"^wrong: .*dot score needs equal widths"):
        make_plan(PlanRequest((Candidate("wrong", wrong),), Budget(steps=1), 0), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_failing_process_stops_the_others(comparison, tmp_path):
    plan, _, _ = comparison
    elsewhere = replace(plan, folder=tmp_path)
    with pytest.raises(UserError, match=r"^(attends|does-not): .*no plan of a comparison here"):
        train_in_parallel(
            elsewhere,
            plan.entries[:2],
            2,
            lambda entry: ["compare-one", str(tmp_path), entry.name, "cpu", "1"],
        )


@pytest.mark.slow
def test_parallel_training_resumes_without_repeating(tmp_path):
    words = ["compare", "numbers", "transformer2017-small", "--data", "numbers", "--budget", 3]
    words += ["--parameters", "30k", "--set", "data.pairs=200", "--set", "decoding.max_length=4"]
    words += ["--set", "text.tokenizer=words", "--threads", 1, "--out", "out"]
    first = dhyan(*words, "--jobs", 2, cwd=tmp_path)
    assert first.returncode == 0, first.stderr.decode()
    assert first.stdout.startswith(b"out/report.md  2 models")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*/result.json")}
    again = here(*words, cwd=tmp_path)
    assert again.returncode == 0, again.stderr.decode()
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*/result.json")}
    other = here(*words, "--seed", 5, cwd=tmp_path)
    assert other.returncode == 2
    assert other.stderr.count(b"\n") == 1
    assert b"numbers: training.seed: 1 before, 5 now" in other.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["numbers", "--data", "numbers"], b"name two recipes or more"),
        (["numbers", "reverse", "--test-target", "x"], b"needs --test-source"),
        (["numbers", "reverse", "--budget", "long"], b"--budget long"),
        (["numbers", "reverse", "--rungs", "bahdanau"], b"needs --ladder"),
        (["--ladder", "--rungs", "bahdanau,bahdanau"], b"bahdanau is named twice"),
        (["--ladder", "--rungs", "bahdanau"], b"name another rung, or a recipe"),
    ],
)
def test_command_line_errors_are_one_line(words, message, tmp_path):
    result = here("compare", *words, "--out", "out", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.count(b"\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_reserved_names_are_refused(tmp_path):
    candidate = Candidate("corpus", load_recipe("numbers"))
    with pytest.raises(UserError, match="'corpus' is a folder of the comparison itself"):
        make_plan(PlanRequest((candidate,), Budget(steps=1), 0), tmp_path / "out")
