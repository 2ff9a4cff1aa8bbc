"""The parts of a step of translating, against their definitions."""

from dataclasses import fields

import pytest
import torch

from dhyan.kernels.backend import reference_kernels
from dhyan.kernels.triton.decode import attention as attending
from dhyan.kernels.triton.decode.next_token import choose_beams, choose_greedily, followed_back
from dhyan.kernels.triton.decode.residual_stream import (
    Linear,
    Norm,
    Told,
    arrive,
    depart,
    embed,
    join,
    normalised,
    off_road,
    on_road,
)
from dhyan.kernels.triton.decode.search_state import BeamBoard, GreedyBoard
from dhyan.special_tokens import EOS

CPU = torch.device("cpu")
KINDS = [torch.float32, torch.float16]  # Triton's interpreter has no products in bfloat16


def defined(function, *given, **how):
    """The definition, in single precision, on copies."""
    with reference_kernels():
        return function(*map(single, given), **{name: single(one) for name, one in how.items()})


def single(one):
    if isinstance(one, Norm):
        return Norm(one.gain.float(), one.shift.float(), one.epsilon)
    if isinstance(one, torch.Tensor):
        return one.float() if one.is_floating_point() else one.clone()
    return one


def close(kernel, exact, kind):
    scale = exact.abs().max().clamp(min=1)
    assert not kernel.isnan().any()
    assert (kernel.float() - exact).abs().max() <= scale * (1e-5 if kind == torch.float32 else 2e-2)


def norm_of(width):
    return Norm(torch.rand(width) + 0.5, torch.randn(width), 1e-5)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    ("sentences", "beam", "heads", "groups", "width", "room"),
    [(1, 1, 1, 1, 1, 8), (3, 1, 4, 2, 5, 40), (2, 3, 2, 2, 8, 70), (2, 2, 3, 1, 7, 300)],
)
def test_a_new_word_looks_at_the_past_of_its_row(sentences, beam, heads, groups, width, room, kind):
    rows = sentences * beam
    joined = torch.randn(rows, (heads + 2 * groups) * width).to(kind)
    keys, values = torch.randn(2, rows + 1, groups, room, width).to(kind)
    places = torch.tensor([0, room - 1, 37][:sentences], dtype=torch.int32)
    origins = None
    if beam > 1:
        origins = torch.randint(beam, (2, sentences, beam, room), dtype=torch.int8)
    caches = keys.float(), values.float()
    how = {"heads": heads, "scale": 0.7}
    with reference_kernels():
        exact = attending.past_attention(joined.float(), *caches, places, origins, **how)
    found = attending.past_attention(joined, keys, values, places, origins, **how)
    close(found, exact, kind)
    assert torch.equal(keys.float(), caches[0])
    assert torch.equal(values.float(), caches[1])


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    ("queries", "heads", "groups", "width", "room"),
    [(1, 2, 2, 8, 6), (1, 2, 1, 5, 70), (5, 3, 3, 7, 33), (17, 2, 1, 16, 70), (67, 1, 1, 4, 67)],
)
def test_the_rows_of_a_sentence_look_at_its_source(queries, heads, groups, width, room, kind):
    query = torch.randn(3, queries, heads, width).to(kind)
    memory = torch.randn(3, room, 2 * groups, width).to(kind)
    keys, values = memory.transpose(1, 2).split(groups, dim=1)
    lengths = torch.tensor([1, 0, room], dtype=torch.int32)
    exact = defined(attending.source_attention, query, keys, values, lengths, scale=0.5)
    found = attending.source_attention(query, keys, values, lengths, scale=0.5)
    close(found, exact, kind)
    assert not found[1].any()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("width", [1, 17, 64])
