"""Cross-attention is self-attention with the other sentence's keys and values."""

import pytest
import torch

from dhyan.attention import MultiHeadAttention
from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.cross_attention import cross_attention

X = [[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [1.0, 1.0]]
Y = [[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]]


def rows(matrix):
    return [[round(value, 3) for value in row] for row in matrix.tolist()]


def attend_across(**arguments):
    return cross_attention(
        "a b c d", target="p q r", source_vectors=X, target_vectors=Y, steps=1, **arguments
    )


def test_weights_of_we_are_friends():
    result = cross_attention(steps=1)
    assert result.source == ("we", "are", "friends")
    assert result.target == ("हम", "दोस्त", "हैं")
    assert rows(result.self_weights) == [
        [0.707, 0.07, 0.223],
        [0.083, 0.834, 0.083],
        [0.144, 0.045, 0.811],
    ]
    assert rows(result.cross_weights) == [
        [0.707, 0.223, 0.07],
        [0.083, 0.083, 0.834],
        [0.144, 0.811, 0.045],
    ]


def test_each_word_attends_most_to_its_translation():
    assert cross_attention(steps=1).cross_weights.argmax(-1).tolist() == [0, 2, 1]
    pizza = cross_attention("I like eating pizza", steps=1)
    assert pizza.cross_weights.shape == (5, 4)
    assert pizza.cross_weights.argmax(-1).tolist() == [0, 3, 2, 1, 1]


def test_rows_of_both_tables_sum_to_1():
    result = attend_across()
    for weights in (result.self_weights, result.cross_weights):
        assert torch.allclose(weights.sum(-1), torch.ones(3, dtype=torch.float64))


def test_with_equal_input_and_output_cross_attention_is_self_attention():
    result = cross_attention("a b c", target="a b c", source_vectors=Y, target_vectors=Y, steps=1)
    assert torch.equal(result.self_weights, result.cross_weights)
    assert torch.equal(result.self_outputs, result.cross_outputs)


def test_permuting_the_input_permutes_the_weights_and_leaves_the_outputs():
    order = [2, 0, 3, 1]
    result = attend_across()
    other = cross_attention(
        "c a d b",
        target="p q r",
        source_vectors=[X[index] for index in order],
        target_vectors=Y,
        steps=1,
    )
    assert torch.allclose(other.cross_weights, result.cross_weights[:, order])
    assert torch.allclose(other.cross_outputs, result.cross_outputs)
    assert torch.equal(other.self_weights, result.self_weights)


def test_multi_head_attention_with_output_queries_gives_the_same():
    maps = [torch.randn(2, 2, dtype=torch.float64) for _ in range(3)]
    result = attend_across(w_query=maps[0], w_key=maps[1], w_value=maps[2])
    module = MultiHeadAttention(2, heads=1).double()
    with torch.no_grad():
        for part, weight in zip((module.query, module.key, module.value), maps, strict=True):
            part.weight.copy_(weight.T)
            part.bias.zero_()
        module.output.weight.copy_(torch.eye(2))
        module.output.bias.zero_()
    for states, expected in ((X, result.cross_outputs), (Y, result.self_outputs)):
        keys = torch.tensor([states], dtype=torch.float64)
        memory = module.remember(keys, torch.ones(keys.shape[:2], dtype=torch.bool))
        queries = torch.tensor([Y], dtype=torch.float64)
        assert torch.allclose(module(queries, memory).context[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize("sentence", ["we are friends", "I like eating pizza"])
def test_the_next_word_depends_on_the_prefix_and_the_source(sentence):
    lines = []
    predicted = cross_attention(sentence, on_progress=lines.append).next_words
    assert predicted.right == len(predicted.questions)
    assert sum(question.other for question in predicted.questions) >= 2
    assert lines[0].startswith("step 20, loss")
    for question in predicted.questions:
        if question.other:
            other = next(
                candidate
                for candidate in predicted.questions
                if candidate.prefix == question.prefix
            )
            assert other.source != question.source
            assert other.expected != question.expected


def test_the_page_counts_the_errors_of_an_untrained_model():
    result = cross_attention(steps=1)
    assert result.next_words.right < len(result.next_words.questions)
    assert "more steps may improve" in result.text()
    assert "अधिक चरणों" in result.text("hi")


def test_handwritten_vectors_are_described_as_such():
    result = cross_attention(steps=1)
    assert "written by hand" in " ".join(result.text().split())
    assert "हाथ से लिखे गए" in " ".join(result.text("hi").split())
    assert "written by hand" not in " ".join(attend_across().text().split())


def test_another_pair_has_random_vectors_as_wide_as_those_given():
    result = cross_attention("good night", target="शुभ रात्रि", steps=1)
    assert result.seeded.argument == "source_vectors and target_vectors"
    assert not result.by_hand
    half = cross_attention(
        "good night", target="शुभ रात्रि", source_vectors=[[1, 0, 0], [0, 1, 0]], steps=1
    )
    assert half.target_vectors.shape == (2, 3)
    assert half.seeded.argument == "target_vectors"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cross_attention("good night"), "target: what does 'good night' become"),
        (
            lambda: cross_attention(target="हम हैं"),
            "target_vectors: has 3 rows, but the words of 'हम हैं' are 2",
        ),
        (lambda: attend_across(w_query=[[1.0], [0.0]]), "w_query and w_key must be equally wide"),
        (lambda: cross_attention(steps=0), "steps is 0: give a whole number of at least 1"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(call, message):
    with pytest.raises(UserError, match=message):
        call()
