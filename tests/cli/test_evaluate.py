"""`dhyan evaluate` scores one system, compares several, and refuses what cannot be scored."""

import json

import pytest
from typer.testing import CliRunner

import dhyan.cli
from dhyan.cli import app
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.run import train
from tests.tiny_models import tiny_settings, write_corpus

METRICS = {"bleu", "chrf", "ter"}
QUICK = ("--bootstrap", 20, "--beam", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two small models, a test set of thirty pairs, and files of translations."""
    folder = tmp_path_factory.mktemp("evaluate")
    files = write_corpus(folder)
    for name, seed in (("one", 1), ("two", 2)):
        settings = tiny_settings("rnn", *files, **{"training.seed": seed})
        recipe = load_recipe("bahdanau2015-small", settings)
        for _ in train(recipe, folder / name, threads=1):
            pass
    for side, file in (("en", files[0]), ("hi", files[1])):
        lines = file.read_text(encoding="utf-8").splitlines()[:30]
        write(folder / f"test.{side}", lines)
    write(folder / "right.hi", lines)
    write(folder / "wrong.hi", [" ".join(reversed(line.split())) for line in lines])
    write(folder / "gold.txt", ["0-0"] * 29 + [""])
    return folder


def write(file, lines):
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def run(folder, *arguments, source="test.en", target="test.hi"):
    pair = ("--source", folder / source, "--target", folder / target, "--threads", 1)
    done = CliRunner().invoke(app, list(map(str, ["evaluate", *arguments, *pair])))
    if isinstance(done.exception, UserError):
        assert "\n" not in str(done.exception)
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def results(*arguments, **files):
    return json.loads(run(*arguments, "--json", **files))


def test_one_system_has_scores_intervals_and_signatures(folder):
    text, result = run(folder, folder / "one", *QUICK), results(folder, folder / "one", *QUICK)
    assert set(result["scores"]) == METRICS
    assert result["sentences"] == 30 == sum(part["sentences"] for part in result["by_length"])
    for score in result["scores"].values():
        interval = score["interval"]
        assert interval["low"] <= interval["high"]
        assert f"{score['value']:.2f} ± {interval['margin']:.2f}" in text
        assert score["signature"] in text
        assert "bs:20|seed:12345" in score["signature"]
    assert "(lower is better)" in text
    assert "systems" not in result


def test_the_same_seed_gives_the_same_figures(folder):
    wrong = folder / "wrong.hi"
    first, again, other = (
        results(folder, wrong, "--bootstrap", 20, "--seed", seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first["scores"]["chrf"]["interval"] != other["scores"]["chrf"]["interval"]
    assert first["scores"]["chrf"]["value"] == other["scores"]["chrf"]["value"]


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_several_systems_are_compared_with_the_first(folder, test):
    systems = [folder / name for name in ("wrong.hi", "right.hi", "wrong.hi", "one")]
    result = results(folder, *systems, "--test", test, "--beam", 1, "--bootstrap", 100)
    first, right, same, model = result["systems"]
    assert result["test"]["name"] == test
    assert "against_first" not in first["scores"]["bleu"]
    for key in METRICS:
        assert right["scores"][key]["against_first"]["p"] < 0.05
        assert same["scores"][key]["against_first"] == {"value": 0, "p": 1}
    assert right["scores"]["ter"]["value"] == 0
    assert model["beam"] == 1
    assert [system["system"] for system in result["systems"]] == list(map(str, systems))


def test_the_table_of_several_systems_names_them_and_the_test(folder):
    text = run(folder, folder / "wrong.hi", folder / "right.hi", "--test", "randomisation")
    assert f"[2] {folder / 'right.hi'}" in text
    assert "Riezler and Maxwell, 2005), 10,000 trials" in text
    assert "p 1.0000" not in text
    assert "BLEU [2]" in text
    assert "ar:10000" in text


def test_a_model_scores_as_its_finished_translations_do(folder):
    translated = CliRunner().invoke(
        app, ["translate", str(folder / "one"), str(folder / "test.en"), "--beam", "1"]
    )
    write(folder / "finished.hi", translated.stdout.splitlines())
    result = results(folder, folder / "one", folder / "finished.hi", *QUICK)
    model, file = result["systems"]
    assert all(model["scores"][key]["value"] == file["scores"][key]["value"] for key in METRICS)


def score_files(*arguments):
    """The JSON of `evaluate` without a source."""
    done = CliRunner().invoke(app, list(map(str, ["evaluate", *arguments, "--json"])))
    if done.exception:
        raise done.exception
    return json.loads(done.stdout)


def test_every_target_is_a_reference(folder):
    """A repeated --target adds references; none replaces another."""
    wrong, right, test = (folder / name for name in ("wrong.hi", "right.hi", "test.hi"))
    first, both = (
        score_files(right, "--bootstrap", 0, "--target", wrong, *more)
        for more in ([], ["--target", test])
    )
    assert (first["references"], both["references"]) == (1, 2)
    assert first["scores"]["ter"]["value"] > both["scores"]["ter"]["value"] == 0
    for score in both["scores"].values():
        assert score["signature"].startswith("nrefs:2|")
    systems = (folder / "one", right, "--source", folder / "test.en", *QUICK)
    result = score_files(*systems, "--target", wrong, "--target", test)
    assert result["references"] == 2
    assert result["systems"][1]["scores"]["ter"]["value"] == 0
    assert sum(part["sentences"] for part in result["systems"][0]["by_length"]) == 30


def test_a_blank_line_of_a_further_target_is_counted_and_mentioned(folder):
    lines = (folder / "test.hi").read_text(encoding="utf-8").splitlines()
    holed = write(folder / "second.hi", ["", *lines[1:]])
    line = ["evaluate", folder / "right.hi", "--bootstrap", 0, "--target", folder / "wrong.hi"]
    done = CliRunner().invoke(app, [*map(str, line), "--target", str(holed)])
    assert "1 further references are blank; each counts as an empty one" in done.stderr
    assert "nrefs:2|" in done.stdout


def test_targets_of_unequal_length_are_refused_with_their_counts(folder):
    short, test = write(folder / "short.hi", ["एक", "दो"]), folder / "test.hi"
    for source in ([], ["--source", folder / "test.en"]):
        with pytest.raises(UserError, match=r"short\.hi: 2 references for 30 sentences of .*test"):
            score_files(folder / "right.hi", *source, "--target", test, "--target", short)


def test_translations_in_files_need_no_source(folder):
    right, wrong, test = (folder / name for name in ("right.hi", "wrong.hi", "test.hi"))
    alone = score_files(wrong, "--target", test)
    beside = results(folder, wrong)
    assert alone["scores"] == beside["scores"]
    assert "by_length" in beside
    assert "by_length" not in alone
    done = CliRunner().invoke(app, ["evaluate", str(wrong), str(right), "--target", str(test)])
    assert done.exit_code == 0
    assert "source words" not in done.stdout
    for arguments, message in (
        ((folder / "one",), "one: a model needs a text to translate; name it with --source"),
        ((wrong, "--train-source", folder / "a.en"), "--train-source is about the source text"),
        ((wrong, "--columns", "a,b"), "--columns is about the source text"),
        ((wrong, "--header", "no"), "--header is about the source text"),
        ((wrong, "--delimiter", "tab"), "--delimiter is about the source text"),
    ):
        with pytest.raises(UserError, match=message):
            score_files(*arguments, "--target", test)
    with pytest.raises(UserError, match="no references .*--target"):
        score_files(wrong)


def test_a_test_set_in_the_wrong_direction_is_noticed(folder):
    """The sources of an English-Hindi model are Hindi, and the references English."""
    for name, lines in (("short.hi", ["तीन सौ", "दो"] * 10), ("short.en", ["six one", "two"] * 10)):
        write(folder / name, lines)
    words = ["evaluate", folder / "one", "--source", folder / "short.hi", "--target",
             folder / "short.en", "--threads", 1, *QUICK, "--json"]  # fmt: skip
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    sources, references = [line for line in done.stderr.splitlines() if line.startswith("dhyan: ")]
    assert "short.hi: 30 of 30 words" in sources
    assert "have no Latin letter, but the model translates from 'en' into 'hi'" in sources
    assert "swapped" in sources
    assert "short.en: references: 30 of 30 words have no Devanagari letter" in references


def test_unknown_words_are_counted(folder):
    known, unknown = (
        results(folder, folder / "one", *QUICK, source=source)["unknown_words"]
        for source in ("test.en", write(folder / "odd.en", ["seven žabka ☃"] * 30).name)
    )
    assert known["count"] < 10
    assert unknown["count"] == 60
    assert unknown["share"] == pytest.approx(2 / 3, abs=1e-6)


def test_metrics_and_resampling_are_optional(folder):
    result = results(folder, folder / "wrong.hi", "--metrics", "chrf", "--bootstrap", 0)
    assert set(result["scores"]) == {"chrf"}
    assert "interval" not in result["scores"]["chrf"]
    assert "±" not in run(folder, folder / "wrong.hi", folder / "right.hi", "--bootstrap", 0)


def test_scores_by_word_frequency_need_a_training_text(folder):
    result = results(folder, folder / "wrong.hi", "--train-source", folder / "a.en")
    assert sum(part["sentences"] for part in result["by_rarity"]) == 30
    assert result["by_rarity"][0]["least"] > 0, "the training text holds every word of the test"
    unseen = write(folder / "unseen.en", ["nothing of the kind"])
    [part] = results(folder, folder / "wrong.hi", "--train-source", unseen)["by_rarity"]
    assert (part["least"], part["most"], part["sentences"]) == (0, 0, 30)
    assert "rarest seen" in run(folder, folder / "wrong.hi", "--train-source", unseen)
    assert "by_rarity" not in results(folder, folder / "wrong.hi")


def test_attention_and_alignments_are_measured_on_models(folder):
    options = ("--attention-statistics", "--gold-alignment", folder / "gold.txt", *QUICK)
    result = results(folder, folder / "one", *options)
    assert 0 <= result["alignment"]["error_rate"] <= 1
    assert result["alignment"]["sentences"] == 29
    assert 0 <= result["attention"]["relative_entropy"] <= 1
    assert 0 < result["attention"]["coverage"] <= 1
    text = run(folder, folder / "one", folder / "two", *options)
    assert "[1] alignment error rate" in text
    assert "[2] attention entropy" in text


def test_dropped_pairs_are_dropped_from_files_of_translations_too(folder):
    lines = (folder / "test.hi").read_text(encoding="utf-8").splitlines()
    write(folder / "holed.hi", [lines[0], "", *lines[2:]])
    write(folder / "beside.hi", [lines[0], "कुछ और", *lines[2:]])
    result = results(folder, folder / "beside.hi", target="holed.hi")
    assert result["sentences"] == 29
    assert result["scores"]["ter"]["value"] == 0


def test_empty_translations_are_counted_and_scored(folder):
    lines = (folder / "test.hi").read_text(encoding="utf-8").splitlines()
    file = write(folder / "silent.hi", ["", *lines[1:]])
    assert results(folder, file)["empty"] == 1
    assert "1 translations are empty" in run(folder, file)


def test_what_cannot_be_scored_is_refused_in_one_line(folder):
    right, few = folder / "right.hi", write(folder / "few.hi", ["एक"])
    blank, single = write(folder / "blank.hi", ["", ""]), write(folder / "one.en", ["one"])
    links = write(folder / "links.txt", ["9-0"] * 30)
    refused = [
        ((few,), {}, "few.hi: 1 translations for 30 sentences of .*test.en; give one for each"),
        ((blank,), {}, "blank.hi: is empty"),
        ((right,), {"target": "few.hi"}, "number of lines is 1, but .* has 30"),
        ((few,), {"source": single.name, "target": "few.hi"}, "one sentence cannot be resampled"),
        ((right, "--metrics", "bleu,meteor"), {}, "metric 'meteor' is not known"),
        ((right, "--attention-statistics"), {}, "right.hi: a file of translations has no attention"),
        ((right, "--gold-alignment", folder / "gold.txt"), {}, "leave out --gold-alignment"),
        ((folder / "one", "--gold-alignment", few), {}, "few.hi:1: एक is no link"),
        ((folder / "one", "--gold-alignment", links), {}, "links.txt:1: links source word 9"),
        ((right, "--train-source", folder / "a.tsv"), {}, "a.tsv: is a table"),
        ((right, "--train-source", folder / "a.enn"), {}, "a.enn: there is no such file"),
        ((folder / "nowhere",), {}, "nowhere: neither a model folder nor a file of translations"),
        ((folder / "rihgt.hi",), {}, r"translations; did you mean right\.hi\?"),
        ((right, "--beam", 2), {}, "--beam is for models, and only files of translations"),
        ((right, "--bootstrap", 0, "--seed", 0), {}, "--seed has no effect with --bootstrap 0"),
        ((right, "--bootstrap", 0, "--test", "bootstrap"), {}, "--test has no effect with"),
        ((right, "--bootstrap", 1), {}, "1 resamples: draw at least two"),
    ]  # fmt: skip
    for arguments, files, reason in refused:
        with pytest.raises(UserError, match=reason):
            run(folder, *arguments, **files)


def test_errors_come_before_any_model_translates(folder, monkeypatch):
    monkeypatch.setattr("dhyan.run.evaluate.translate_test_set", lambda *args, **more: 1 / 0)
    few, single = write(folder / "few.hi", ["एक"]), write(folder / "one.en", ["one"])
    refused = [
        ((folder / "one", few), {}, "few.hi: 1 translations for 30"),
        ((folder / "one", folder / "nowhere"), {}, "nowhere: neither a model folder nor a file"),
        ((folder / "one",), {"source": single.name, "target": few.name}, "one sentence cannot be"),
    ]
    for arguments, files, reason in refused:
        with pytest.raises(UserError, match=reason):
            run(folder, *arguments, **files)


def test_a_reference_beyond_the_learned_positions_is_named(folder, tmp_path):
    settings = tiny_settings("transformer", folder / "a.en", folder / "a.hi")
    settings |= {"data.max_tokens": 20, "decoding.max_source_length": 20, "training.steps": 1}
    settings |= {"encoder.positions": "learned", "decoder.positions": "learned"}
    list(train(load_recipe("transformer2017-small", settings), tmp_path / "model", threads=1))
    lines = (folder / "test.hi").read_text(encoding="utf-8").splitlines()
    write(folder / "long.hi", [*lines[:3], "नौ " * 40, *lines[4:]])
    gold = write(folder / "long.gold", ["0-0"] * 30)
    arguments = (tmp_path / "model", "--gold-alignment", gold, *QUICK)
    with pytest.raises(UserError, match=r"long\.hi:4: \d+ tokens .* but .*model has \d+ positions"):
        run(folder, *arguments, target="long.hi")
    write(gold, [*["0-0"] * 3, "", *["0-0"] * 26])
    assert "alignment error rate" in run(folder, *arguments, target="long.hi")


def test_a_table_is_read_with_its_header_and_delimiter(folder, tmp_path):
    """The scores of the table are those of the same pairs in two text files."""
    sides = [
        (folder / name).read_text(encoding="utf-8").splitlines() for name in ("test.en", "test.hi")
    ]
    rows = [f"{english};{hindi}" for english, hindi in zip(*sides, strict=True)]
    table = write(tmp_path / "test.csv", rows)
    options = ("--header", "no", "--delimiter", "semicolon")
    in_table = score_files(folder / "wrong.hi", "--source", table, *options)
    assert in_table["scores"] == results(folder, folder / "wrong.hi")["scores"]
    write(table, ["hindi;english", *(";".join(row.split(";")[::-1]) for row in rows)])
    named = score_files(folder / "wrong.hi", "--source", table, "--columns", "english,hindi")
    assert named["scores"] == in_table["scores"]


def test_a_header_of_text_files_keeps_the_lines_of_translations(folder, tmp_path):
    """Line N of a file of translations belongs to line N of the texts, header or not."""
    for name, header in (("test.en", "English"), ("test.hi", "Hindi"), ("wrong.hi", "Hindi")):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        write(tmp_path / name, [header, "", *lines])
    words = ("--source", tmp_path / "test.en", "--target", tmp_path / "test.hi", "--header", "yes")
    headed = score_files(tmp_path / "wrong.hi", *words)
    assert headed["scores"] == results(folder, folder / "wrong.hi")["scores"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--header", "maybe"), "data.header: 'maybe' is not one of 'auto', 'yes', 'no'"),
        (("--delimiter", ";"), "data.delimiter: ';' is not one of"),
        (("--columns", "en"), "--columns en: two names with a comma between"),
        (("--header", "no", "--columns", "en,hi"), "--columns en,hi with --header no; without a"),
    ],
)
def test_options_of_a_table_are_checked(folder, tmp_path, options, message):
    table = write(tmp_path / "test.csv", ["en,hi,by", "one,एक,me", "two,दो,me"])
    with pytest.raises(UserError) as caught:
        score_files(folder / "right.hi", "--source", table, *options)
    assert message in str(caught.value)


def test_files_cannot_be_matched_with_a_table_that_lost_rows(folder):
    table = write(folder / "test.tsv", ["one\tएक", "two\t", "three\tतीन"])
    file = write(folder / "three.hi", ["एक", "दो", "तीन"])
    done = CliRunner().invoke(app, ["evaluate", str(file), "--source", str(table)])
    assert "three.hi: cannot be matched: rows of" in str(done.exception)


def test_long_work_reports_progress_and_quick_work_does_not(folder, monkeypatch):
    words = [folder / "one", folder / "wrong.hi", *QUICK, "--source", folder / "test.en"]
    arguments = list(map(str, ["evaluate", *words, "--target", folder / "test.hi", "--threads", 1]))
    assert CliRunner().invoke(app, arguments).stderr == "kept 30 pairs\n"
    monkeypatch.setattr("dhyan.cli.messages.REPORT_SECONDS", 0.0)
    monkeypatch.setattr("dhyan.cli.progress.REPORT_SECONDS", 0.0)
    done = CliRunner().invoke(app, arguments)
    assert "30/30 lines" in done.stderr
    assert "wrong.hi: counted for ter" in done.stderr
    assert "bleu: 20 resamples" in done.stderr


def test_ctrl_c_prints_one_line(folder, monkeypatch):
    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("dhyan.data.read_pairs.read_raw_lines", interrupted)
    pair = (str(folder / "test.en"), str(folder / "test.hi"))
    files = ("--source", pair[0], "--target", pair[1])
    for words in (
        ("evaluate", str(folder / "one"), *files),
        ("data", "check", *pair),
        ("data", "prepare", "bahdanau2015-small", *files, "--out", str(folder / "ready")),
    ):
        done = CliRunner().invoke(dhyan.cli.app, words)
        assert (done.exit_code, done.stderr) == (130, "stopped; nothing was written\n")
        assert done.stdout == ""
    assert not (folder / "ready").exists()
