"""The trainer's arithmetic, and its sense of better."""

import itertools
from pathlib import Path

import pytest
import torch
from torch import nn

from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.kernels.reference import symmetric_kl
from dhyan.special_tokens import BOS, EOS
from dhyan.training.ema import WeightEMA
from dhyan.training.events import Saved, Stepped, Stopped, Validated
from dhyan.training.loss import Objective, cross_entropy, repeat_batch
from dhyan.training.resume import restore, training_tensors
from dhyan.training.schedule import Plateau, constant, inverse_sqrt
from dhyan.training.scheduled_sampling import linear
from dhyan.training.trainer import Trainer, TrainerSettings
from tests.laws.family import VOCABULARY, build


def test_padding_is_not_in_the_loss():
    labels = Tokens.pad([[5, 6, EOS], [7, EOS]])
    logits = torch.randn(2, 3, VOCABULARY)
    changed = logits.clone()
    changed[1, 2] += 100
    assert labels.count == 5
    loss = cross_entropy(logits, labels, smoothing=0.1)
    assert cross_entropy(changed, labels, smoothing=0.1) == loss


def test_smoothing_spreads_its_share_over_the_vocabulary():
    labels, logits = Tokens.pad([[5]]), torch.randn(1, 1, VOCABULARY)
    logprobs = logits[0, 0].log_softmax(-1)
    smoothed = torch.full((VOCABULARY,), 0.1 / VOCABULARY)
    smoothed[5] += 0.9
    loss = cross_entropy(logits, labels, smoothing=0.1)
    torch.testing.assert_close(loss, -(smoothed * logprobs).sum())


class Endless:
    """Batches that follow from their position."""

    def __init__(self, rows=4):
        self.rows = rows

    def at(self, position):
        generator = torch.Generator().manual_seed(position)
        words = torch.randint(4, VOCABULARY, (self.rows, 5), generator=generator).tolist()
        lengths = torch.randint(1, 6, (self.rows,), generator=generator).tolist()
        rows = [row[:n] for row, n in zip(words, lengths, strict=True)]
        source = Tokens.pad([[*row, EOS] for row in rows])
        target = Tokens.pad([[BOS, *row[::-1], EOS] for row in rows])
        return Batch(source, target), position + self.rows

    def epoch(self, position):
        return position // 100

    def example_ids(self, position):
        return list(range(position, position + self.rows))


class Joined(Endless):
    """The same examples, several batches in one."""

    def at(self, position):
        parts = [Endless().at(position + 4 * n)[0] for n in range(3)]
        stack = []
        for side in ("source", "target"):
            tokens = [getattr(part, side) for part in parts]
            rows = [r[m].tolist() for t in tokens for r, m in zip(t.ids, t.mask, strict=True)]
            stack.append(Tokens.pad(rows))
        return Batch(*stack), position + 12


def make_trainer(batches=None, scores=None, names=("gru", "luong-general"), **settings):
    torch.manual_seed(0)
    model = build(*names)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = settings.get("dropout", 0.0)
    settings.pop("dropout", None)
    decay = settings.pop("ema", 0.0)
    saved = []
    trainer = Trainer(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        batches=batches or Endless(),
        settings=TrainerSettings(
            **{"learning_rate": 1e-3, "schedule": constant(), "seed": 3, "report_every": 1}
            | settings
        ),
        device=torch.device("cpu"),
        validate=(lambda: next(scores)) if scores else None,
        ema=WeightEMA.start(model, decay) if decay else None,
        save=lambda trainer: saved.append(trainer.state.step) or Path(f"step-{saved[-1]}"),
    )
    return trainer, saved


def weights(trainer):
    return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])


def test_accumulated_batches_equal_a_larger_batch():
    apart, _ = make_trainer(gradient_accumulation=3)
    together, _ = make_trainer(batches=Joined())
    apart_events, together_events = list(apart.run(2)), list(together.run(2))
    torch.testing.assert_close(weights(apart), weights(together), atol=1e-6, rtol=1e-4)
    assert [e.tokens for e in apart_events if isinstance(e, Stepped)] == [
        e.tokens for e in together_events if isinstance(e, Stepped)
    ]


