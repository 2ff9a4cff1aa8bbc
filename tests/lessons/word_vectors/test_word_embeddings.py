"""Neighbours and analogies among vectors, and the lesson about them."""

import numpy as np
import pytest

from dhyan.errors import UserError
from dhyan.lessons.word_vectors.word_embeddings import word_embeddings as lesson
from dhyan.text.nearest_neighbours import analogy, cosine, mean_direction, neighbours
from dhyan.text.word_vectors import WordVectors

ROYAL = {  # royal, man, woman
    "king": (1, 1, 0),
    "queen": (1, 0, 1),
    "man": (0, 1, 0),
    "woman": (0, 0, 1),
    "prince": (0.8, 1, 0),
    "nobody": (0, 0, 0),
}


@pytest.fixture
def royal():
    table = np.array([*ROYAL.values()], np.float32)
    return WordVectors(tuple(ROYAL), table, frozenset())


def test_neighbours_are_ordered_by_their_cosine(royal):
    near = neighbours(royal, "king", count=3)
    assert [neighbour.word for neighbour in near] == ["prince", "man", "queen"]
    assert [neighbour.cosine for neighbour in near] == pytest.approx(
        [0.9939, 0.7071, 0.5], abs=1e-4
    )


def test_a_vector_may_be_scaled_and_its_neighbours_stay(royal):
    scaled = WordVectors(royal.words, royal.table * 7, frozenset())
    assert [neighbour.word for neighbour in neighbours(scaled, "king")] == [
        neighbour.word for neighbour in neighbours(royal, "king")
    ]


def test_king_minus_man_plus_woman_is_queen(royal):
    assert analogy(royal, "king", "man", "woman")[0].word == "queen"


def test_a_vector_of_zeros_is_near_nothing(royal):
    assert cosine(royal, "nobody", "king") == 0
    assert not np.isnan([neighbour.cosine for neighbour in neighbours(royal, "nobody")]).any()


def test_the_mean_is_the_normalised_sum(royal):
    mean = mean_direction(royal, ("man", "woman"))
    assert mean == pytest.approx(np.array([0, 0.5**0.5, 0.5**0.5]))


def test_an_unknown_word_names_the_nearest(royal):
    message = "the word 'kings' is not among the 6 known ones; did you mean 'king'"
    with pytest.raises(UserError, match=message):
        neighbours(royal, "kings")
    with pytest.raises(UserError, match="the word 'xyz' is not among the 6 known ones$"):
        analogy(royal, "king", "xyz", "man")
    with pytest.raises(UserError, match="count is 0; give a whole number from 1 on"):
        neighbours(royal, "king", count=0)


def test_vectors_of_a_file_are_used_and_the_file_is_named(tmp_path):
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in ROYAL.items()]
    (tmp_path / "royal.vec").write_text(f"{len(lines)} 3\n" + "\n".join(lines))
    (tmp_path / "text.txt").write_text("The King, the queen.\nA man and a woman\nprince nobody\n")
    result = lesson(
        "King",
        analogy="king man woman",
        corpus=str(tmp_path / "text.txt"),
        vectors=str(tmp_path / "royal.vec"),
    )
    assert result.source == "royal.vec"
    assert result.vocabulary_size == 6
    assert result.near[0][0].word == "prince"
    assert result.answers[0].word == "queen"
    assert result.compared_words == ("king", "prince", "man")
    assert result.cosines.diag().tolist() == pytest.approx([1, 1, 1])
    for lang in ("en", "hi"):
        assert "royal.vec" in result.text(lang)


def test_a_vector_file_alone_shows_its_most_frequent_words(tmp_path):
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in ROYAL.items()]
    path = tmp_path / "royal.vec"
    path.write_text(f"{len(lines) + 1} 3\n" + "\n".join(["Delhi 1 0 0", *lines]))
    result = lesson("Delhi king", analogy="king man woman", vectors=str(path))
    assert (result.vocabulary_size, result.words) == (7, ("Delhi", "king"))
    assert result.answers[0].word == "queen"
    few = lesson("King", analogy="king man queen", vectors=str(path), most=4, count=2)
    assert few.vocabulary_size == 4
    assert {neighbour.word for neighbour in few.near[0]} <= {"Delhi", "queen", "man"}
    with pytest.raises(UserError, match="the word 'woman' is not among the 4 known ones"):
        lesson("king", analogy="king man woman", vectors=str(path), most=4)


def test_own_data_need_no_analogy(tmp_path):
    path = tmp_path / "royal.vec"
    path.write_text("\n".join(f"{word} {' '.join(map(str, row))}" for word, row in ROYAL.items()))
    result = lesson("king", vectors=str(path))
    assert (result.analogy, result.answers) == ((), ())
    assert "−" not in " ".join(result.text().split()).partition("cosine similarities")[0]
    with pytest.raises(UserError, match="words: give the words whose neighbours you want"):
        lesson(vectors=str(path))


def test_vectors_are_learned_from_a_text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(["The ripe mango is sweet."] * 50 + ["A fast train was late."] * 50))
    result = lesson("mango", analogy="mango ripe fast", corpus=str(path), count=2)
    assert (result.source, result.vocabulary_size, result.nouns) == ("text.txt", 10, 0)
    assert len(result.near[0]) == 2


def test_rare_words_have_vectors_with_a_smaller_min_count(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(["The ripe mango is sweet."] * 50 + ["A fast train was late."] * 3))
    with pytest.raises(UserError, match="late"):
        lesson("late", corpus=str(path))
    assert lesson("late", corpus=str(path), min_count=3).vocabulary_size == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"analogy": "king man"}, "analogy: has 2 words; give three, as king man woman"),
        ({"count": 0}, "count is 0: give a whole number of at least 1"),
        ({"sentences": 0}, "sentences is 0; give a whole number from 1 on"),
        ({"words": "a", "corpus": "/nowhere/text.txt"}, "/nowhere/text.txt: "),
        (
            {"words": "a", "vectors": "/nowhere/glove.txt"},
            "/nowhere/glove.txt: there is no such file",
        ),
        (
            {"words": "a", "vectors": "glove.txt", "most": 1},
            "most is 1: give a whole number of at least 2",
        ),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(arguments, message):
    with pytest.raises(UserError, match=message):
        lesson(**arguments)


@pytest.mark.slow
def test_neighbours_of_primer_nouns_are_of_their_domain():
    result = lesson(sentences=20_000)
    assert result.same_domain > 2 * result.same_domain_by_chance
    assert "similar words have similar vectors" in " ".join(result.text().split())
