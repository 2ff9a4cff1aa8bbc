"""The command line in real processes: streams, exit codes, one-line errors."""

import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys

import pytest
import typer

from dhyan.cli import app
from dhyan.insight.trace import Trace
from dhyan.studio import traces
from dhyan.studio.routes import beam
from tests.fork_server import forked_python
from tests.tiny_models import (
    as_arguments,
    command,
    dhyan,
    environment,
    here,
    tiny_settings,
    write_corpus,
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A folder with a corpus and a small trained model in it."""
    folder = tmp_path_factory.mktemp("workspace")
    files = write_corpus(folder)
    settings = tiny_settings("rnn", *files)
    del settings["data.source"], settings["data.target"]
    process = dhyan(
        "train", "bahdanau2015-small", "--source", "a.en", "--target", "a.hi", "--threads", 1,
        *as_arguments(settings), cwd=folder,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    return folder, process


def mistake(process, *parts):
    """The command failed with one line that contains all of the parts."""
    errors = process.stderr.decode()
    assert process.returncode == 2, errors
    last = errors.strip().splitlines()[-1]
    assert last.startswith("dhyan: ")
    assert "Traceback" not in errors
    for part in parts:
        assert part in last, last
    return last


def test_training_reports_its_progress_and_the_folder_of_the_model(workspace):
    folder, process = workspace
    errors = process.stderr.decode()
    assert "kept 400 pairs" in errors
    assert "held out 8 pairs" in errors
    assert "valid loss" in errors
    assert "next: dhyan show runs/bahdanau2015-small '" in errors
    assert process.stdout.decode().startswith("runs/bahdanau2015-small  best at step ")
    assert len(process.stdout.splitlines()) == 1


def test_quiet_prints_only_the_result(workspace):
    folder, _ = workspace
    settings = tiny_settings("rnn", "a.en", "a.hi", **{"training.steps": 2})
    process = dhyan(
        "train", "bahdanau2015-small", "--quiet", "--out", "quiet", "--threads", 1, "--seed", 3,
        *as_arguments(settings), cwd=folder,
    )  # fmt: skip
    assert process.stderr == b""
    assert process.stdout.startswith(b"quiet  best at step 2 of 2: chrF++ ")
    assert "seed = 3" in (folder / "quiet" / "step-2" / "recipe.toml").read_text()


def test_every_line_of_input_gives_one_line_of_output(workspace):
    folder, _ = workspace
    lines = [
        "three hundred",
        "",
        "   ",
        "two\u2028three\x0bfour\x85five",
        "😀 தமிழ்",
        "one\r",
        "six",
    ]
    process = dhyan("translate", "runs/bahdanau2015-small", "--threads", 1, cwd=folder,
                 stdin="\n".join(lines).encode())  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    out = process.stdout.decode().split("\n")
    assert len(out) == len(lines) + 1
    assert out[1] == out[2] == out[-1] == ""


def test_compressed_files_are_read_and_output_is_utf8_in_any_locale(workspace):
    folder, _ = workspace
    text = (folder / "a.en").read_bytes()[:500]
    with gzip.open(folder / "packed.en.gz", "wb") as file:
        file.write(text)
    plain = dhyan("translate", "runs/bahdanau2015-small", "--threads", 1, cwd=folder, stdin=text)
    program = forked_python(
        "-m", "dhyan", "translate", "runs/bahdanau2015-small", "packed.en.gz", "--threads", 1
    )
    settings = {**environment(), "PYTHONIOENCODING": "latin-1"}
    packed = subprocess.run(program, cwd=folder, capture_output=True, env=settings)
    assert packed.stdout == plain.stdout
    assert packed.returncode == 0, packed.stderr.decode()


def test_closed_streams_and_full_disks_give_one_line(workspace):
    folder, _ = workspace
    for name, redirection, message in (
        ("translate", "<&-", "stdin is closed"),
        ("info", ">/dev/full", "No space left"),
        ("info", ">&-", "stdout is closed"),
    ):
        line = f"{' '.join(command(name, 'runs/bahdanau2015-small'))} {redirection}"
        process = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True,
                              env=environment())  # fmt: skip
        mistake(process, message)


def test_maps_of_different_words_become_several_figures(workspace, monkeypatch):
    for module in (traces, beam):  # of the page
        monkeypatch.setattr(module, "MAX_TOKENS", 8)
    folder, _ = workspace
    few = {"training.steps": 1, "decoding.max_length": 8}  # untrained, it goes on to the limit
    settings = tiny_settings("transformer", "a.en", "a.hi", **few)
    trained = here("train", "transformer2017-small", "--threads", 1, "--out", "t",
                    *as_arguments(settings), cwd=folder)  # fmt: skip
    assert trained.returncode == 0, trained.stderr.decode()
    process = here("show", "t", "three hundred", "-o", "look.json", cwd=folder)
    assert process.returncode == 0, process.stderr
    trace = Trace.from_json((folder / "look.json").read_text(encoding="utf-8"))
    assert trace.source.words == ("three", "hundred", "</s>")
    process = here("show", "t", "three hundred", "-o", "look.html", cwd=folder)
    assert process.returncode == 0, process.stderr
    assert b"look.html" in process.stderr
    page = (folder / "look.html").read_text(encoding="utf-8")
    assert '"/api/head cross 1 1"' in page
    process = here("show", "t", "three hundred", "--attention", "all", "-o", "all.svg", cwd=folder)
    assert process.returncode == 0, process.stderr.decode()
    assert len(list(folder.glob("all-*.svg"))) == 3
    assert b"encoder.layers.0.self_attention" in process.stderr


def test_a_file_and_a_pipe_give_the_same_output(workspace):
    folder, _ = workspace
    text = (folder / "a.en").read_bytes()
    piped = dhyan("translate", "runs/bahdanau2015-small", "--threads", 1, cwd=folder, stdin=text)
    named = dhyan("translate", "runs/bahdanau2015-small", "a.en", "--threads", 1, cwd=folder)
    assert piped.stdout == named.stdout
    assert named.stdout.count(b"\n") == 400


def test_json_has_a_line_for_each_sentence(workspace):
    folder, _ = workspace
    process = here("translate", "runs/bahdanau2015-small", "--json", "--nbest", 3, "--threads", 1,
                 cwd=folder, stdin=b"one\ntwo\n")  # fmt: skip
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    assert [row["line"] for row in rows] == [1, 2]
    assert all(len(row["nbest"]) == 3 and row["text"] == row["nbest"][0]["text"] for row in rows)


def test_nbest_lists_are_numbered_by_line(workspace):
    folder, _ = workspace
    process = here("translate", "runs/bahdanau2015-small", "--nbest", 2, "--threads", 1,
                 cwd=folder, stdin=b"one\ntwo\n")  # fmt: skip
    rows = [line.split("\t") for line in process.stdout.decode().splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert float(rows[0][1]) >= float(rows[1][1])


def test_evaluation_prints_scores_with_signatures_and_by_length(workspace):
    folder, _ = workspace
    arguments = ("--source", "a.en", "--target", "a.hi", "--beam", 1, "--threads", 1)
    process = here("evaluate", "runs/bahdanau2015-small", *arguments, cwd=folder)
    text = process.stdout.decode()
    assert "tok:intl" in text
    assert "chrF++" in text
    assert "1–5" in text
    facts = json.loads(
        here("evaluate", "runs/bahdanau2015-small", *arguments, "--json", cwd=folder).stdout
    )
    assert facts["sentences"] == 400 == sum(part["sentences"] for part in facts["by_length"])
    assert f"{facts['scores']['bleu']['value']:6.2f}" in text


@pytest.mark.parametrize(
    ("name", "magic"), [("map.png", b"\x89PNG"), ("map.svg", b"<?xml"), ("map.pdf", b"%PDF")]
)
def test_attention_is_drawn_into_a_file(workspace, name, magic):
    folder, _ = workspace
    process = here("show", "runs/bahdanau2015-small", "three hundred two", "-o", name,
                 "--threads", 1, cwd=folder)  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    assert (folder / name).read_bytes().startswith(magic)


def test_without_a_file_the_map_is_drawn_in_the_terminal(workspace):
    folder, _ = workspace
    process = dhyan(
        "show", "runs/bahdanau2015-small", "three hundred two", "--threads", 1, cwd=folder
    )
    text = process.stdout.decode()
    assert "hundred" in text
    assert "\x1b" not in text


def test_a_terminal_gets_colour_and_a_progress_bar(workspace):
    folder, _ = workspace
    output = in_a_terminal(folder, "show", "runs/bahdanau2015-small", "three", "--threads", 1)
    assert "\x1b[" in output
    settings = tiny_settings("rnn", "a.en", "a.hi")
    trained = in_a_terminal(
        folder, "train", "bahdanau2015-small", "--out", "live", "--threads", 1,
        *as_arguments(settings),
    )  # fmt: skip
    assert "12/12" in trained
    assert "tokens/s" in trained


def in_a_terminal(folder, *arguments):
    """The output of a command whose streams are all a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        forked_python("-m", "dhyan", *arguments),
        stdin=follower, stdout=follower, stderr=follower, cwd=folder,
        env={**environment(), "TERM": "xterm-256color", "COLORTERM": "truecolor"},
    )  # fmt: skip
    os.close(follower)
    parts = []
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    assert process.wait(timeout=60) == 0, b"".join(parts).decode(errors="replace")
    return b"".join(parts).decode(errors="replace")


