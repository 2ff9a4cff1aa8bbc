"""`dhyan translate` with each of its options, over tiny models that have learned nothing yet."""

import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from dhyan.cli.translate import translate
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.load import load, load_ensemble
from tests.tiny_models import tiny_recipe, write_corpus

LINES = ["three hundred two", "", "one million six", "seven"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with two kinds of model over the same words, one that keeps spans, one narrow."""
    folder = tmp_path_factory.mktemp("translate")
    files = write_corpus(folder, pairs=60)
    few = {"training.steps": 2, "training.validate_every": 2, "decoding.max_length": 14}
    few |= {
        "text.tokenizer": "words",
        "text.source_vocabulary_size": 90,
        "text.target_vocabulary_size": 90,
    }
    kept = {"text.placeholders": ["number", "url"], "text.source_vocabulary_size": 40}
    for name, family, more in (
        ("rnn", "rnn", {}),
        ("transformer", "transformer", {"training.seed": 3}),
        ("kept", "rnn", kept),
        ("narrow", "rnn", {"decoding.max_source_length": 4}),
    ):
        for _ in train(tiny_recipe(family, *files, **{**few, **more}), folder / name, threads=1):
            pass
    return folder


def invoke(place, *arguments, lines=LINES, model="rnn"):
    """The command with its input, and what came of it."""
    text = "".join(f"{line}\n" for line in lines)
    app = typer.Typer()
    app.command()(translate)
    words = [str(place / model), "--threads", "1", *map(str, arguments)]
    return CliRunner().invoke(app, words, input=text)


def run(place, *arguments, **options):
    """What the command prints, and what it warns of."""
    done = invoke(place, *arguments, **options)
    if done.exception:
        raise done.exception
    return done.stdout.splitlines(), done.stderr


def ended(place, *arguments, **options):
    """The same of a command that ends with a fault, and the fault."""
    done = invoke(place, *arguments, **options)
    assert isinstance(done.exception, UserError)
    return done.stdout.splitlines(), done.stderr, done.exception


def refused(place, sentence, *arguments, **options):
    with pytest.raises(UserError, match=sentence):
        run(place, *arguments, **options)


def rows(place, *arguments, **options):
    out, _ = run(place, "--json", *arguments, **options)
    return [json.loads(line) for line in out]


def test_every_setting_reaches_the_search(place):
    translator = load(place / "rnn")
    for arguments, changes in (
        (["--beam", 1], {"beam": 1}),
        (["--beam", 3, "--length-penalty", 0.0], {"beam": 3, "length_penalty": 0.0}),
        (["--min-length", 9, "--max-length", 12], {"min_length": 9, "max_length": 12}),
        (["--no-repeat-ngram", 1], {"no_repeat_ngram": 1}),
        (["--beam", 4, "--beam-groups", 2, "--diversity-penalty", 3],
         {"beam": 4, "beam_groups": 2, "diversity_penalty": 3.0}),
        (["--coverage-penalty", 0.5], {"coverage_penalty": 0.5}),
        (["--sample", "--temperature", 2, "--seed", 4],
         {"sample": True, "temperature": 2.0, "seed": 4}),
        (["--sample", "--top-k", 3, "--top-p", 0.5], {"sample": True, "top_k": 3, "top_p": 0.5}),
    ):  # fmt: skip
        out, _ = run(place, *arguments)
        assert out == [one.text for one in translator(LINES, **changes)]


def test_another_seed_draws_other_words(place):
    assert run(place, "--sample")[0] == run(place, "--sample", "--seed", 1)[0]
    assert run(place, "--sample")[0] != run(place, "--sample", "--seed", 2)[0]


def test_lines_are_drawn_for_by_their_number_in_the_whole_input(place, monkeypatch):
    whole, _ = run(place, "--sample", "--paragraphs")
    plain, _ = run(place, "--sample")
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 2)
    assert run(place, "--sample", "--paragraphs")[0] == whole
    assert run(place, "--sample")[0] == plain


def test_models_of_two_kinds_speak_together(place):
    both = load_ensemble([place / "rnn", place / "transformer"])
    out, _ = run(place, "--with", place / "transformer")
    assert out == [one.text for one in both(LINES)]
    refused(
        place,
        "no ensemble of .*rnn and .*kept: one copies nothing, the other",
        "--with",
        place / "kept",
    )


def test_prefixes_begin_lines(place):
    out, _ = run(place, "--prefix", "तीन सौ", "--max-length", 20)
    assert [line.startswith("तीन सौ") for line in out] == [True, False, True, True]
    (place / "prefixes").write_text("एक\n\n\nदो तीन\n")
    own, _ = run(place, "--prefixes", place / "prefixes", "--max-length", 20)
    assert own[0].startswith("एक")
    assert own[3].startswith("दो तीन")
    assert own[2] == run(place, "--max-length", 20)[0][2]
    refused(place, "prefixes: has too few lines", "--prefixes", place / "prefixes",
            lines=[*LINES, "one"])  # fmt: skip
    refused(place, "has more lines than the 1 of stdin", "--prefixes", place / "prefixes",
            lines=["one"])  # fmt: skip


def test_a_glossary_is_kept_and_what_is_forbidden_is_not_said(place):
    (place / "terms.tsv").write_text("three hundred\tदो लाख\n\nmillion\tनौ\n")
    out, _ = run(place, "--glossary", place / "terms.tsv", "--max-length", 40)
    assert "दो लाख" in out[0]
    assert "नौ" in out[2].split()
    said = {word for line in run(place)[0] for word in line.split()}
    (place / "never").write_text("\n".join(sorted(said)))
    spared, _ = run(place, "--forbid", place / "never")
    assert not said & {word for line in spared for word in line.split()}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("one two\n", "bad.tsv:1: a source term, a tab, a target term; found 'one two'"),
        ("\none\tएक\none\tदो\n", "bad.tsv:3: 'one' has another target term further up"),
        ("one\tएक\nOne\tदो\n", "bad.tsv:2: 'One' has another target term further up"),
        ("one  six\tएक\none six\tदो\n", "the glossary has both 'एक' and 'दो' for 'one six'"),
        ("seven\tसोना\n", "cannot write 'सोना'"),
    ],
)
def test_a_glossary_with_a_fault_is_refused_by_its_place(place, text, sentence):
    (place / "bad.tsv").write_text(text)
    refused(place, sentence, "--glossary", place / "bad.tsv")


def test_the_plain_search_can_be_asked_for(place):
    assert run(place, "--plain") == run(place)


def test_plain_json_says_no_more_than_it_must(place):
    first = rows(place)[0]
    assert list(first) == ["line", "source", "text", "score", "finished"]


def test_words_and_alignment_come_when_they_are_asked_for(place):
    for found in rows(place, "--words", "--align"):
        said, heard = found["text"].split(), found["source"].split()
        assert [word["text"] for word in found["words"]] == said
        assert all(0 <= word["confidence"] <= 1 for word in found["words"])
        assert [target for _, target in found["alignment"]] == list(range(len(said)))
        assert all(0 <= source < len(heard) for source, _ in found["alignment"])


def test_alignments_and_confidences_are_columns(place):
    out, _ = run(place, "--align", "--words")
    plain, _ = run(place)
    for line, text in zip(out, plain, strict=True):
        said, pairs, sure = line.split("\t")
        assert said == text
        assert len(pairs.split()) == len(sure.split()) == len(text.split())
    numbered, _ = run(place, "--align", "--nbest", 2)
    assert [line.count("\t") for line in numbered if line] == [3] * len(numbered)


def test_one_attention_aligns(place):
    out, _ = run(place, "--align", "--attention", "layers.0", model="transformer")
    assert out[0].count("\t") == 1
    refused(place, "no attention to the source is called 'nose'", "--align", "--attention", "nose")


def test_paragraphs_come_back_as_one_line_each(place):
    text = "Three hundred two.  One million six? Seven."
    [line], _ = run(place, "--paragraphs", lines=[text])
    [found] = rows(place, "--paragraphs", "--words", "--align", lines=[text])
    assert found["text"] == line
    assert [one["source"] for one in found["sentences"]] == [
        "Three hundred two.", "One million six?", "Seven.",
    ]  # fmt: skip
    assert all("words" in one and "alignment" in one for one in found["sentences"])
    texts = [one["text"] for one in found["sentences"]]
    assert line == f"{texts[0]}  {texts[1]} {texts[2]}"


def test_a_line_that_is_too_long_can_be_a_paragraph(place):
    lines = ["one", "Two three. " * 5]
    _, errors, fault = ended(place, model="narrow", lines=lines)
    assert "dhyan: stdin:2: 15 tokens, but this model takes at most 4; " in errors
    assert "or try --paragraphs" in errors
    assert len(run(place, "--paragraphs", model="narrow", lines=lines)[0]) == 2


@pytest.mark.parametrize("more", [[], ["--paragraphs"]])
def test_lines_that_are_too_long_are_left_empty_and_the_others_translated(place, more):
    lines = ["one", "two " * 9, "six", "", "two " * 7 + "six. " + "two " * 9, "seven"]
    out, errors, fault = ended(place, *more, model="narrow", lines=lines)
    assert str(fault) == "2 of 6 lines could not be translated and were left empty"
    assert ("--paragraphs" in errors) == (not more)
    short = [line if len(line) < 9 else "" for line in lines]
    assert out == run(place, *more, model="narrow", lines=short)[0]


def test_what_is_too_long_keeps_its_columns_and_tells_json_why(place):
    lines = ["one", "two " * 9]
    out, _, _ = ended(place, "--nbest", 2, "--align", "--words", model="narrow", lines=lines)
    assert out[-1] == "2\t\t\t\t"
    assert out[0].count("\t") == 4
    out, _, _ = ended(place, "--json", "--nbest", 2, model="narrow", lines=lines)
    first, second = map(json.loads, out)
    assert first.keys() == second.keys() - {"error"}
    assert "at most 4" in second["error"]
    assert (second["text"], second["finished"], second["nbest"]) == ("", False, [])


def test_prefixes_are_counted_before_anything_is_translated(place):
    (place / "three").write_text("one\nsix\nseven\n")
    for text, sentence in (
        ("सोना\n", "too few lines, 1 for 3"),
        ("\n" * 4, "more lines than the 3"),
    ):
        (place / "prefixes").write_text(text)
        refused(place, f"prefixes: has {sentence}", place / "three", "--prefixes",
                place / "prefixes", model="nowhere")  # fmt: skip


def test_prefixes_that_are_no_text_are_refused_before_anything_is_translated(place):
    (place / "prefixes").write_bytes(b"\n\n\n\xff\n")
    done = invoke(place, "--prefixes", place / "prefixes")
    assert "prefixes:4: byte 1 of the line (0xff) is not UTF-8" in str(done.exception)
    assert not done.stdout


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("--glossary", "one\tएक\n\nseven\tसोना\n", "terms:3: the model cannot write 'सोना'"),
        ("--glossary", "one six\tएक\none  six\tदो\n", "terms:2: the glossary has both"),
        ("--forbid", "एक\n \u200b\n", "terms:2: an empty term is forbidden"),
        ("--forbid", "दो\n\nएक\n", "terms:3: 'एक' is forbidden, but a prefix is 'एक'"),
    ],
)
def test_terms_with_a_fault_are_named_by_their_line(place, option, text, sentence):
    (place / "terms").write_text(text)
    more = ["--prefix", "एक"] if option == "--forbid" else []
    refused(place, sentence, option, place / "terms", *more)


def test_a_sentence_that_cannot_be_translated_so_is_named_by_its_line_and_left_empty(place):
    (place / "terms.tsv").write_text("seven\tदो लाख तीन सौ\n")
    arguments = ("--glossary", place / "terms.tsv", "--max-length", 3)
    for more in ([], ["--paragraphs"]):
        out, errors, fault = ended(place, *arguments, *more)
        assert f"dhyan: {place}/terms.tsv:4: " not in errors
        assert "stdin:4: दो लाख तीन सौ: required terms of" in errors
        assert str(fault).startswith("1 of 4 lines")
        assert out == [*run(place, "--max-length", 3, *more)[0][:3], ""]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("एक\n\nसोना\n\n", "terms:3: the model cannot write 'सोना'"),
        ("एक\n\n\n" + "एक " * 20 + "\n", "terms:4: a prefix of 20 tokens leaves"),
    ],
)
def test_a_prefix_that_cannot_be_said_leaves_its_line_empty(place, text, sentence):
    (place / "terms").write_text(text)
    out, errors, fault = ended(place, "--prefixes", place / "terms")
    assert f"dhyan: {place}/{sentence}" in errors
    assert str(fault).startswith("1 of 4 lines could not be translated")
    assert len(out) == 4
    assert out.count("") == 2, "the line at fault, and the one that was empty"


def test_a_prefix_for_all_that_cannot_be_said_is_refused_at_once(place):
    done = invoke(place, "--prefix", "सोना")
    assert isinstance(done.exception, UserError)
    assert "the model cannot write 'सोना'" in str(done.exception)
    assert not done.stdout


def test_a_long_translation_says_that_it_goes_on(place, monkeypatch):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr(sys.modules["dhyan.cli.warnings"], "monotonic", lambda: next(clock))
    (place / "four").write_text("".join(f"{line}\n" for line in LINES))
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 1)
    _, errors = run(place, place / "four")
    assert [line for line in errors.splitlines() if "lines/s" in line] == [
        "dhyan: 2/4 lines  0.2 lines/s",
        "dhyan: 4/4 lines  0.2 lines/s",
    ]
    assert "lines/s" not in run(place)[1], "what is read from a pipe, and watched by no one"


def test_what_is_stopped_says_how_much_is_written(place, monkeypatch):
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 2)

    def interrupt(pace, done):
        if done > 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["dhyan.cli.warnings"].ProgressLines, "update", interrupt)
    done = invoke(place)
    assert done.exit_code == 130
    assert "dhyan: stopped; 2 lines are written\n" in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_what_was_lost_is_said_with_its_place(place):
    lines = ["see https://example.org now", "seven", "room 42"]
    _, errors = run(place, "--beam", 1, model="kept", lines=lines)
    assert "dhyan: stdin:1: lost https://example.org\n" in errors
    assert "dhyan: stdin:3: lost 42\n" in errors
    found = rows(place, "--beam", 1, model="kept", lines=lines)
    assert [one.get("lost_placeholders") for one in found] == [
        ["https://example.org"],
        None,
        ["42"],
    ]


def test_terms_that_were_missed_are_said_with_their_place(place):
    (place / "terms.tsv").write_text("seven\tदो लाख तीन सौ\n")
    arguments = ("--glossary", place / "terms.tsv", "--max-length", 6, "--beam", 2, "--nbest", 2)
    _, errors = run(place, *arguments, lines=["one", "seven"])
    assert "dhyan: stdin:2: lacks दो लाख तीन सौ\n" in errors
    one, seven = rows(place, *arguments, lines=["one", "seven"])
    assert "missing_terms" not in one
    assert any(found.get("missing_terms") == ["दो लाख तीन सौ"] for found in seven["nbest"])


@pytest.mark.parametrize("way", [["--beam", 1], ["--sample"], ["--beam", 3]])
def test_json_has_only_numbers_where_the_rules_leave_no_word(place, way):
    arguments = [
        "--json",
        "--no-repeat-ngram",
        1,
        "--min-length",
        110,
        "--max-length",
        0,
        "--words",
        *way,
    ]
    out, errors = run(place, *arguments)
    for line in out:
        found = json.loads(line, parse_constant=pytest.fail)
        assert found["finished"] == (not found["source"])
    assert "dhyan: stdin:1: stops where no token was allowed" in errors
    assert "cut off" not in errors
    assert ": cut off at the length limit (--max-length)" in run(place, "--max-length", 1, *way)[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--length-penalty", "nan"], "--length-penalty: nan is not between 0 and 10"),
        (["--temperature", 0.5], "--temperature has no effect without --sample: add it"),
        (["--diversity-penalty", 0.5], "--diversity-penalty needs two --beam-groups or more"),
        (["--sample", "--beam", 4], "leave out --beam 4"),
        (["--beam-groups", 3, "--beam", 4], "--beam-groups 3 do not divide a beam of 4"),
        (["--min-length", 20], "--min-length 20 leaves no room for an end within --max-length 14"),
        (
            ["--sample", "--coverage-penalty", 1],
            "--coverage-penalty ranks the hypotheses of a beam",
        ),
        (["--attention", "x"], "add --align"),
        (["--paragraphs", "--nbest", 2], "a paragraph has one translation"),
        (["--paragraphs", "--align"], "with --paragraphs, add --json"),
        (["--paragraphs", "--prefix", "एक"], "do not go together"),
    ],
)
def test_what_does_not_go_together_is_refused_even_of_no_lines(place, arguments, sentence):
    refused(place, sentence, *arguments, lines=[])
