"""How good models are by length: real scores of held-out sentences, a few at a time."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dhyan.compare.test_sets import Sizes, primer_tests
from dhyan.errors import UserError
from dhyan.evaluation.metrics import count
from dhyan.studio import test_sentences as suited
from dhyan.studio.registry import Shelf
from dhyan.studio.routes import length
from tests.studio.small_models import ALL

EACH = 3


def events(answer):
    """Kinds and data of a stream."""
    for block in answer.text.strip().split("\n\n"):
        kind, data = block.split("\n", 1)
        yield kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def asked(client, **question):
    return list(events(client.post("/api/length", json={"each": EACH, **question})))


@pytest.fixture(scope="module")
def pool():
    return length.Pool()


@pytest.fixture(scope="module")
def told(models, pool):
    question = length.LengthQuestion(model="transformer", each=EACH)
    return list(length._measured(Shelf(models), pool, question))


def test_progress_counts_up_to_all_sentences_before_the_figures_come(told):
    done = [data["done"] for kind, data in told if kind == "some"]
    assert done == sorted(done)
    assert done[-1] == told[-1][1]["all"]["sentences"]
    assert [kind for kind, _ in told].count("done") == 1
    assert told[-1][0] == "done"


def test_groups_hold_the_sentences_of_their_lengths_and_longer_ones_than_training_had(told):
    figures = told[-1][1]
    assert figures["trained"] == ALL["data.max_words"]
    assert figures["parts"][-1]["least"] > figures["trained"]
    for part in figures["parts"]:
        assert part["sentences"] >= EACH - 1
        for one in part["worst"] + part["best"]:
            assert part["least"] <= len(one["source"].split()) <= part["most"]


def test_no_sentence_is_one_of_training(models, told):
    shown = {one["source"] for part in told[-1][1]["parts"] for one in part["worst"] + part["best"]}
    recipe = suited.recipe_of(Shelf(models).book("transformer"))
    assert shown
    assert not shown & set(Path(recipe.data.source).read_text().splitlines())


def test_the_score_is_sacrebleus_within_its_interval_and_signed(told):
    figures = told[-1][1]
    assert "bs:1000" in figures["signature"]
    assert "tok:intl" in figures["signature"]
    assert "eff:yes" in figures["sentence_signature"]
    for part in figures["parts"]:
        assert part["low"] <= part["value"] <= part["high"]


def test_what_is_shown_is_what_translating_the_sentence_says(client, told):
    shown = told[-1][1]["parts"][1]["best"][0]
    body = {"text": shown["source"], "model": "transformer", "beam": 1}
    whole = client.post("/api/translate", json=body).json()["translation"]
    assert shown["said"]
    assert whole.startswith(shown["said"])  # by length, one without end is cut off sooner


def test_figures_of_perfect_words_are_perfect_and_of_none_are_nought(told):
    asked = primer_tests(longest=12, sizes=Sizes(4, 0, 0), splits=()).sets[0].questions
    perfect = length._figures(asked, [one.target for one in asked], "hi", trained=8)
    silent = length._figures(asked, ["" for _ in asked], "hi", trained=8)
    assert perfect["all"]["value"] == pytest.approx(100)
    assert perfect["all"]["sentences"] == sum(
        perfect[which]["sentences"] for which in ("like", "beyond")
    )
    assert all(one["score"] == pytest.approx(100) for one in perfect["parts"][0]["worst"])
    assert silent["all"]["value"] == 0


def test_a_part_scores_what_counting_its_sentences_alone_gives():
    asked = primer_tests(longest=10, sizes=Sizes(4, 0, 0), splits=()).sets[0].questions
    said = [one.target if row % 2 else "हाथी घर जाता है।" for row, one in enumerate(asked)]
    first = length._figures(asked, said, "hi", trained=0)["parts"][0]
    rows = [row for row, one in enumerate(asked) if len(one.source.split()) <= first["most"]]
    alone = count(
        [said[row] for row in rows],
        [asked[row].target for row in rows],
        others=[asked[row].others for row in rows],
        language="hi",
        metrics=("bleu",),
    )
    assert first["value"] == pytest.approx(alone["bleu"].value())
    assert first["worst"][0]["score"] < first["best"][0]["score"]


def test_whoever_asks_a_model_meanwhile_need_not_wait_for_the_end(models):
    shelf, pool = Shelf(models), length.Pool()
    book = shelf.book("bahdanau")
    working = pool.translated(
        book, 1, ["The man runs."] + [f"The man sees {n} dogs." for n in "ab"]
    )
    next(working)
    next(working)
    assert not book.lock.locked()
    with book.opened() as translator:
        assert translator("The man runs.")


def test_nothing_more_is_translated_for_one_who_left(models, monkeypatch):
    monkeypatch.setattr(length, "AT_ONCE", 1)
    shelf, pool = Shelf(models), length.Pool()
    book = shelf.book("luong")
    working = pool.translated(book, 1, ["The man runs.", "The boy eats.", "The girl sings."])
    assert [next(working), next(working)] == [0, 1]
    working.close()
    again = pool.translated(book, 1, ["The man runs.", "The boy eats.", "The girl sings."])
    assert next(again) == 1


def test_what_was_measured_is_known_at_once(models, pool, told):
    question = length.LengthQuestion(model="transformer", each=EACH)
    again = list(length._measured(Shelf(models), pool, question))
    assert again == [told[-1]]


def test_a_model_that_is_not_there_and_numbers_that_do_not_fit_are_refused_in_words(client):
    [(kind, data)] = asked(client, model="nobody")
    assert kind == "error"
    assert "nobody" in data["message"]
    assert client.post("/api/length", json={"each": 100_000}).status_code == 400


def test_a_model_of_a_made_up_task_is_told_apart(models):
    recipe = suited.recipe_of(Shelf(models).book("luong"))
    toy = replace(recipe, data=replace(recipe.data, task="reverse"))
    with pytest.raises(UserError, match="reverse"):
        length._direction("toy", toy)


def test_how_long_sentences_of_training_were_is_read_from_its_text_where_no_recipe_says(
    models, tmp_path
):
    recipe = suited.recipe_of(Shelf(models).book("luong"))
    (tmp_path / "text").write_text("We sing.\nThe dog saw the cat.\n")
    (tmp_path / "packed").write_bytes(b"\x1f\x8b\xff")

    def of(**data):
        return suited.trained_to(replace(recipe, data=replace(recipe.data, **data)))

    assert of() == ALL["data.max_words"]
    assert of(max_words=0, source=str(tmp_path / "text")) == 5
    assert of(max_words=0, source=str(tmp_path / "packed")) == 0
    assert of(max_words=0, source=str(tmp_path / "gone")) == 0
    assert of(max_words=0, task="primer") == 60
    assert of(task="primer", source_language="hi", target_language="en") == 0


def test_words_are_as_few_as_the_models_know_and_the_recipes_of_the_primer_say(models, monkeypatch):
    shelf = Shelf(models[:1])
    assert suited.core_for(shelf) == min(suited.CORES)  # a small vocabulary
    recipe = suited.recipe_of(shelf.book("bottleneck"))
    primer = replace(recipe, data=replace(recipe.data, task="primer", core_share=0.4))
    monkeypatch.setattr(suited, "recipe_of", lambda book: primer)
    assert suited.core_for(shelf) == 0.4


def test_a_sentence_of_a_training_text_is_not_asked(models, monkeypatch):
    made = length.Pool().drawn((2, 5), EACH, core=0.15, backwards=False)
    monkeypatch.setattr(length, "learned", lambda shelf: {made[0].source})
    monkeypatch.setattr(length, "_groups", lambda: iter([(2, 5)]))
    question = length.LengthQuestion(model="luong", each=EACH)
    *_, (_, figures) = length._measured(Shelf(models), length.Pool(), question)
    assert figures["all"]["sentences"] == len(made) - 1
    assert suited.learned(Shelf(models))


def test_a_translation_without_end_is_cut_off_by_the_length_of_its_sentence(models):
    book = Shelf(models).book("luong")
    with book.opened() as translator:
        short, long = (length._limit(translator, "a " * size) for size in (9, 100))
    assert short == 2 * 10 + 10
    assert long == length.MOST_TOKENS