def test_a_resumed_run_ends_in_the_same_weights():
    uninterrupted, _ = make_trainer(dropout=0.3)
    list(uninterrupted.run(7))
    first, _ = make_trainer(dropout=0.3)
    list(first.run(4))
    second, _ = make_trainer(dropout=0.3)
    second.model.load_state_dict(first.model.state_dict())
    restore(second, training_tensors(first), vars(first.state))
    torch.rand(17)  # whatever else draws random numbers in between
    list(second.run(3))
    assert torch.equal(weights(uninterrupted), weights(second))
    assert second.state.position == uninterrupted.state.position


def test_dropout_changes_the_weights():
    still, _ = make_trainer(dropout=0.0)
    moving, _ = make_trainer(dropout=0.3)
    list(still.run(2)), list(moving.run(2))
    assert not torch.equal(weights(still), weights(moving))


def test_the_learning_rate_and_the_clip_reach_the_optimizer():
    trainer, _ = make_trainer(schedule=inverse_sqrt(warmup=2), clip_norm=1e-9)
    events = [e for e in trainer.run(4) if isinstance(e, Stepped)]
    rates = [e.learning_rate for e in events]
    assert rates == pytest.approx([5e-4, 1e-3, 8.165e-4, 7.071e-4], rel=1e-3)
    assert all(e.gradient_norm > 1e-3 for e in events)
    before = weights(trainer)
    trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=1.0)
    list(trainer.run(1))
    assert (weights(trainer) - before).norm() < 1e-8


def test_the_trainer_validates_saves_and_names_the_best():
    scores = iter([{"loss": 3.0}, {"loss": 2.0}, {"loss": 2.5}])
    trainer, saved = make_trainer(scores=scores, validate_every=2, save_every=100)
    events = [e for e in trainer.run(6) if not isinstance(e, Stepped)]
    assert [(e.step, e.best) for e in events if isinstance(e, Validated)] == [
        (2, True),
        (4, True),
        (6, False),
    ]
    assert saved == [2, 4, 6]
    assert trainer.state.best_step == 4
    assert [e.best for e in events if isinstance(e, Saved)] == [True, True, False]


@pytest.mark.parametrize(
    ("metric", "course"),
    [
        ("loss", [3.0, 2.0, 2.1, 2.2]),
        ("wer", [90.0, 10.0, 20.0, 10.0]),
        ("chrf", [1.0, 9.0, 8.0, 7.0]),
        ("span_f1", [1.0, 9.0, 8.0, 9.0]),
    ],
)
def test_early_stopping_after_patience_validations(metric, course):
    scores = iter([{"loss": 1.0, metric: value} for value in course])
    trainer, saved = make_trainer(
        scores=scores, validate_every=1, save_every=100, patience=2, early_stopping_metric=metric
    )
    events = list(trainer.run(100))
    assert isinstance(events[-1], Stopped)
    assert "step 2" in events[-1].reason
    assert trainer.state.step == 4
    assert saved[-1] == 4


def test_a_metric_without_a_known_direction_is_refused():
    with pytest.raises(
        ValueError, match="'perplexity': give one of loss, bleu, chrf, ter, accuracy"
    ):
        make_trainer(early_stopping_metric="perplexity")


def test_a_run_out_of_patience_does_not_continue_when_resumed():
    scores = iter([{"loss": 1.0}, {"loss": 2.0}, {"loss": 2.0}, {"loss": 0.0}])
    trainer, saved = make_trainer(scores=scores, validate_every=1, save_every=100, patience=2)
    list(trainer.run(100))
    again, saved = make_trainer(scores=scores, validate_every=1, save_every=100, patience=2)
    again.state = trainer.state
    assert [type(e) for e in again.run(97)] == [Stopped]
    assert again.state.step == 3
    assert saved == []


def test_divergence_is_an_error_and_never_saved():
    trainer, saved = make_trainer(learning_rate=float("inf"), save_every=2)
    with pytest.raises(UserError, match="diverged before step 2"):
        list(trainer.run(10))
    assert saved == []


def test_a_nan_score_is_never_the_best():
    scores = iter([{"loss": float("nan")}, {"loss": 3.0}])
    trainer, _ = make_trainer(scores=scores, validate_every=1, save_every=100)
    list(trainer.run(2))
    assert trainer.state.best_step == 2