def test_words_and_places_become_vectors(width, kind):
    table, positions = torch.randn(9, width).to(kind), torch.randn(5, width)
    words = torch.tensor([8, 0, 3, 3], dtype=torch.int32)
    places = torch.tensor([4, 0], dtype=torch.int32)
    for norm in (None, norm_of(width)):
        given = (words, places, table, positions, norm)
        exact = defined(embed, *given, scale=3.0)
        for part, wanted in zip(embed(*given, scale=3.0), exact, strict=True):
            close(part, wanted, kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("post", [False, True])
@pytest.mark.parametrize("width", [2, 17, 64])
def test_what_a_step_found_joins_the_road(width, post, kind):
    road, norm = torch.randn(3, width), norm_of(width)
    found, bias = torch.randn(3, width).to(kind), torch.randn(width).to(kind)
    wanted = road.clone()
    with reference_kernels():
        exact = join(wanted, found.float(), bias.float(), norm, post=post)
    close(join(road, found, bias, norm, post=post), exact, kind)
    close(road, wanted, torch.float32)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("bend", ["none", "relu", "gelu"])
@pytest.mark.parametrize(
    ("rows", "width", "outputs"), [(1, 16, 3), (2, 67, 19), (3, 16, 5), (7, 67, 40), (33, 40, 70)]
)
def test_products_lead_off_the_road_and_onto_it(rows, width, outputs, bend, kind):
    """Onto the road, off it by a norm, back to it, and off again."""
    table, positions = torch.randn(9, width).to(kind), torch.randn(4, width)
    words, places = torch.randint(9, (rows,)).int(), torch.randint(4, (rows,)).int()
    enter, leave = way(width, outputs, kind), way(outputs, width, kind)
    plain = Norm(torch.ones(width), torch.zeros(width), 1e-5)

    def through():
        told = Told.of(rows, table)
        road, _ = embed(words, places, table, positions, None, scale=3.0, told=told)
        found = off_road(road, enter, plain, told, bend=bend)
        on_road(road, found, leave, told)
        return found, road, off_road(road, enter, plain, told, exact=True)

    with reference_kernels():
        assert Told.of(rows, table) is None
        exact = through()
    for part, wanted in zip(through(), exact, strict=True):
        close(part, wanted.float(), kind)


def test_a_norm_with_gain_and_shift_leads_off_the_road():
    road, norm, leave = torch.randn(2, 40), norm_of(40), way(40, 19, torch.float32)
    with reference_kernels():
        exact = off_road(road, leave, norm, None)
        entering = normalised(road, norm, like=leave.weight)
    close(off_road(road, leave, norm, None), exact, torch.float32)
    close(normalised(road, norm, like=leave.weight), entering, torch.float32)


def test_a_source_is_kept_at_its_places():
    known, slots = torch.randn(3, 37, 2 * 2 * 3 * 5), torch.tensor([4, 0, 2])
    ours, theirs = torch.zeros(2, 2, 2, 5, 3, 40, 5)
    attending.keep(known, slots, ours)
    with reference_kernels():
        attending.keep(known, slots, theirs)
    assert torch.equal(ours, theirs)
    assert torch.equal(ours[1, 0, 4, 2, :37], known[0, :, 40:45])


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_the_road_goes_on_as_a_norm_makes_it(rows, kind):
    road, found, before = torch.randn(rows, 40), torch.randn(rows, 19).to(kind), norm_of(40)
    leave = way(19, 40, kind)
    with reference_kernels():
        exact = on_road(road, found.float(), leave_in(leave, torch.float32), None, before)
        entered = off_road(road, leave_in(way(40, 7, kind), torch.float32), None, None)
    kept = road.clone()
    close(on_road(road, found, leave, None, before), exact, kind)
    assert torch.equal(road, kept)
    assert entered.shape == (rows, 7)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("post", [False, True])
@pytest.mark.parametrize(("rows", "width", "outputs"), [(3, 16, 5), (17, 67, 40), (33, 40, 70)])
def test_the_last_block_of_a_product_makes_the_norm(rows, width, outputs, post, kind):
    """Twice over: who counts the blocks begins at nothing again."""
    road, leave, norm = torch.randn(rows, outputs), way(width, outputs, kind), norm_of(outputs)
    arrivals, ours, theirs = torch.zeros(4, dtype=torch.int32), road.clone(), road.clone()
    for _ in range(2):
        found = torch.randn(rows, width).to(kind)
        entering = arrive(ours, found, leave, norm, arrivals, post=post)
        with reference_kernels():
            single_way = leave_in(leave, torch.float32)
            exact = arrive(theirs, found.float(), single_way, norm, arrivals, post=post)
        assert entering.dtype == kind
        close(entering, exact, kind)
        close(ours, theirs, kind)
    assert not arrivals.any()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_product_whose_weights_are_read_ahead(kind):
    entering, enter = torch.randn(17, 67).to(kind), way(67, 40, kind)
    with reference_kernels():
        exact = depart(entering.float(), leave_in(enter, torch.float32))
    close(depart(entering, enter), exact, kind)


def leave_in(one, kind):
    return Linear(one.weight.to(kind), one.bias.to(kind), one.across)


def way(inputs, outputs, kind):
    weight = (torch.randn(outputs, inputs) / inputs**0.5).to(kind)
    return Linear(weight, torch.randn(outputs).to(kind), weight.float().sum(dim=1))


def grown(choose, boards, rows, vocabulary, steps):
    """Let the definition and the kernel see the same logits, step by step."""
    defined, kernel = boards
    for step in range(steps):
        logits = torch.randn(rows, vocabulary) * 3
        logits[:, EOS] += step - 1.0
        with reference_kernels():
            choose(defined, logits)
        choose(kernel, logits)
        yield


@pytest.mark.parametrize("vocabulary", [4, 37, 5000])
def test_the_likeliest_words_are_said(vocabulary):
    boards = [GreedyBoard.empty(5, 9, CPU) for _ in range(2)]
    for board in boards:
        board.seat(torch.tensor([0, 1, 3, 4]), torch.tensor([8, 1, 3, 8], dtype=torch.int32))
    for _ in grown(choose_greedily, boards, 5, vocabulary, 6):
        for part in fields(GreedyBoard):
            ours, theirs = (getattr(board, part.name) for board in boards)
            assert torch.allclose(ours.float(), theirs.float(), atol=1e-4), part.name


@pytest.mark.parametrize(("width", "vocabulary"), [(2, 5), (3, 37), (5, 4200)])
def test_beams_grow_and_end(width, vocabulary):
    boards = [BeamBoard.empty(3, width, 12, CPU) for _ in range(2)]
    for board in boards:
        board.by_length(0.8)
        board.seat(torch.tensor([0, 2]), torch.tensor([11, 4], dtype=torch.int32))
    for _ in grown(choose_beams, boards, 3 * width, vocabulary, 6):
        ours, theirs = boards
        for part in fields(BeamBoard):
            one, other = (getattr(board, part.name) for board in boards)
            if part.name in ("ended_length", "ended_parent"):
                no_end = ours.ended_score.isneginf()
                one, other = one.masked_fill(no_end, 0), other.masked_fill(no_end, 0)
            assert torch.allclose(one.float(), other.float(), atol=1e-4), part.name


def test_hypotheses_are_followed_back_to_their_first_words():
    board = BeamBoard.empty(4, 3, 9, CPU)
    board.said.copy_(torch.randint(4, 99, board.said.shape))
    board.grew_from.copy_(torch.randint(3, board.said.shape))
    slots = torch.tensor([3, 0])
    lengths = torch.tensor([[7, 0], [1, 4]], dtype=torch.int32)
    last = torch.tensor([[2, 1], [0, 2]], dtype=torch.int32)
    with reference_kernels():
        exact = followed_back(board, slots, lengths, last, longest=7)
    found = followed_back(board, slots, lengths, last, longest=7)
    assert torch.equal(found, exact)
    at = 2
    for place in range(6, -1, -1):
        assert found[0, 0, place] == board.said[3, place, at]
        at = board.grew_from[3, place, at]
    assert not found[0, 1].any()


def test_rows_without_numbers_end_at_minus_infinity():
    logits = torch.full((2, 8), torch.nan)
    logits[1] = torch.inf
    greedy, beams = GreedyBoard.empty(2, 4, CPU), BeamBoard.empty(1, 2, 4, CPU)
    for board, choose in ((greedy, choose_greedily), (beams, choose_beams)):
        slots = torch.arange(len(board.places))
        board.seat(slots, torch.full_like(slots, 3).int())
        choose(board, logits)
        assert not board.live.any()
        assert board.score.isneginf().all()
    assert not greedy.said[:, 1].any()
