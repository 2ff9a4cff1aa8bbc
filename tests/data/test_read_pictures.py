"""Folders of pictures: tables of captions, texts beside pictures, and nothing outside."""

import itertools
import json
from pathlib import Path

import pytest

from dhyan.config import load_recipe
from dhyan.data.corpus import load_corpus
from dhyan.data.filters import MAX_CHARACTERS
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.errors import UserError
from dhyan.safe_io.data_uri import MAX_URI_CHARACTERS
from dhyan.text.image_frames import data_uri
from tests.picture_models import PICTURES, picture

ROWS = {"a.png": "one", "sub/b.png": "two words", "c.jpg": "तीन"}


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "pictures"
    (root / "sub").mkdir(parents=True)
    for name in ROWS:
        picture().save(root / name)
    return root


def pairs_of(folder, **options):
    return {pair.source: pair.target for pair in read_pairs(folder, **options)}


def expected(folder):
    return {str(folder / name): text for name, text in ROWS.items()}


def table(rows, separator="\t"):
    return "".join(f"{name}{separator}{text}\n" for name, text in rows)


@pytest.mark.parametrize(
    "header", [None, ("image", "caption"), ("file", "text"), ("File_Name", "Label")]
)
@pytest.mark.parametrize(("suffix", "separator"), [("tsv", "\t"), ("csv", ",")])
def test_a_table_of_captions_is_read(folder, header, suffix, separator):
    rows = [*([header] if header else []), *ROWS.items()]
    (folder / f"captions.{suffix}").write_text(table(rows, separator), encoding="utf-8")
    options = {"header": "no"} if suffix == "csv" and not header else {}
    assert pairs_of(folder, **options) == expected(folder)


def test_the_place_of_a_folder_does_not_matter_to_its_fingerprint(folder, monkeypatch):
    (folder / "captions.tsv").write_text(table(ROWS.items()), encoding="utf-8")

    def fingerprint(path):
        report = ReadReport()
        list(read_pairs(path, report=report))
        return report.fingerprint

    first = fingerprint(folder)
    monkeypatch.chdir(folder.parent)
    assert fingerprint(Path("pictures")) == first
    moved = folder.rename(folder.parent / "moved")
    assert fingerprint(moved) == first
    (moved / "captions.tsv").write_text(table({**ROWS, "c.jpg": "other"}.items()), "utf-8")
    assert fingerprint(moved) != first


def test_columns_may_come_in_any_order_among_others(folder):
    rows = [("id", "text", "image"), *((1, text, name) for name, text in ROWS.items())]
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (folder / "captions.tsv").write_text(text, encoding="utf-8")
    assert pairs_of(folder) == expected(folder)


def test_columns_are_named_by_the_caller(folder):
    rows = [("was", "wo"), *((text, name) for name, text in ROWS.items())]
    (folder / "captions.tsv").write_text(table(rows), encoding="utf-8")
    assert pairs_of(folder, columns=("wo", "was")) == expected(folder)


def test_captions_as_json_lines(folder):
    lines = (json.dumps({"n": 1, "image": name, "text": text}) for name, text in ROWS.items())
    (folder / "captions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert pairs_of(folder) == expected(folder)


def test_texts_beside_pictures_are_read_in_the_order_of_names(folder):
    (folder / "c.txt").write_text("तीन\n", encoding="utf-8")
    (folder / "a.txt").write_text(" one \nline\n", encoding="utf-8")
    (folder / "b.png").write_bytes((folder / "a.png").read_bytes())
    report = ReadReport()
    pairs = list(read_pairs(folder, report=report))
    assert [(pair.source, pair.target) for pair in pairs] == [
        (str(folder / "a.png"), "one line"),
        (str(folder / "c.jpg"), "तीन"),
    ]
    assert report.dropped["picture without a text"].count == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../outside.png", "not in the folder"),
        ("sub/../../outside.png", "not in the folder"),
        ("..\\outside.png", "not in the folder"),
        ("/etc/passwd", "not in the folder"),
        ("C:\\a.png", "not in the folder"),
        ("link.png", "a link out of the folder"),
        ("links/outside.png", "a link out of the folder"),
        ("none.png", "there is no file none.png"),
        ("sub", "there is no file sub"),
    ],
)
def test_what_is_not_a_file_of_the_folder_is_an_error_of_its_line(folder, name, message):
    outside = folder.parent / "outside.png"
    picture().save(outside)
    (folder / "link.png").symlink_to(outside)
    (folder / "links").symlink_to(folder.parent)
    rows = [("image", "text"), ("a.png", "x"), (name, "y")]
    (folder / "captions.tsv").write_text(table(rows), encoding="utf-8")
    with pytest.raises(UserError, match="captions.tsv:3: ") as error:
        pairs_of(folder)
    assert message in str(error.value)


def test_a_folder_of_something_else_is_an_error(tmp_path):
    with pytest.raises(UserError, match="without pictures"):
        pairs_of(tmp_path)
    (tmp_path / "captions.tsv").write_text("a\tb\n")
    (tmp_path / "captions.csv").write_text("a,b\n")
    with pytest.raises(UserError, match=r"captions.tsv and captions.csv; keep one"):
        pairs_of(tmp_path)


def test_a_picture_in_the_table_itself_has_a_limit_of_its_own(tmp_path):
    def write(uri):
        (tmp_path / "a.tsv").write_text(f"{uri}\ta text\n")
        return tmp_path / "a.tsv"

    long = data_uri(picture()) + "A" * MAX_CHARACTERS
    assert pairs_of(write(long)) == {long: "a text"}
    with pytest.raises(UserError, match="no usable pair"):
        pairs_of(write("data:" + "A" * MAX_URI_CHARACTERS))
    with pytest.raises(UserError, match="source of more than 10,000 characters"):
        pairs_of(write("A" * (MAX_CHARACTERS + 1)))


@pytest.mark.parametrize("codec", PICTURES)
def test_a_recipe_trains_on_a_folder(folder, codec):
    rows = [("image", "text"), *itertools.islice(itertools.cycle(ROWS.items()), 9)]
    (folder / "captions.tsv").write_text(table(rows), encoding="utf-8")
    recipe = load_recipe(
        "numbers", {"data.synthetic": "", "data.source": str(folder), **PICTURES[codec]}
    )
    corpus = load_corpus(recipe)
    source, target = corpus.make_codecs(recipe)
    examples = corpus.encode(source, target, 256)
    assert len(examples) == 9
    assert examples.source.values.dtype == "uint8"
    assert corpus.training_sentences() is None


@pytest.mark.parametrize("name", ["min_words", "max_words", "unescape"])
def test_settings_of_words_are_refused_for_pictures(folder, name):
    recipe = {**PICTURES["columns"], f"data.{name}": 1 if name != "unescape" else True}
    with pytest.raises(UserError, match=f"data.{name}.*are pictures"):
        load_recipe("numbers", {"data.synthetic": "", "data.source": str(folder), **recipe}).check()