def test_stop_saves_and_yields_stopped():
    trainer, saved = make_trainer(save_every=100)
    events = []
    for event in trainer.run(50):
        events.append(event)
        if event.step == 3:
            trainer.stop("asked to")
    assert isinstance(events[-1], Stopped)
    assert saved == [trainer.state.step]
    assert trainer.state.step <= 4


def test_a_stop_after_the_save_decision_still_saves(monkeypatch):
    trainer, saved = make_trainer(validate_every=2, save_every=100)
    save_due = trainer._save_due

    def save_due_then_signal():
        due = save_due()
        trainer.stop("a signal after it was decided not to save")
        return due

    monkeypatch.setattr(trainer, "_save_due", save_due_then_signal)
    events = list(trainer.run(50))
    assert saved == [trainer.state.step] == [2]
    assert isinstance(events[-1], Stopped)


def test_reports_add_up():
    trainer, _ = make_trainer(report_every=3, save_every=4)
    events = [e for e in trainer.run(10) if isinstance(e, Stepped)]
    assert [e.step for e in events] == [3, 4, 6, 8, 9, 10]
    tokens = sum(
        int(Endless().at(4 * n)[0].labels.mask.sum()) for n in itertools.islice(range(99), 10)
    )
    assert sum(e.tokens for e in events) == tokens


def test_bf16_trains():
    trainer, _ = make_trainer(objective=Objective(bf16=True))
    losses = [e.loss for e in trainer.run(30) if isinstance(e, Stepped)]
    assert losses[-1] < losses[0]
    assert all(p.dtype == torch.float32 for p in trainer.model.parameters())


def test_r_drop_equals_a_naive_computation():
    """The paper's formula, token by token and word by word, halved."""
    torch.manual_seed(0)
    model, batch = build("gru", "luong-general"), Endless().at(0)[0]
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.4
    torch.manual_seed(5)
    logits = model(repeat_batch(batch)).detach()
    torch.manual_seed(5)
    loss = Objective(smoothing=0.0, r_drop=3.0)(model, batch, 1)
    rows, total, divergence = len(batch.labels), 0.0, 0.0
    for row in range(rows):
        for position in range(int(batch.labels.lengths[row])):
            p, q = (logits[r, position].double().softmax(-1) for r in (row, row + rows))
            label = batch.labels.ids[row, position]
            total += -p[label].log() - q[label].log()
            divergence += (p * (p / q).log()).sum() + (q * (q / p).log()).sum()
    assert divergence > 0.1
    torch.testing.assert_close(loss.double(), (total + 3.0 * divergence / 2) / 2, rtol=1e-5, atol=0)


def test_without_dropout_r_drop_adds_nothing():
    model, batch = build("gru", "luong-general").eval(), Endless().at(0)[0]
    plain, twice = Objective()(model, batch, 1), Objective(r_drop=5.0)(model, batch, 1)
    torch.testing.assert_close(plain, twice)


def test_padding_is_not_in_the_divergence():
    real = Tokens.pad([[5, 6, EOS], [7, EOS]]).mask.flatten()
    first, second = torch.randn(2, 6, VOCABULARY)
    before = symmetric_kl(first, second, real)
    second[5] += torch.randn(VOCABULARY)
    assert symmetric_kl(first, second, real) == before > 0


