"""What holds for every model."""

import torch

from dhyan.attention import Attention
from dhyan.attention_maps import watch
from dhyan.batch import Batch, Tokens
from dhyan.checkpoint import tensors_from_bytes, tensors_to_bytes
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.run.load import load_weights, weights_of
from dhyan.training.loss import cross_entropy
from tests.laws.family import build

CLOSE = {"atol": 1e-5, "rtol": 1e-4}


def test_a_token_at_a_time_equals_all_at_once(model, batch):
    with torch.no_grad():
        together = model(batch)
        state, apart = model.start(batch.source), []
        for ids in batch.inputs.ids.unbind(1):
            logits, state = model.step(ids, state)
            apart.append(logits)
    torch.testing.assert_close(torch.stack(apart, 1), together, **CLOSE)


def test_padding_changes_nothing(model, batch):
    with torch.no_grad():
        together = model(batch)
        for row in range(len(batch.source)):
            index = torch.tensor([row])
            source, target = batch.source.select(index), batch.target.select(index)
            alone = model(Batch(source[: int(source.lengths)], target[: int(target.lengths)]))
            torch.testing.assert_close(alone[0], together[row, : alone.shape[1]], **CLOSE)


def test_the_future_is_hidden(model, batch):
    ids = batch.target.ids.clone()
    ids[:, 3:] = 7
    with torch.no_grad():
        changed = model(Batch(batch.source, Tokens(ids, batch.target.mask)))
        original = model(batch)
    assert torch.equal(changed[:, :3], original[:, :3])
    assert not torch.equal(changed[:, 3:], original[:, 3:])


def test_the_output_depends_on_the_source(model, batch):
    ids = batch.source.ids.clone()
    ids[:, 0] = (ids[:, 0] - 4 + 1) % 10 + 4
    with torch.no_grad():
        changed = model(Batch(Tokens(ids, batch.source.mask), batch.target))
        assert not torch.allclose(changed, model(batch))


def test_selecting_rows_and_stepping_commute(model, batch):
    rows = torch.tensor([2, 0, 0, 1, 3])
    first, second = batch.inputs.ids[:, 0], batch.labels.ids[:, 0]
    with torch.no_grad():
        _, state = model.step(first, model.start(batch.source))
        stepped_first, _ = model.step(second, state)
        selected_first, _ = model.step(second[rows], state.select(rows))
    torch.testing.assert_close(selected_first, stepped_first[rows], **CLOSE)


def test_a_beam_of_one_is_greedy(model, batch):
    for power in (0.0, 1.0):
        greedy = greedy_search(model, batch.source, max_length=9, length_penalty=power)
        beam = beam_search(model, batch.source, beam=1, max_length=9, length_penalty=power)
        assert [h.ids for h in greedy] == [best.ids for [best] in beam]
        for hypothesis, [best] in zip(greedy, beam, strict=True):
            assert abs(hypothesis.score - best.score) < 1e-4
            assert hypothesis.finished == best.finished


def test_a_translation_does_not_depend_on_its_batch(model, batch):
    with torch.no_grad():  # a model with opinions: one without has ties in the last digit
        getattr(model.decoder, "decoder", model.decoder).output.weight.mul_(10)
    limits = batch.source.lengths + 3
    together = beam_search(model, batch.source, beam=3, max_length=limits, length_penalty=1.0)
    for row, beam in enumerate(together):
        index = torch.tensor([row])
        source = batch.source.select(index)
        [alone] = beam_search(
            model,
            source[: int(source.lengths)],
            beam=3,
            max_length=limits[index],
            length_penalty=1.0,
        )
        assert [h.ids for h in alone] == [h.ids for h in beam]


def test_watch_records_every_attention_and_changes_no_output(model, batch, request):
    _, name = request.node.callspec.params["model"]
    with torch.no_grad():
        before = model(batch)
        with watch(model) as recorder:
            watched = model(batch)
        after = model(batch)
    torch.testing.assert_close(watched, before, **CLOSE)
    assert torch.equal(after, before)
    recorded = recorder.weights()
    names = [name for name, part in model.named_modules() if isinstance(part, Attention)]
    assert sorted(attention.name for attention in recorded) == sorted(names)
    source, target = batch.source.ids.shape[1], batch.inputs.ids.shape[1]
    shapes = {
        "encoder_self": (source, source),
        "decoder_self": (target, target),
        "cross": (target, source),
    }
    for attention in recorded:
        assert attention.weights.shape[0] == len(batch.source)
        assert attention.weights.shape[2:] == shapes[attention.role]
        total = attention.weights.sum(-1)
        assert (total <= 1 + 1e-5).all()
        if "predicted" not in name:
            torch.testing.assert_close(total, torch.ones_like(total))


def test_every_weight_learns(model, batch):
    model.train()
    cross_entropy(model(batch), batch.labels, smoothing=0.1).backward()
    moved = {n: p.grad for n, p in model.named_parameters()}
    assert not [n for n, g in moved.items() if g is None or g.abs().max() <= 1e-12]


def test_saving_and_loading_changes_nothing(model, batch, request):
    torch.manual_seed(99)
    other = build(*request.node.callspec.params["model"]).eval()
    saved = tensors_from_bytes(tensors_to_bytes(weights_of(model)))
    with torch.no_grad():
        assert not torch.equal(other(batch), model(batch))
        load_weights(other, saved)
        assert torch.equal(other(batch), model(batch))


def test_half_precision_is_nearly_the_same(model, batch):
    with torch.no_grad():
        exact = model(batch)
        with torch.autocast("cpu", torch.bfloat16):
            half = model(batch)
    assert half.isfinite().all()
    assert (half.float() - exact).abs().max() < 0.15


def test_weights_in_half_precision_are_nearly_the_same(model, batch):
    with torch.no_grad():
        exact = model(batch)
        half = model.bfloat16()(batch)
    assert half.isfinite().all()
    assert (half.float() - exact).abs().max() < 0.2


def test_double_precision_is_nearly_the_same(model, batch):
    with torch.no_grad():
        exact = model(batch)
        torch.testing.assert_close(model.double()(batch).float(), exact, atol=1e-4, rtol=1e-3)


def test_watch_step_by_step_equals_watch_at_once(model, batch):
    with torch.no_grad():
        with watch(model) as together:
            model(batch)
        with watch(model) as apart:
            state = model.start(batch.source)
            for ids in batch.inputs.ids.unbind(1):
                _, state = model.step(ids, state)
    for expected, stepwise in zip(together.weights(), apart.weights(), strict=True):
        assert (expected.name, expected.role, expected.layer) == (
            stepwise.name,
            stepwise.role,
            stepwise.layer,
        )
        torch.testing.assert_close(stepwise.weights, expected.weights, **CLOSE)
