"""Sweeps: the space, trials that are pruned, killed or impossible, resuming, the report."""

import json
import sys
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'dhyan[sweep]'")

from dhyan.config import load_recipe  # noqa: E402
from dhyan.errors import UserError  # noqa: E402
from dhyan.sweep import Choices, Range, open_sweep, parse_space, write_report  # noqa: E402
from tests.tiny_models import as_arguments, dhyan, tiny_settings, write_corpus  # noqa: E402

STUB = Path(__file__).with_name("stub_training.py")
SPACE = ("training.learning_rate=1e-5..1e-1:log", "encoder.width=16,32")


def stub(folder):
    return [sys.executable, "-S", str(STUB), str(folder)]


def start(folder, space=SPACE, seed=1, **settings):
    return open_sweep(folder, load_recipe("numbers", settings), parse_space(space), seed=seed)


def run(folder, trials, jobs=2, space=SPACE, **settings):
    """The trials that end, of a sweep with stub trainings."""
    sweep = start(folder, space, **settings)
    with sweep.lock:
        ended = list(sweep.run(trials, stub, jobs=jobs))
        write_report(sweep)
    return ended


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("a.b=1,2,4", Choices("a.b", (1, 2, 4))),
        ("a.b=gru, lstm", Choices("a.b", ("gru", "lstm"))),
        ("a.b=true,false", Choices("a.b", (True, False))),
        ('a.b=["x,y", "z"]', Choices("a.b", ("x,y", "z"))),
        ("a.b=1..9", Range("a.b", 1, 9)),
        ("a.b=0.1..0.5", Range("a.b", 0.1, 0.5)),
        ("a.b=0.1..0.5:0.1", Range("a.b", 0.1, 0.5, step=0.1)),
        ("a.b=1e-5..1e-2:log", Range("a.b", 1e-5, 1e-2, log=True)),
        ("a.b=64..512:64", Range("a.b", 64, 512, step=64)),
    ],
)
def test_the_space_is_read(text, dimension):
    assert parse_space([text]) == (dimension,)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "name what to try, such as"),
        (["a.b"], "write it as"),
        (["a.b="], "write it as"),
        (["a.b=3"], "one value is no choice"),
        (["a.b=2..1"], "the range is empty"),
        (["a.b=0..1:log"], "the range begins at 0 or below"),
        (["a.b=0..1:lin"], "'lin' is neither log nor a step"),
        (["a.b=x..y"], "'x' is no number"),
        (["a.b=[[1], [2]]"], r"\[1\] is no text, number or boolean"),
        (["a.b=1,2", "a.b=3,4"], "a.b.*: is named twice"),
    ],
)
def test_what_is_no_space_is_refused(texts, message):
    with pytest.raises(UserError, match=message):
        parse_space(texts)


def test_a_sweep_finds_the_best_setting_prunes_and_says_what_mattered(tmp_path):
    ended = run(tmp_path / "sweep", 16)
    assert sorted(trial.number for trial in ended) == list(range(16))
    assert {trial.state for trial in ended} <= {"complete", "pruned"}
    report = json.loads((tmp_path / "sweep" / "report.json").read_text())
    best = min((trial for trial in ended if trial.state == "complete"), key=lambda t: t.score)
    assert 1e-4 < best.settings["training.learning_rate"] < 1e-2
    assert report["metric"] == "loss"
    importances = report["importances"]
    assert importances["training.learning_rate"] > importances["encoder.width"]
    text = (tmp_path / "sweep" / "report.md").read_text()
    assert f"Best: trial {best.number}, loss {best.score:.4g}" in text
    assert [trial["number"] for trial in report["trials"]] == list(range(16))


def test_a_trial_that_falls_behind_is_pruned(tmp_path):
    good = ("training.learning_rate=0.001..0.0011",)
    assert {trial.state for trial in run(tmp_path / "sweep", 5, space=good)} == {"complete"}
    sweep = start(tmp_path / "sweep", good)
    sweep.space = parse_space(["training.learning_rate=0.5..0.6"])  # slow, and far off
    with sweep.lock:
        sweep.study.enqueue_trial({"training.learning_rate": 0.55})
        (trial,) = sweep.run(6, stub)
    assert trial.state == "pruned"
    assert len((tmp_path / "sweep" / "trial-0005" / "metrics.jsonl").read_text().splitlines()) < 5