def test_the_model_card_has_recipe_parameters_scores_and_checksums(workspace):
    folder, _ = workspace
    text = here("info", "runs/bahdanau2015-small", cwd=folder).stdout.decode()
    for part in ("Bahdanau", "source en, target hi", "score additive", "model.safetensors", "chrf"):
        assert part in text
    assert "fingerprint" not in text  # of the data: hashes to compare, in the JSON only
    facts = json.loads(here("info", "runs/bahdanau2015-small", "--json", cwd=folder).stdout)
    assert facts["fingerprint"]
    import dhyan as package

    model = package.load(folder / "runs/bahdanau2015-small").model
    assert facts["parameters"] == sum(p.numel() for p in model.parameters())


def test_the_layout_of_kaggles_corpus_trains(workspace):
    folder, _ = workspace
    rows = ["source,english_sentence,hindi_sentence"]
    english, hindi = ((folder / f).read_text().splitlines() for f in ("a.en", "a.hi"))
    for source, target in zip(english, hindi, strict=True):
        rows.append(f'tides,"{source}, he said ""so""\nand went","{target}, ठीक"')
    with gzip.open(folder / "kaggle.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(rows))
    settings = tiny_settings("rnn", "kaggle.csv.gz", "", **{"training.steps": 1})
    files = ("data.source", "data.target")
    process = dhyan(
        "train", "bahdanau2015-small", "--columns", "english_sentence,hindi_sentence",
        "--source", "kaggle.csv.gz", "--out", "kaggle", "--threads", 1,
        *as_arguments({k: v for k, v in settings.items() if not k.startswith(files)}),
        cwd=folder,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    assert "kept 400 pairs" in process.stderr.decode()


def test_data_check_describes_the_corpus_and_names_its_errors(workspace):
    folder, _ = workspace
    good = here("data", "check", "a.en", "a.hi", cwd=folder)
    assert good.returncode == 0
    for part in ("kept 400 pairs", "median", "duplicate pairs", "unknown words: "):
        assert part in good.stdout.decode()
    lines = (folder / "a.en").read_bytes().split(b"\n")
    lines[6], lines[8] = b"caf\xe9", b""
    (folder / "bad.en").write_bytes(b"\n".join(lines[:-3]))
    bad = here("data", "check", "bad.en", "a.hi", cwd=folder)
    assert bad.returncode == 2
    for part in ("bad.en:7: ", "empty source (bad.en:9)", "398", "400"):
        assert part in bad.stdout.decode()


TRAIN = ("train", "bahdanau2015-small", "--threads", 1, "--out", "never")


@pytest.mark.slow
def test_a_mistake_is_one_line_with_a_remedy(workspace):
    folder, _ = workspace
    english = (folder / "a.en").read_bytes()
    (folder / "short.hi").write_bytes(b"\n".join((folder / "a.hi").read_bytes().split(b"\n")[:7]))
    (folder / "latin.en").write_bytes(english.replace(b"\n", b"\n\xff", 3))
    (folder / "empty.en").write_bytes(b"")
    mistake(here(*TRAIN, "--source", "a.en", "--target", "short.hi", cwd=folder),
            "short.hi:7: ", "7", "a.en has 400")  # fmt: skip
    mistake(here(*TRAIN, "--source", "latin.en", "--target", "a.hi", cwd=folder),
            "latin.en:2: ", "not UTF-8", "iconv")  # fmt: skip
    mistake(here(*TRAIN, "--source", "empty.en", "--target", "a.hi", cwd=folder),
            "empty.en: is empty")  # fmt: skip
    mistake(here(*TRAIN, "--source", "a.eng", "--target", "a.hi", cwd=folder),
            "a.eng: there is no such file; did you mean a.en")  # fmt: skip
    mistake(here("train", "bahdanu2015-small", cwd=folder), "did you mean 'bahdanau2015-small'?")
    mistake(here(*TRAIN, "--set", "training.lr=1", cwd=folder), "unknown key 'lr'")
    mistake(here(*TRAIN, "--set", "training.step=1", cwd=folder), "did you mean 'steps'?")
    mistake(here(*TRAIN, cwd=folder), "no training data")
    mistake(dhyan("translate", "nowhere", stdin=b"", cwd=folder), "nowhere: no such model folder")
    mistake(here("translate", ".", stdin=b"", cwd=folder), "holds no checkpoint")
    model = "runs/bahdanau2015-small"
    process = here("translate", model, stdin=b"one\n\xff\ntwo\n", cwd=folder)
    mistake(process, "1 of 3 lines could not be translated")
    assert b"stdin:2: " in process.stderr
    assert b"not UTF-8" in process.stderr
    assert process.stdout.count(b"\n") == 3, "no line is lost"
    mistake(here("show", model, "one " * 99, cwd=folder), "the sentence: ", "takes at most 60")
    mistake(
        here("translate", model, "missing.en", cwd=folder),
        "missing.en: there is no such file",
    )
    pair = ("--source", "a.en", "--target", "a.hi")
    mistake(here("evaluate", model, *pair, "--language", "klingon", cwd=folder), "klingon")
    mistake(
        here(*TRAIN, "--target", "a.hi", cwd=folder), "'a.hi' has no source side", "--source FILE"
    )
    mistake(here(*TRAIN, "--source", "a.en", "--target", "a.hi", "--columns", ",", cwd=folder),
            "--columns ,: two names")  # fmt: skip
    mistake(here("data", "check", "nope.en", "a.hi", cwd=folder), "nope.en: there is no such file")
    mistake(here("info", "a.en", cwd=folder), "a.en: is a file")
    (folder / "long.en").write_bytes(b"one\n" + b" " * 2**20 + b"two\n")
    process = here("translate", model, "long.en", cwd=folder)
    mistake(process, "1 of 2 lines could not be translated")
    assert b"long.en:2: a line of 1,048,576" in process.stderr
    mistake(here("info", "two\nlines", cwd=folder), "two\\nlines: no such model folder")
    mistake(here("show", model, "one", "-o", "map.docx", cwd=folder), "map.docx", ".png")
    mistake(here("show", model, "one", "--attention", "nose", cwd=folder), "decoder.attention")
    mistake(here("show", model, "  ", cwd=folder), "the sentence is empty")
    mistake(here("translate", model, "--device", "cuda:7", stdin=b"", cwd=folder), "cuda:7")
    assert not (folder / "never").exists()


@pytest.mark.slow
def test_a_corrupted_model_is_refused_by_the_name_of_the_file(workspace):
    folder, _ = workspace
    for name in ("model.safetensors", "source.json", "recipe.toml", "manifest.json"):
        copy = folder / "copy"
        shutil.copytree(folder / "runs" / "bahdanau2015-small" / "step-12", copy)
        data = bytearray((copy / name).read_bytes())
        data[len(data) // 2] ^= 1
        (copy / name).write_bytes(data)
        for arguments in (("translate", copy), ("info", copy)):
            mistake(here(*arguments, stdin=b"one\n"), "copy/", "damaged")
        shutil.rmtree(copy)


def test_a_closed_pipe_is_not_an_error(workspace):
    """Nobody reads: what `| head -1` comes to once head has its line, without the race."""
    folder, _ = workspace
    reading, writing = os.pipe()
    os.close(reading)
    line = forked_python(
        "-m", "dhyan", "translate", "runs/bahdanau2015-small", "--threads", 1, "a.en"
    )
    process = subprocess.run(line, cwd=folder, stdout=writing, stderr=subprocess.PIPE,
                          env=environment())  # fmt: skip
    os.close(writing)
    assert process.returncode == -signal.SIGPIPE
    assert b"Traceback" not in process.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        *[
            (name,)
            for name in (
                "train",
                "translate",
                "evaluate",
                "show",
                "info",
                "demo",
                "recipe",
                "average",
                "compare",
            )
        ],
        ("data", "check"),
        ("data", "prepare"),
        ("data", "primer"),
    ],
)
def test_every_command_has_help_with_an_example_without_torch(arguments):
    program = (
        "import sys; from dhyan.cli import main\n"
        f"sys.argv = ['dhyan', *{arguments!r}, '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    process = subprocess.run(
        [*command()[:1], "-c", program], capture_output=True, env=environment()
    )
    assert process.returncode == 0, process.stderr.decode()
    assert re.search(rb"(Example|First steps): .*dhyan ", process.stdout)


def commands_of(group, path="dhyan"):
    """Every command with its path, groups before their commands."""
    yield path, group
    for name, inner in getattr(group, "commands", {}).items():
        if not inner.hidden:
            yield from commands_of(inner, f"{path} {name}")


def test_the_list_of_commands_cuts_no_sentence_off():
    for arguments in ((), ("data",)):
        listed = here(*arguments, "--help").stdout.decode().partition("Commands:")[2]
        assert "train" in listed or "prepare" in listed
        assert "..." not in listed


def test_every_option_names_its_default():
    """In brackets, or as what happens else; a flag is off."""
    options = [
        (path, own)
        for path, inner in commands_of(typer.main.get_command(app))
        for own in inner.params
        if own.param_type_name == "option" and not own.is_flag and not own.required
    ]
    assert len(options) > 100
    silent = [
        (path, own.opts)
        for path, own in options
        if own.default in (None, "", ()) and not isinstance(own.show_default, str)
        and "else" not in own.help
    ]  # fmt: skip
    assert not silent


def test_public_names_resolve_and_stay_the_same():
    program = (
        "import dhyan\n"
        "for name in dir(dhyan) * 2:\n"
        "    value = getattr(dhyan, name)\n"
        "    is_module = name in ('lessons', 'models')\n"
        "    assert (type(value).__name__ == 'module') == is_module, name\n"
        "    assert is_module or name == '__version__' or value.__name__ == name\n"
    )
    process = subprocess.run(
        [*command()[:1], "-c", program], capture_output=True, env=environment()
    )
    assert process.returncode == 0, process.stderr.decode()


def test_importing_the_package_is_instant():
    program = "import sys, dhyan; dir(dhyan); assert 'torch' not in sys.modules"
    process = subprocess.run(
        [*command()[:1], "-c", program], capture_output=True, env=environment()
    )
    assert process.returncode == 0, process.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trian",), "Did you mean 'train'"),
        (("train",), "dhyan train --help"),
        (("train", "--plugin", "x.py", "numbers"), "comes before the command"),
        (("translate", "runs/x", "--beam", "many"), "--beam"),
        (("--plugin", "nowhere.py", "recipe"), "no such file"),
    ],
)
def test_a_wrong_command_gives_one_line(arguments, message, tmp_path):
    process = dhyan(*arguments, cwd=tmp_path)
    assert process.returncode == 2
    assert process.stderr.decode().startswith("dhyan: ")
    assert process.stderr.count(b"\n") == 1
    assert message in process.stderr.decode()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_show_completion_prints_a_script(shell):
    program = f"import sys; sys.argv = ['dhyan', '--show-completion', {shell!r}]\n"
    program += "from dhyan.cli import main; main()"
    named = {**environment(), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    process = subprocess.run([*command()[:1], "-c", program], capture_output=True, env=named)
    assert process.returncode == 0, process.stderr.decode()
    assert b"_DHYAN_COMPLETE=complete_" + shell.encode() in process.stdout
    assert b"--install-completion" in here("--help").stdout


def test_completion_names_the_commands():
    words = {"_DHYAN_COMPLETE": "complete_bash", "COMP_WORDS": "dhyan tra", "COMP_CWORD": "1"}
    program = "import sys; sys.argv = ['dhyan']; from dhyan.cli import main; main()"
    process = subprocess.run(
        [*command()[:1], "-c", program], capture_output=True, env={**environment(), **words}
    )
    assert b"train" in process.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="libgomp prints its settings")
