"""The primer as files, and as the data of a recipe."""

import json

import pytest

from dhyan.config import load_recipe
from dhyan.data.corpus import load_corpus, with_languages
from dhyan.data.filters import MAX_REPEATS, distinct
from dhyan.data.primer import SPLITS, generate_sentences
from dhyan.data.primer.splits import write_primer
from dhyan.errors import UserError
from dhyan.evaluation.alignment_error_rate import check_gold, read_gold

SMALL = {"data.pairs": 60, "data.max_words": 9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("primer") / "out"
    counts = write_primer(out, pairs=40, tests=8, max_words=14)
    assert counts == {split: 40 if split == "train" else 8 for split in SPLITS}
    return out


@pytest.mark.parametrize("split", SPLITS)
def test_texts_and_alignments_match_line_by_line(split, folder):
    english, hindi = (
        (folder / f"{split}.{end}").read_text(encoding="utf-8").splitlines() for end in ("en", "hi")
    )
    gold = read_gold(folder / f"{split}.align")
    assert len(english) == len(hindi) == len(gold) == len(set(english))
    for links, source, target in zip(gold, english, hindi, strict=True):
        check_gold(links, source, target, folder / f"{split}.align")
    if split != "train":
        rows = [json.loads(line) for line in (folder / f"{split}.jsonl").open(encoding="utf-8")]
        assert [row["english"] for row in rows] == english
        assert all(len(row["hindi_heads"]) == len(row["hindi"].split()) for row in rows)


def test_the_options_are_saved_with_the_files(folder):
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    assert about["seed"] == 1
    assert about["max_words"] == 14
    assert not (folder / "train.jsonl").exists()


def test_an_existing_folder_and_reversed_bounds_are_refused(folder):
    with pytest.raises(UserError, match="is there already"):
        write_primer(folder, pairs=10**9)
    with pytest.raises(UserError, match="no sentence has 40 to 30 words"):
        write_primer(folder / "new", pairs=10**9, min_words=40, max_words=30)


def test_a_recipe_may_name_the_primer(folder):
    recipe = load_recipe("primer", SMALL)
    corpus = load_corpus(recipe)
    pairs = [*corpus.vocabulary_pairs(recipe)]
    assert len(pairs) == 60
    assert max(len(pair.source.split()) for pair in pairs) <= 9
    assert not {pair.source for pair in pairs} & {pair.source for pair in corpus.validation}
    data = with_languages(recipe).data
    assert (data.source_language, data.target_language) == ("en", "hi")


@pytest.mark.parametrize(
    "direction", [{"data.source_language": "hi"}, {"data.target_language": "en"}]
)
def test_the_direction_can_be_hindi_to_english(direction):
    forward, backward = load_recipe("primer", SMALL), load_recipe("primer", {**SMALL, **direction})
    first, second = (
        next(iter(load_corpus(recipe).vocabulary_pairs(recipe))) for recipe in (forward, backward)
    )
    assert (first.source, first.target) == (second.target, second.source)
    data = with_languages(backward).data
    assert (data.source_language, data.target_language) == ("hi", "en")


def test_a_smaller_core_has_fewer_words():
    def words(core):
        pairs = generate_sentences("train", max_words=10, core_share=core)
        return {
            word
            for pair, _ in zip(pairs, range(1500), strict=False)
            for word in pair.english.split()
        }

    assert len(words(0.1)) < 0.6 * len(words(1.0))
    with pytest.raises(UserError, match="core"):
        load_recipe("primer", {"data.core_share": 0.0})


def test_distinct_items_stop_after_many_repeats():
    assert list(distinct("abac", str, 5)) == ["a", "b", "c"]
    assert list(distinct("abac", str, 2)) == ["a", "b"]
    endless = (str(min(n, 3)) for n in range(10 * MAX_REPEATS))
    assert list(distinct(endless, str, 99)) == ["0", "1", "2", "3"]
    assert next(endless) == "3"  # it was not read to its end