def test_a_killed_training_is_resumed(tmp_path):
    sweep = start(tmp_path / "sweep")
    (tmp_path / "sweep" / "die").touch()
    with sweep.lock:
        (trial,) = sweep.run(1, stub)
    folder = sweep.trial_folder(0)
    assert trial.state == "complete"
    assert (folder / "starts").read_text() == "xx"
    steps = [json.loads(line)["step"] for line in (folder / "metrics.jsonl").open()]
    assert steps == [1, 2, 3, 4, 5]


def test_an_interrupted_sweep_continues_its_trials(tmp_path):
    slow = ("training.learning_rate=0.5..0.6",)
    sweep = start(tmp_path / "sweep", slow)
    with sweep.lock, closing(sweep.run(2, stub, jobs=2)) as events:
        next(events)  # the other one is stopped
    states = [trial.state.name for trial in sweep.study.get_trials()]
    assert sorted(states) in (["COMPLETE", "RUNNING"], ["COMPLETE", "COMPLETE"])
    ended = run(tmp_path / "sweep", 3, space=slow)
    assert len(ended) == 3 - states.count("COMPLETE")
    numbers = [trial.number for trial in start(tmp_path / "sweep", slow).study.get_trials()]
    assert numbers == [0, 1, 2]


def test_settings_that_contradict_each_other_fail_alone(tmp_path):
    space = ("encoder.width=0..1", "training.learning_rate=1e-3,2e-3")
    ended = run(tmp_path / "sweep", 6, space=space)
    failed = [trial for trial in ended if trial.state == "failed"]
    assert failed
    assert all("encoder.width" in trial.reason for trial in failed)
    assert "| failed: " in (tmp_path / "sweep" / "report.md").read_text()


def test_a_training_that_fails_says_why(tmp_path):
    sweep = start(tmp_path / "sweep")

    def command(folder):
        return [sys.executable, "-S", "-c", "import sys; sys.exit('dhyan: no room left')"]

    with sweep.lock:
        (trial,) = sweep.run(1, command)
    assert (trial.state, trial.reason) == ("failed", "no room left")


def test_another_space_seed_or_recipe_is_refused(tmp_path):
    with start(tmp_path / "sweep").lock:
        pass
    for options, what in (
        ({"space": SPACE[:1]}, "another space"),
        ({"seed": 2}, "another seed"),
        ({"training.steps": 7}, "another recipe"),
    ):
        with pytest.raises(UserError, match=f"was begun with {what}; give the same, or name"):
            start(tmp_path / "sweep", **options)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(UserError, match="holds something else already"):
        start(tmp_path / "mine")


def test_two_processes_do_not_run_one_sweep(tmp_path):
    sweep = start(tmp_path / "sweep")
    with sweep.lock, pytest.raises(UserError, match="another process runs this sweep"):
        start(tmp_path / "sweep")


def test_the_command_trains_and_reports(tmp_path):
    settings = tiny_settings("transformer", *write_corpus(tmp_path))
    words = ["sweep", "transformer2017-small", "--space", "training.learning_rate=1e-4..1e-2:log"]
    words += [*as_arguments(settings), "--out", tmp_path / "sweep", "--threads", 1]
    result = dhyan(*words, "--trials", 1)
    assert result.returncode == 0, result.stderr
    assert b"1 complete, 0 pruned, 0 failed" in result.stdout
    report = json.loads((tmp_path / "sweep" / "report.json").read_text())
    (trial,) = report["trials"]
    best = json.loads((tmp_path / "sweep" / "trial-0000" / "best.json").read_text())
    assert best[report["metric"]] == trial["best"]
    assert list(trial["validations"]) == ["4", "8", "12"]
    again = dhyan(*words, "--trials", 1)
    assert again.stdout == result.stdout
    twice = dhyan(*words, "--set", "training.learning_rate=0.1")
    assert b"training.learning_rate is in --space too; leave one out" in twice.stderr