@pytest.mark.parametrize("chosen", ["", "1000"])
def test_idle_threads_spin_shortly_unless_the_user_chose_otherwise(chosen):
    """OpenMP prints its settings when torch loads it, so the policy was set before."""
    program = "import sys; sys.argv = ['dhyan', '--version']; from dhyan.cli import main\n"
    program += "try: main()\nexcept SystemExit: import torch"
    variables = {k: v for k, v in environment().items() if not k.startswith(("OMP_W", "GOMP_S"))}
    variables |= {"OMP_DISPLAY_ENV": "verbose"} | ({"GOMP_SPINCOUNT": chosen} if chosen else {})
    process = subprocess.run([*command()[:1], "-c", program], capture_output=True, env=variables)
    assert f"GOMP_SPINCOUNT = '{chosen or 20000}'".encode() in process.stderr


def test_a_printed_recipe_can_be_read_again(tmp_path):
    process = here("recipe", "luong2015-small", "--set", "training.steps=7", cwd=tmp_path)
    (tmp_path / "mine.toml").write_bytes(process.stdout)
    again = here("recipe", "mine.toml", cwd=tmp_path)
    assert again.stdout == process.stdout
    assert b"steps = 7\n" in again.stdout
    listed = here("recipe", cwd=tmp_path).stdout.decode()
    assert all(name in listed for name in ("luong2015-small", "transformer2017", "numbers"))
