"""The command line of the benchmarks, and the check of the documents."""

import pytest

from benchmarks import documents
from benchmarks.__main__ import COMMANDS, SPEED_COMMANDS, parse
from benchmarks.speed.driver import CASES


def test_every_command_has_a_help_line(capsys):
    with pytest.raises(SystemExit):
        parse(["--help"])
    output = capsys.readouterr().out
    assert all(name in output and command.help for name, command in COMMANDS.items())


def test_every_speed_benchmark_is_a_command():
    assert [*SPEED_COMMANDS] == [*CASES]


def test_optional_arguments_have_defaults():
    options = parse(["goodput", "3"])
    assert (options.minutes, options.kill_every, options.standby) == (3.0, 60.0, 1)


def test_an_unknown_command_is_an_error(capsys):
    with pytest.raises(SystemExit) as caught:
        parse(["speedup"])
    assert caught.value.code == 2
    assert "check-documents" in capsys.readouterr().err


def test_a_table_that_differs_from_its_results_is_reported(monkeypatch):
    monkeypatch.setattr(documents.tables, "tables", lambda: "other")
    [error] = documents._check_speed_tables()
    assert error.startswith("benchmarks/README.md: tables differ from results")


def test_a_goodput_below_its_target_is_reported(monkeypatch):
    monkeypatch.setattr(documents, "TARGET_SHARE", 1.01)
    [error] = documents._check_goodput()
    assert "the target is 1.01" in error
