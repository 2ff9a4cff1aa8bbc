"""`dhyan translate` with each of its options, over tiny models that have learned nothing yet."""

import json
import sys

import pytest
from typer.testing import CliRunner

from dhyan.cli import app
from dhyan.cli.translate_io import TranslationWarnings, find_term, read_glossary, read_terms
from dhyan.decoding.render import Translation
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.load import load, load_ensemble
from tests.tiny_models import tiny_recipe, write_corpus

LINES = ["three hundred two", "", "one million six", "seven"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two sorts of model with the same vocabulary, one with placeholders, one for short sentences."""
    folder = tmp_path_factory.mktemp("translate")
    files = write_corpus(folder, pairs=60)
    few = {"training.steps": 2, "training.validate_every": 2, "decoding.max_length": 14}
    few |= {
        "text.tokenizer": "words",
        "text.source_vocabulary_size": 90,
        "text.target_vocabulary_size": 90,
    }
    placeholders = {"text.placeholders": ["number", "url"], "text.source_vocabulary_size": 40}
    for name, family, more in (
        ("rnn", "rnn", {}),
        ("transformer", "transformer", {"training.seed": 3}),
        ("placeholders", "rnn", placeholders),
        ("narrow", "rnn", {"decoding.max_source_length": 4}),
    ):
        for _ in train(tiny_recipe(family, *files, **{**few, **more}), folder / name, threads=1):
            pass
    return folder


def invoke(folder, *arguments, lines=LINES, model="rnn"):
    """Run the command on these lines."""
    text = "".join(f"{line}\n" for line in lines)
    arguments = ["translate", str(folder / model), "--threads", "1", *map(str, arguments)]
    return CliRunner().invoke(app, arguments, input=text)


def run(folder, *arguments, **options):
    """Stdout lines and stderr of the command."""
    invocation = invoke(folder, *arguments, **options)
    if invocation.exception:
        raise invocation.exception
    return invocation.stdout.splitlines(), invocation.stderr


def failed(folder, *arguments, **options):
    """Stdout lines, stderr and the error of a command that fails."""
    invocation = invoke(folder, *arguments, **options)
    assert isinstance(invocation.exception, UserError)
    return invocation.stdout.splitlines(), invocation.stderr, invocation.exception


def refused(folder, message, *arguments, **options):
    with pytest.raises(UserError, match=message):
        run(folder, *arguments, **options)


def rows(folder, *arguments, **options):
    out, _ = run(folder, "--json", *arguments, **options)
    return [json.loads(line) for line in out]


def test_every_option_reaches_the_search(folder):
    translator = load(folder / "rnn")
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
        out, _ = run(folder, *arguments)
        assert out == [translation.text for translation in translator(LINES, **changes)]


def test_another_seed_samples_other_words(folder):
    assert run(folder, "--sample")[0] == run(folder, "--sample", "--seed", 1)[0]
    assert run(folder, "--sample")[0] != run(folder, "--sample", "--seed", 2)[0]


def test_sampling_depends_on_the_line_number_not_on_the_chunk(folder, monkeypatch):
    paragraphs, _ = run(folder, "--sample", "--paragraphs")
    plain, _ = run(folder, "--sample")
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 2)
    assert run(folder, "--sample", "--paragraphs")[0] == paragraphs
    assert run(folder, "--sample")[0] == plain


def test_two_architectures_form_an_ensemble(folder):
    both = load_ensemble([folder / "rnn", folder / "transformer"])
    out, _ = run(folder, "--with", folder / "transformer")
    assert out == [translation.text for translation in both(LINES)]
    refused(
        folder,
        "no ensemble of .*rnn and .*placeholders: one copies nothing, the other",
        "--with",
        folder / "placeholders",
    )


def test_translations_begin_with_their_prefix(folder):
    out, _ = run(folder, "--prefix", "तीन सौ", "--max-length", 20)
    assert [line.startswith("तीन सौ") for line in out] == [True, False, True, True]
    (folder / "prefixes").write_text("एक\n\n\nदो तीन\n")
    outputs, _ = run(folder, "--prefixes", folder / "prefixes", "--max-length", 20)
    assert outputs[0].startswith("एक")
    assert outputs[3].startswith("दो तीन")
    assert outputs[2] == run(folder, "--max-length", 20)[0][2]
    refused(folder, "prefixes: has too few lines", "--prefixes", folder / "prefixes",
            lines=[*LINES, "one"])  # fmt: skip
    refused(folder, "has more lines than the 1 of stdin", "--prefixes", folder / "prefixes",
            lines=["one"])  # fmt: skip


def test_glossary_terms_appear_and_forbidden_terms_do_not(folder):
    (folder / "terms.tsv").write_text("three hundred\tदो लाख\n\nmillion\tनौ\n")
    out, _ = run(folder, "--glossary", folder / "terms.tsv", "--max-length", 40)
    assert "दो लाख" in out[0]
    assert "नौ" in out[2].split()
    words = {word for line in run(folder)[0] for word in line.split()}
    (folder / "forbidden").write_text("\n".join(sorted(words)))
    without, _ = run(folder, "--forbid", folder / "forbidden")
    assert not words & {word for line in without for word in line.split()}


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
def test_an_error_in_a_glossary_is_named_with_its_line(folder, text, sentence):
    (folder / "bad.tsv").write_text(text)
    refused(folder, sentence, "--glossary", folder / "bad.tsv")


def test_the_plain_search_gives_the_same(folder):
    assert run(folder, "--plain") == run(folder)


def test_json_has_six_fields_by_default(folder):
    first = rows(folder)[0]
    assert list(first) == ["line", "source", "text", "score", "finished", "unknown_words"]


def test_unknown_words_are_reported(folder):
    lines = ["seven", "elephants, six ☃", "", "two " * 9]
    invocation = invoke(folder, "--json", lines=lines, model="narrow")
    unknown = [json.loads(line)["unknown_words"] for line in invocation.stdout.splitlines()]
    assert unknown == [[], ["elephants", ",", "☃"], [], []]
    [row] = rows(folder, "--paragraphs", lines=["Seven elephants. Six tigers."])
    assert row["unknown_words"] == ["Seven", "elephants", ".", "Six", "tigers", "."]
    assert [sentence["unknown_words"][1] for sentence in row["sentences"]] == [
        "elephants",
        "tigers",
    ]
    [translation] = load(folder / "rnn")("seven elephants")
    assert translation.unknown_words == ("elephants",)
    [translation] = load(folder / "placeholders")("elephants 3,000")
    assert translation.unknown_words[0] == "elephants"


def unknown_word_lines(errors):
    return [line for line in errors.splitlines() if " unknown (" in line]


def test_unknown_words_are_named_once_at_the_end(folder, monkeypatch):
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 1)
    lines = ["seven elephants", "six", "elephants ☃ seven"]
    _, errors = run(folder, lines=lines)
    assert unknown_word_lines(errors) == [
        "dhyan: stdin: 2 words are unknown (not in the vocabulary or the training text): elephants, ☃"
    ]
    _, errors = run(folder, lines=["seven tigers"])
    assert unknown_word_lines(errors) == [
        "dhyan: stdin: 1 word is unknown (not in the vocabulary or the training text): tigers"
    ]
    assert not unknown_word_lines(run(folder, lines=["seven", ""])[1])


def test_of_many_unknown_words_the_most_frequent_are_named(folder):
    words = [f"w{chr(97 + n)}" for n in range(12)]
    _, errors = run(folder, lines=[*words, "wl wl"])
    [line] = unknown_word_lines(errors)
    assert "12 words are" in line
    assert line.endswith(
        ": wl, wa, wb, wc, wd, we, wf, wg, wh, wi, …; --json has those of each line"
    )


def test_with_typed_sentences_an_unknown_word_is_named_once(capsys):
    warnings = TranslationWarnings()
    for words in (("elephants", "☃"), ("☃",), ("tigers",)):
        warnings.check("stdin:1", Translation("", 0.0, True, (), unknown_words=words))
        warnings.name_unknown_words("stdin")
    named = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert named == [
        "stdin: 2 words are unknown (not in the vocabulary or the training text): elephants, ☃",
        "stdin: 1 word is unknown (not in the vocabulary or the training text): tigers",
    ]


def language_warnings(errors):
    return [line for line in errors.splitlines() if "the model translates" in line]


def test_a_text_in_the_wrong_direction_is_noticed_once(folder, monkeypatch):
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 2)
    _, errors = run(folder, lines=["तीन सौ दो", "सात"] * 6)
    [line] = language_warnings(errors)
    assert line.startswith("dhyan: stdin: ")
    assert "have no Latin letter, but the model translates from 'en' into 'hi'" in line
    assert "source and target seem to be swapped" in line
    assert "give a text in the source language, or a model for the language of this text" in line


def test_a_text_of_unknown_words_is_noticed(folder):
    _, errors = run(folder, lines=["guten morgen liebe leute", "wie geht es euch heute"])
    [line] = language_warnings(errors)
    assert "9 of 9 words are not in the source vocabulary" in line


@pytest.mark.parametrize(
    "lines",
    [
        LINES,
        ["Bahdanau, Cho and Bengio", "Priya Sharma"],
        ["12,500", "https://example.org/eins/zwei", "a@example.org"],
        ["🙂👍", "☃ ☃ ☃"],
        ["तीन three hundred two", "नमस्ते"],
    ],
)
def test_names_numbers_addresses_and_emoji_are_no_other_language(folder, lines):
    assert not language_warnings(run(folder, lines=lines)[1])


def test_files_of_terms_may_have_comments(folder):
    (folder / "terms.tsv").write_text("# numbers\nthree hundred\tदो लाख\n\n#one\tदो\n")
    out, _ = run(folder, "--glossary", folder / "terms.tsv", "--max-length", 40)
    assert "दो लाख" in out[0]
    words = {word for line in run(folder)[0] for word in line.split()}
    (folder / "forbidden").write_text("# never\n" + "\n".join(sorted(words)) + "\n\n#\n")
    without, _ = run(folder, "--forbid", folder / "forbidden")
    assert not words & {word for line in without for word in line.split()}
    (folder / "prefixes").write_text("# a prefix for each line\nएक\n\n# the third\n\nदो तीन\n")
    outputs, _ = run(folder, "--prefixes", folder / "prefixes", "--max-length", 20)
    assert outputs[0].startswith("एक")
    assert outputs[3].startswith("दो तीन")
    (folder / "prefixes").write_text("# a prefix for each line\nएक\n\n# the third\n\nसोना\n")
    _, errors, _ = failed(folder, "--prefixes", folder / "prefixes")
    assert "prefixes:6: the model cannot write 'सोना'" in errors


def test_a_term_that_begins_with_a_hash_is_escaped(folder):
    file = folder / "hash.tsv"
    file.write_text("# comment\n\\#one\tएक\nsix\t#छह\n\\\\#two\tदो\n \\#x\ty\n")
    assert read_glossary(file) == {"#one": "एक", "six": "#छह", "\\#two": "दो", "\\#x": "y"}
    file.write_text("#comment\n\\#term\n\nother # term\n")
    assert read_terms(file) == ["#term", "other # term"]
    assert find_term(file, "#term") == f"{file}:2"


def test_output_is_written_to_a_file_when_it_is_complete(folder, tmp_path, monkeypatch):
    expected, _ = run(folder)
    out, _ = run(folder, "-o", tmp_path / "out.hi")
    assert out == []
    assert (tmp_path / "out.hi").read_text(encoding="utf-8").splitlines() == expected
    monkeypatch.setattr(
        sys.modules["dhyan.cli.translate"].TranslationJob,
        "translate",
        lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt),
    )
    invocation = invoke(folder, "--output", tmp_path / "other.hi")
    assert invocation.exit_code == 130
    assert "stopped; " in invocation.stderr
    assert "other.hi is not written" in invocation.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out.hi"]


def test_a_line_that_fails_leaves_the_output_complete(folder, tmp_path):
    lines = ["one", "two " * 9, "six"]
    failed(folder, "-o", tmp_path / "out.hi", model="narrow", lines=lines)
    written = (tmp_path / "out.hi").read_text(encoding="utf-8").splitlines()
    assert len(written) == 3
    assert written[1] == ""


def test_an_output_that_cannot_be_written_is_refused_before_the_model_is_loaded(folder, tmp_path):
    (tmp_path / "in.en").write_text("one\n")
    for output, message in (
        (tmp_path, "is not a regular file"),
        ("/dev/null", "is not a regular file"),
        (tmp_path / "in.en", "is the input file; give another name"),
        (tmp_path / "out.gz", "only plain files are written"),
        (tmp_path / "nowhere" / "out.hi", "there is no folder .*nowhere; create it first"),
    ):
        refused(folder, message, tmp_path / "in.en", "-o", output, model="nowhere")


def test_json_has_words_and_alignment_on_request(folder):
    for row in rows(folder, "--words", "--align"):
        target_words, source_words = row["text"].split(), row["source"].split()
        assert [word["text"] for word in row["words"]] == target_words
        assert all(0 <= word["confidence"] <= 1 for word in row["words"])
        assert [target for _, target in row["alignment"]] == list(range(len(target_words)))
        assert all(0 <= source < len(source_words) for source, _ in row["alignment"])


def test_alignments_and_word_probabilities_are_columns(folder):
    out, _ = run(folder, "--align", "--words")
    plain, _ = run(folder)
    for line, text in zip(out, plain, strict=True):
        translation, pairs, probs = line.split("\t")
        assert translation == text
        assert len(pairs.split()) == len(probs.split()) == len(text.split())
    numbered, _ = run(folder, "--align", "--nbest", 2)
    assert [line.count("\t") for line in numbered if line] == [3] * len(numbered)


def test_alignments_follow_the_chosen_attention(folder):
    out, _ = run(folder, "--align", "--attention", "layers.0", model="transformer")
    assert out[0].count("\t") == 1
    refused(folder, "no attention to the source is called 'nose'", "--align", "--attention", "nose")


def test_a_paragraph_is_one_line_of_output(folder):
    text = "Three hundred two.  One million six? Seven."
    [line], _ = run(folder, "--paragraphs", lines=[text])
    [row] = rows(folder, "--paragraphs", "--words", "--align", lines=[text])
    assert row["text"] == line
    sentences = row["sentences"]
    assert [sentence["source"] for sentence in sentences] == [
        "Three hundred two.", "One million six?", "Seven.",
    ]  # fmt: skip
    assert all("words" in sentence and "alignment" in sentence for sentence in sentences)
    texts = [sentence["text"] for sentence in sentences]
    assert line == f"{texts[0]}  {texts[1]} {texts[2]}"


def test_a_line_that_is_too_long_can_be_a_paragraph(folder):
    lines = ["one", "Two three. " * 5]
    _, errors, fault = failed(folder, model="narrow", lines=lines)
    assert "dhyan: stdin:2: 15 tokens, but this model takes at most 4; " in errors
    assert "or try --paragraphs" in errors
    assert len(run(folder, "--paragraphs", model="narrow", lines=lines)[0]) == 2


@pytest.mark.parametrize("more", [[], ["--paragraphs"]])
def test_lines_that_are_too_long_are_left_empty_and_the_others_translated(folder, more):
    lines = ["one", "two " * 9, "six", "", "two " * 7 + "six. " + "two " * 9, "seven"]
    out, errors, fault = failed(folder, *more, model="narrow", lines=lines)
    assert str(fault) == "2 of 6 lines could not be translated and were left empty"
    assert ("--paragraphs" in errors) == (not more)
    short = [line if len(line) < 9 else "" for line in lines]
    assert out == run(folder, *more, model="narrow", lines=short)[0]


def test_a_line_that_is_too_long_has_empty_columns_and_an_error_in_json(folder):
    lines = ["one", "two " * 9]
    out, _, _ = failed(folder, "--nbest", 2, "--align", "--words", model="narrow", lines=lines)
    assert out[-1] == "2\t\t\t\t"
    assert out[0].count("\t") == 4
    out, _, _ = failed(folder, "--json", "--nbest", 2, model="narrow", lines=lines)
    first, second = map(json.loads, out)
    assert first.keys() == second.keys() - {"error"}
    assert "at most 4" in second["error"]
    assert (second["text"], second["finished"], second["nbest"]) == ("", False, [])


def test_prefixes_are_counted_before_anything_is_translated(folder):
    (folder / "three").write_text("one\nsix\nseven\n")
    for text, sentence in (
        ("सोना\n", "too few lines, 1 for 3"),
        ("\n" * 4, "more lines than the 3"),
    ):
        (folder / "prefixes").write_text(text)
        refused(folder, f"prefixes: has {sentence}", folder / "three", "--prefixes",
                folder / "prefixes", model="nowhere")  # fmt: skip


def test_prefixes_that_are_not_utf8_are_refused_before_anything_is_translated(folder):
    (folder / "prefixes").write_bytes(b"\n\n\n\xff\n")
    invocation = invoke(folder, "--prefixes", folder / "prefixes")
    assert "prefixes:4: byte 1 of the line (0xff) is not UTF-8" in str(invocation.exception)
    assert not invocation.stdout


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("--glossary", "one\tएक\n\nseven\tसोना\n", "terms:3: the model cannot write 'सोना'"),
        ("--glossary", "one six\tएक\none  six\tदो\n", "terms:2: the glossary has both"),
        ("--forbid", "एक\n \u200b\n", "terms:2: an empty term is forbidden"),
        ("--forbid", "दो\n\nएक\n", "terms:3: 'एक' is forbidden, but a prefix is 'एक'"),
    ],
)
def test_an_invalid_term_is_named_with_its_line(folder, option, text, sentence):
    (folder / "terms").write_text(text)
    more = ["--prefix", "एक"] if option == "--forbid" else []
    refused(folder, sentence, option, folder / "terms", *more)


def test_a_line_with_impossible_constraints_is_reported_and_left_empty(folder):
    (folder / "terms.tsv").write_text("seven\tदो लाख तीन सौ\n")
    arguments = ("--glossary", folder / "terms.tsv", "--max-length", 3)
    for more in ([], ["--paragraphs"]):
        out, errors, fault = failed(folder, *arguments, *more)
        assert f"dhyan: {folder}/terms.tsv:4: " not in errors
        assert "stdin:4: दो लाख तीन सौ: required terms of" in errors
        assert str(fault).startswith("1 of 4 lines")
        assert out == [*run(folder, "--max-length", 3, *more)[0][:3], ""]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("एक\n\nसोना\n\n", "terms:3: the model cannot write 'सोना'"),
        ("एक\n\n\n" + "एक " * 20 + "\n", "terms:4: a prefix of 20 tokens leaves"),
    ],
)
def test_an_impossible_prefix_leaves_its_line_empty(folder, text, sentence):
    (folder / "terms").write_text(text)
    out, errors, fault = failed(folder, "--prefixes", folder / "terms")
    assert f"dhyan: {folder}/{sentence}" in errors
    assert str(fault).startswith("1 of 4 lines could not be translated")
    assert len(out) == 4
    assert out.count("") == 2, "the line with the error, and the empty one"


def test_an_impossible_prefix_of_all_lines_stops_the_command(folder):
    invocation = invoke(folder, "--prefix", "सोना")
    assert isinstance(invocation.exception, UserError)
    assert "the model cannot write 'सोना'" in str(invocation.exception)
    assert not invocation.stdout


def test_a_long_translation_reports_progress(folder, monkeypatch):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr(sys.modules["dhyan.cli.messages"], "monotonic", lambda: next(clock))
    (folder / "four").write_text("".join(f"{line}\n" for line in LINES))
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 1)
    _, errors = run(folder, folder / "four")
    assert [line for line in errors.splitlines() if "lines/s" in line] == [
        "dhyan: 2/4 lines  0.2 lines/s",
        "dhyan: 4/4 lines  0.2 lines/s",
    ]
    assert "lines/s" not in run(folder)[1], "stdin is a pipe, and stderr is not a terminal"


def test_ctrl_c_reports_how_many_lines_are_written(folder, monkeypatch):
    monkeypatch.setattr(sys.modules["dhyan.cli.translate"], "LINES_AT_A_TIME", 2)

    def interrupt(progress, done):
        if done > 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["dhyan.cli.messages"].ProgressLines, "update", interrupt)
    invocation = invoke(folder)
    assert invocation.exit_code == 130
    assert "dhyan: stopped; 2 lines are written\n" in invocation.stderr
    assert len(invocation.stdout.splitlines()) == 2


def test_missing_placeholders_are_reported_with_their_line(folder):
    lines = ["see https://example.org now", "seven", "room 42"]
    _, errors = run(folder, "--beam", 1, model="placeholders", lines=lines)
    assert "dhyan: stdin:1: lost https://example.org\n" in errors
    assert "dhyan: stdin:3: lost 42\n" in errors
    results = rows(folder, "--beam", 1, model="placeholders", lines=lines)
    assert [row.get("missing_placeholders") for row in results] == [
        ["https://example.org"],
        None,
        ["42"],
    ]


def test_missing_terms_are_reported_with_their_line(folder):
    (folder / "terms.tsv").write_text("seven\tदो लाख तीन सौ\n")
    arguments = ("--glossary", folder / "terms.tsv", "--max-length", 6, "--beam", 2, "--nbest", 2)
    _, errors = run(folder, *arguments, lines=["one", "seven"])
    assert "dhyan: stdin:2: lacks दो लाख तीन सौ\n" in errors
    first, second = rows(folder, *arguments, lines=["one", "seven"])
    assert "missing_terms" not in first
    assert any(item.get("missing_terms") == ["दो लाख तीन सौ"] for item in second["nbest"])


@pytest.mark.parametrize("search", [["--beam", 1], ["--sample"], ["--beam", 3]])
def test_json_has_no_nan_when_no_token_is_allowed(folder, search):
    arguments = [
        "--json",
        "--no-repeat-ngram",
        1,
        "--min-length",
        110,
        "--max-length",
        0,
        "--words",
        *search,
    ]
    out, errors = run(folder, *arguments)
    for line in out:
        row = json.loads(line, parse_constant=pytest.fail)
        assert row["finished"] == (not row["source"])
    assert "dhyan: stdin:1: stops where no token was allowed" in errors
    assert "cut off" not in errors
    assert (
        ": cut off at the length limit (--max-length)" in run(folder, "--max-length", 1, *search)[1]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
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
def test_contradictory_options_are_refused_even_without_input(folder, arguments, message):
    refused(folder, message, *arguments, lines=[])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--length-penalty", "nan"),
        ("--length-penalty", -1),
        ("--beam", 0),
        ("--beam", 1001),
        ("--top-p", 1.5),
        ("--temperature", 0),
        ("--max-length", -1),
    ],
)
def test_an_option_out_of_its_declared_bounds_is_refused(folder, option, value):
    invocation = invoke(folder, option, value, lines=[])
    assert invocation.exit_code == 2
    assert option in invocation.stderr
    assert not invocation.stdout


TABLES = {
    "csv": (
        'id,text,note\n1,"three, hundred","a ""b""\nc"\n2,,x\n3,seven,é\n',
        'id,text,note,translation\n1,"three, hundred","a ""b""\nc",{0}\n2,,x,\n3,seven,é,{2}\n',
    ),
    "tsv": (
        'id\ttext\n1\tthree, hundred\n\n3\tseven\n',
        'id\ttext\ttranslation\n1\tthree, hundred\t{0}\n\n3\tseven\t{2}\n',
    ),
    "jsonl": (
        '{"text": "three, hundred", "score": 1.50}\n\n{"id": null, "text": "seven" }\n',
        '{"text": "three, hundred", "score": 1.50, "translation": "{0}"}\n\n'
        '{"id": null, "text": "seven", "translation": "{2}"}\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("suffix", TABLES)
def test_a_column_of_a_table_is_translated(folder, tmp_path, suffix):
    """A new column, the other columns as they were, and the same rows."""
    translations, _ = run(folder, lines=["three, hundred", "", "seven"])
    text, expected = TABLES[suffix]
    for at, translation in enumerate(translations):
        expected = expected.replace(f"{{{at}}}", translation)
    file, output = tmp_path / f"table.{suffix}", tmp_path / f"out.{suffix}"
    file.write_text(text, encoding="utf-8")
    run(folder, file, "--columns", "text", "-o", output)
    assert output.read_text(encoding="utf-8") == expected
    invocation = invoke(folder, file, "--columns", "text")
    assert invocation.stdout == expected


def test_a_column_without_a_header_is_named_by_its_number(folder, tmp_path):
    (tmp_path / "a.tsv").write_text("1\tthree hundred\n2\tseven\n")
    expected, _ = run(folder, lines=["three hundred", "seven"])
    out, _ = run(folder, tmp_path / "a.tsv", "--columns", 2)
    assert out == [f"1\tthree hundred\t{expected[0]}", f"2\tseven\t{expected[1]}"]
    (tmp_path / "a.csv").write_text("id;text\n2;seven\n3;one\n")
    out, _ = run(folder, tmp_path / "a.csv", "--columns", 2)
    assert out[:2] == ["id;text;translation", f"2;seven;{expected[1]}"]


def test_a_column_is_read_with_header_and_delimiter(folder, tmp_path):
    expected, _ = run(folder, lines=["three hundred", "seven"])
    (tmp_path / "a.csv").write_text("1|three hundred\n2|seven\n")
    options = ("--columns", 2, "--header", "no", "--delimiter", "pipe")
    out, _ = run(folder, tmp_path / "a.csv", *options)
    assert out == [f"1|three hundred|{expected[0]}", f"2|seven|{expected[1]}"]
    (tmp_path / "a.tsv").write_text("a\tb\n2\tseven\n")
    out, _ = run(folder, tmp_path / "a.tsv", "--columns", 2, "--header", "yes")
    assert out == ["a\tb\ttranslation", f"2\tseven\t{expected[1]}"]


def test_a_row_that_fails_is_named_by_its_line(folder, tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,"one\n"\n2,' + "two " * 9 + "\n3,six\n")
    arguments = (tmp_path / "a.csv", "--columns", "text", "-o", tmp_path / "out.csv")
    _, errors, fault = failed(folder, *arguments, model="narrow")
    assert "a.csv:4: 9 tokens" in errors
    assert str(fault).startswith("1 of 3 lines")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[3].endswith("two ,")


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("a.csv", "id,text\n1,one\n", [], r"a\.csv: is a table; name the column .* of id, text"),
        ("a.jsonl", '{"text": "one"}\n', [], "is a table; name the column to translate of text"),
        ("a.csv", "id,text\n1,one\n", ["--columns", "txt"], r"a\.csv:1: .*did you mean text, or"),
        ("a.csv", "id,text\n1,one\n", ["--columns", "3"], "--columns 3, but there are 2 columns"),
        ("a.csv", "id,text\n1,one\n", ["--columns", "id,text"], "one column is translated"),
        ("a.csv", "id,text\n1,one\n1\n", ["--columns", "text"], r"a\.csv:3: the number of columns"),
        ("a.csv", 'id,text\n1,"one\n', ["--columns", "text"], r"a\.csv:2: broken quoting"),
        ("a.csv", "text,translation\none,x\n", ["--columns", "text"], "has a column translation"),
        ("a.jsonl", '{"text": 1}\n', ["--columns", "text"], r"a\.jsonl:1: text is 1, not a text"),
        ("a.jsonl", '{"a": "b"}\n', ["--columns", "text"], r"a\.jsonl:1: no key is called text"),
        ("a.en", "one\n", ["--columns", "text"], r"a\.en: is not a table; columns are those of"),
        ("a.en", "one\n", ["--header", "yes"], "--header and --delimiter are about a table; add --c"),
        ("a.csv", "id,text\n", ["--columns", "text", "--header", "no"], "text with --header no; with"),
        ("a.csv", "id,text\n1,one\n", ["--columns", "text", "--json"], "--json: a table gets one"),
        ("a.csv", "id,text\n1,one\n", ["--columns", "text", "--nbest", "2"], "--nbest: a table"),
    ],
)  # fmt: skip
def test_an_error_of_a_table_comes_before_the_model_is_loaded(
    folder, tmp_path, name, text, arguments, message
):
    (tmp_path / name).write_text(text, encoding="utf-8")
    refused(folder, message, tmp_path / name, *arguments, model="nowhere")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "\ufeffid,text\r\n1,one\r\n2,two\r\n"),
        ("a.csv", "\ufeffsep=;\r\nid;text\r\n1;one\r\n2;two\r\n"),
        ("a.tsv", "\ufeffid\ttext\r\n1\tone\r\n2\ttwo\r\n"),
        ("a.csv", "id;text\n1;one\n2;two\n"),
        ("a.jsonl", '\ufeff{"text": "one"}\r\n{"text": "two"}\r\n'),
    ],
)
def test_a_table_keeps_its_form(folder, tmp_path, name, content):
    file, output = tmp_path / name, tmp_path / f"out-{name}"
    file.write_bytes(content.encode())
    run(folder, file, "--columns", "text", "-o", output)
    written = output.read_bytes().decode()
    assert written.startswith("\ufeff") == content.startswith("\ufeff")
    assert written.count("\r\n") == content.count("\r\n")
    assert written.count("\n") == content.count("\n")
    assert ("sep=;" in written) == ("sep=;" in content)
    for line, before in zip(written.splitlines(), content.splitlines(), strict=True):
        assert line.startswith(before.removesuffix("}"))


def test_a_column_of_numbers_gives_a_warning(folder, tmp_path):
    (tmp_path / "a.csv").write_text("Id,text\n1,one\n2,two\n3b,\n")
    _, err = run(folder, tmp_path / "a.csv", "--columns", "Id")
    assert "2 of 3 cells of column Id have no letters" in err
    assert "name another of Id, text" in err
    _, err = run(folder, tmp_path / "a.csv", "--columns", "text")
    assert "no letters" not in err


def test_stdin_has_no_columns(folder):
    refused(folder, "--columns text: is a column of a table; name its FILE", "--columns", "text")