def test_the_ema_is_a_weighted_sum_of_all_earlier_weights():
    trainer, _ = make_trainer(ema=0.6)
    course = [weights(trainer).double()]
    for _ in range(8):
        list(trainer.run(1))
        course.append(weights(trainer).double())
    expected = course[0]
    for step, now in enumerate(course[1:], start=1):
        decay = min(0.6, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * now
    average = torch.cat([w.flatten() for w in trainer.weights().values()]).double()
    torch.testing.assert_close(average, expected, atol=1e-6, rtol=1e-5)
    assert not torch.equal(average.float(), weights(trainer))


def test_the_ema_is_validated_and_the_weights_are_restored():
    validated = []
    trainer, _ = make_trainer(ema=0.9, validate_every=3)
    trainer.validate = lambda: validated.append(weights(trainer)) or {"loss": 1.0}
    same, _ = make_trainer()
    list(trainer.run(3)), list(same.run(3))
    average = torch.cat([w.flatten() for w in trainer.weights().values()])
    assert torch.equal(validated[0], average)
    assert torch.equal(weights(trainer), weights(same))


def test_a_plateau_reduces_the_rate_also_when_resumed():
    course = [{"loss": value} for value in (3.0, 3.5, 3.2, 3.1, 3.3, 2.0, 2.5)]
    settings = {"plateau": Plateau(factor=0.1, patience=2), "validate_every": 1}
    trainer, _ = make_trainer(scores=iter(course), **settings)
    rates = [e.learning_rate for e in trainer.run(5) if isinstance(e, Stepped)]
    again, _ = make_trainer(scores=iter(course[5:]), **settings)
    again.state = trainer.state
    rates += [e.learning_rate for e in again.run(2) if isinstance(e, Stepped)]
    assert rates == pytest.approx([1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-5])


def test_both_passes_of_r_drop_have_the_same_forced_tokens(monkeypatch):
    masks = []

    def record(model, batch, forced):
        masks.append(forced)
        return model(batch)

    monkeypatch.setattr("dhyan.training.scheduled_sampling.decode_stepwise", record)
    model, batch = build("gru", "luong-general"), Endless(rows=30).at(0)[0]
    Objective(r_drop=1.0, teacher_forcing_schedule=lambda step: 0.5)(model, batch, 1)
    first, second = masks[0].chunk(2)
    assert len(masks[0]) == 60
    assert torch.equal(first, second)
    assert 0.3 < first.float().mean() < 0.7


def two_parts(course, first, steps, **settings):
    """The trainer of a straight run, and one of a run that was extended after some steps."""
    uninterrupted, _ = make_trainer(scores=iter(course), **settings)
    rates = [[e.learning_rate for e in uninterrupted.run(steps) if isinstance(e, Stepped)], []]
    validations = 1 + first // settings["validate_every"]
    short, _ = make_trainer(scores=iter([*course[: validations - 1], {"loss": 0.5}]), **settings)
    rates[1] += [e.learning_rate for e in short.run(first) if isinstance(e, Stepped)]
    longer, _ = make_trainer(scores=iter(course[validations - 1 :]), **settings)
    longer.state = short.state
    rates[1] += [e.learning_rate for e in longer.run(steps - first) if isinstance(e, Stepped)]
    return uninterrupted, longer, rates


@pytest.mark.parametrize("end", [3, 5, 7])
def test_the_last_validation_of_an_extended_run_changes_nothing(end):
    course = [{"loss": value} for value in (3.0, 3.5, 2.9, 3.2, 3.1, 3.3)]
    settings = {"plateau": Plateau(factor=0.1, patience=1), "validate_every": 2}
    uninterrupted, longer, rates = two_parts(course, end, 12, **settings)
    assert rates[0] == rates[1]
    assert uninterrupted.state.validations_since_best == longer.state.validations_since_best
    assert uninterrupted.state.rate_reductions == longer.state.rate_reductions > 1
    assert longer.state.best_step == end, "what was best may yet be named"
    settings = {"patience": 3, "validate_every": 2}
    uninterrupted, longer, _ = two_parts(course, end, 100, **settings)
    assert uninterrupted.state.step == longer.state.step == 12


def test_a_resumed_run_with_every_option_ends_in_the_same_weights():
    objective = Objective(r_drop=1.0, teacher_forcing_schedule=linear(k=0.9, slope=0.1, least=0.2))
    options = {"objective": objective, "ema": 0.7, "dropout": 0.2, "gradient_accumulation": 2}
    uninterrupted, _ = make_trainer(**options)
    list(uninterrupted.run(6))
    first, second = make_trainer(**options)[0], make_trainer(**options)[0]
    list(first.run(4))
    with torch.no_grad():
        for name, weight in second.model.named_parameters():
            weight.copy_(first.weights()[name])
    restore(second, training_tensors(first), vars(first.state))
    torch.rand(5)
    list(second.run(2))
    assert torch.equal(weights(uninterrupted), weights(second))
    for name, weight in uninterrupted.weights().items():
        assert torch.equal(weight, second.weights()[name])
