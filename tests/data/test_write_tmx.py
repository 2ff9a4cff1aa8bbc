"""Translation memories (TMX 1.4) that are written: valid by the DTD, and read back as they were."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.data.read_report import ReadReport
from dhyan.data.read_tmx import read_tmx
from dhyan.data.write_tmx import TMXWriter
from dhyan.errors import UserError
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES
from tests import tiny_models

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
REQUIRED = {  # attributes, by the DTD of TMX 1.4
    "tmx": {"version"},
    "header": {
        *("creationtool", "creationtoolversion", "segtype", "o-tmf"),
        *("adminlang", "srclang", "datatype"),
    },
    "tuv": {XML_LANG},
}
CHILDREN = {  # content models, for the elements that are written
    "tmx": [["header", "body"]], "header": [[]], "tu": [["tuv", "tuv"]], "tuv": [["seg"]], "seg": [[]],
}  # fmt: skip
PAIRS = [
    ("Salt & <pepper>", 'नमक और "काली मिर्च"'),
    ("]]> isn't the end", "क़लम \u200d और काग़ज़"),
    ("An emoji 👩\u200d🚀", "एक ॐ।"),
]


def check_valid(text):
    """The rules of the DTD, for all elements."""
    assert text.startswith(
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    )
    root = ElementTree.fromstring(text)
    assert root.tag == "tmx"
    assert root.get("version") == "1.4"
    for element in root.iter():
        names = [child.tag for child in element]
        assert REQUIRED.get(element.tag, set()) <= set(element.keys())
        assert element.tag == "body" or names in CHILDREN[element.tag]
        assert element.tag != "body" or set(names) <= {"tu"}
    assert root.find("header").get("segtype") in {"block", "paragraph", "sentence", "phrase"}


def written(pairs, folder, **settings):
    writer = TMXWriter("en", "hi", **{"paragraphs": False, **settings})
    path = folder / "memory.tmx"
    path.write_text("".join(writer.file(pairs)), encoding="utf-8")
    return path


def read(path):
    report = ReadReport()
    return [(source, target) for _, source, target in read_tmx(path, None, report)]


def test_what_is_written_is_valid_and_read_back_the_same(tmp_path):
    path = written(PAIRS, tmp_path)
    check_valid(path.read_text())
    assert read(path) == PAIRS


TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1
).filter(lambda text: text == text.strip() and text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_any_text_comes_back(tmp_path_factory, pairs):
    path = written(pairs, tmp_path_factory.mktemp("tmx"))
    check_valid(path.read_text())
    assert read(path) == pairs


def test_what_xml_cannot_hold_is_replaced_and_a_blank_side_is_no_unit(tmp_path):
    path = written([("a\x00b\x1bc\ufffe", "क"), ("", "ख"), ("d", " ")], tmp_path)
    check_valid(path.read_text())
    assert read(path) == [("a\ufffdb\ufffdc\ufffd", "क")]


@pytest.mark.parametrize("languages", [("", "hi"), ("en", ""), ("hi", "hi")])
def test_a_model_without_two_languages_is_refused(languages):
    with pytest.raises(UserError, match="a .tmx names two languages"):
        TMXWriter(*languages, paragraphs=False)


def test_translate_writes_a_memory_that_evaluate_and_training_read(tmp_path):
    sentences = EVERYDAY_SENTENCES[:4]
    (tmp_path / "in.txt").write_text("\n".join([sentences[0], "", *sentences[1:]]) + "\n")
    made = tiny_models.dhyan("translate", "en-hi", "in.txt", "-o", "out.tmx", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    check_valid((tmp_path / "out.tmx").read_text())
    plain = tiny_models.dhyan("translate", "en-hi", "in.txt", cwd=tmp_path)
    translations = [line for line in plain.stdout.decode().splitlines() if line]
    assert read(tmp_path / "out.tmx") == list(zip(sentences, translations, strict=True))
    scored = tiny_models.dhyan(
        "evaluate", "en-hi", "--source", "out.tmx", "--metrics", "exact", cwd=tmp_path
    )
    assert b"100.0" in scored.stdout


def test_options_that_a_memory_has_no_place_for_are_refused(tmp_path):
    (tmp_path / "in.txt").write_text("The house is small.\n")
    result = tiny_models.dhyan(
        "translate", "en-hi", "in.txt", "-o", "out.tmx", "--nbest", "2", cwd=tmp_path
    )
    assert result.returncode == 2
    assert b"a .tmx holds sources and translations alone; leave out --nbest" in result.stderr
    assert not (tmp_path / "out.tmx").exists()
