"""Cross-attention is self-attention with the other sentence's keys and values."""

import pytest
import torch

from dhyan.attention import MultiHeadAttention
from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.cross_attention import cross_attention

X = [[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [1.0, 1.0]]
Y = [[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]]


def rows(found):
    return [[round(one, 3) for one in row] for row in found.tolist()]


def ask(**given):
    return cross_attention(
        "a b c d", target="p q r", source_vectors=X, target_vectors=Y, steps=1, **given
    )


def test_we_are_friends_looks_at_itself_and_across():
    found = cross_attention(steps=1)
    assert found.source == ("we", "are", "friends")
    assert found.target == ("हम", "दोस्त", "हैं")
    assert rows(found.self_weights) == [
        [0.707, 0.07, 0.223],
        [0.083, 0.834, 0.083],
        [0.144, 0.045, 0.811],
    ]
    assert rows(found.cross_weights) == [
        [0.707, 0.223, 0.07],
        [0.083, 0.083, 0.834],
        [0.144, 0.811, 0.045],
    ]


def test_each_word_looks_most_at_the_word_it_translates():
    assert cross_attention(steps=1).cross_weights.argmax(-1).tolist() == [0, 2, 1]
    pizza = cross_attention("I like eating pizza", steps=1)
    assert pizza.cross_weights.shape == (5, 4)
    assert pizza.cross_weights.argmax(-1).tolist() == [0, 3, 2, 1, 1]


def test_rows_of_both_tables_sum_to_one():
    found = ask()
    for weights in (found.self_weights, found.cross_weights):
        assert torch.allclose(weights.sum(-1), torch.ones(3, dtype=torch.float64))


def test_an_output_that_is_its_own_input_attends_across_as_within():
    found = cross_attention("a b c", target="a b c", source_vectors=Y, target_vectors=Y, steps=1)
    assert torch.equal(found.self_weights, found.cross_weights)
    assert torch.equal(found.self_outputs, found.cross_outputs)


def test_permuting_the_input_permutes_the_weights_and_leaves_the_outputs():
    order = [2, 0, 3, 1]
    found = ask()
    other = cross_attention(
        "c a d b",
        target="p q r",
        source_vectors=[X[place] for place in order],
        target_vectors=Y,
        steps=1,
    )
    assert torch.allclose(other.cross_weights, found.cross_weights[:, order])
    assert torch.allclose(other.cross_outputs, found.cross_outputs)
    assert torch.equal(other.self_weights, found.self_weights)


def test_multi_head_attention_with_output_queries_gives_the_same():
    maps = [torch.randn(2, 2, dtype=torch.float64) for _ in range(3)]
    found = ask(w_query=maps[0], w_key=maps[1], w_value=maps[2])
    module = MultiHeadAttention(2, heads=1).double()
    with torch.no_grad():
        for part, weight in zip((module.query, module.key, module.value), maps, strict=True):
            part.weight.copy_(weight.T)
            part.bias.zero_()
        module.output.weight.copy_(torch.eye(2))
        module.output.bias.zero_()
    for states, wanted in ((X, found.cross_outputs), (Y, found.self_outputs)):
        known = torch.tensor([states], dtype=torch.float64)
        memory = module.remember(known, torch.ones(known.shape[:2], dtype=torch.bool))
        asked = torch.tensor([Y], dtype=torch.float64)
        assert torch.allclose(module(asked, memory).context[0], wanted)


@pytest.mark.slow
@pytest.mark.parametrize("sentence", ["we are friends", "I like eating pizza"])
def test_the_next_word_depends_on_the_prefix_and_the_source(sentence):
    heard = []
    found = cross_attention(sentence, on_progress=heard.append).following
    assert found.right == len(found.asked)
    assert sum(one.other for one in found.asked) >= 2
    assert heard[0].startswith("step 20, loss")
    for one in found.asked:
        if one.other:
            twin = next(two for two in found.asked if two.prefix == one.prefix)
            assert twin.source != one.source
            assert twin.wanted != one.wanted


def test_the_story_counts_what_an_untrained_model_gets_wrong():
    found = cross_attention(steps=1)
    assert found.following.right < len(found.following.asked)
    assert "more steps may find" in found.text()
    assert "और चरणों" in found.text("hi")


def test_handwritten_vectors_are_described_as_such():
    shown = cross_attention(steps=1)
    assert "written by hand" in " ".join(shown.text().split())
    assert "हाथ से लिखे गए" in " ".join(shown.text("hi").split())
    assert "written by hand" not in " ".join(ask().text().split())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cross_attention("good night"), "target: what does 'good night' become"),
        (
            lambda: cross_attention("good night", target="शुभ रात्रि"),
            "source_vectors: give a row of numbers",
        ),
        (
            lambda: cross_attention(target="हम हैं"),
            "target_vectors: has 3 rows, but the words of 'हम हैं' are 2",
        ),
        (lambda: ask(w_query=[[1.0], [0.0]]), "w_query and w_key must be equally wide"),
        (lambda: cross_attention(steps=0), "steps is 0: give a whole number of at least 1"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(call, message):
    with pytest.raises(UserError, match=message):
        call()
