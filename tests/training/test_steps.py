"""Steps shared among many processes: every sentence once, nobody idle, checked for 128 of them."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore

from dhyan.batch import Batch
from dhyan.data.batches import Batches
from dhyan.data.store import Examples, TokenSequences
from dhyan.special_tokens import BOS, EOS
from dhyan.training.data_parallel import DataParallel
from dhyan.training.events import Stepped
from dhyan.training.steps import MicroBatch, Steps, split_rows
from tests.training.test_trainer import Endless, make_trainer

MANY = 128


def numbered_batches(count, tokens_per_batch=60):
    """Examples whose only target token is their number."""
    numbers = np.arange(count, dtype=np.int32) + 4
    lengths = np.random.default_rng(0).integers(2, 12, count)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    target = np.stack([np.full(count, BOS, np.int32), numbers, np.full(count, EOS, np.int32)], 1)
    examples = Examples(
        TokenSequences(np.full(starts[-1], EOS, np.int32), starts),
        TokenSequences(target.flatten(), np.arange(0, 3 * count + 1, 3)),
    )
    return Batches(examples, tokens_per_batch=tokens_per_batch, seed=3)


def numbers(batch: Batch):
    return (batch.target.ids[:, 1] - 4).tolist()


@pytest.mark.parametrize("per_step", [256, 130, 16])
def test_128_processes_compute_every_sentence_once_and_none_is_idle(per_step):
    batches = numbered_batches(3_000)
    everyone = [Steps(batches, per_step, DataParallel(rank, MANY)) for rank in range(MANY)]
    alone, position, seen = Steps(batches, per_step), 0, list[int]()
    while position < batches.size:
        expected = alone.at(position)
        shares = [steps.at(position) for steps in everyone]
        assert {share.next_position for share in shares} == {expected.next_position}
        assert {share.tokens for share in shares} == {expected.tokens}
        sizes = Counter(len(share.micro_batches) for share in shares)
        assert max(sizes) <= everyone[0].most_of_a_process
        assert max(sizes) - min(sizes) <= 1
        parts = [part for share in shares for part in share.micro_batches]
        assert [part.path for part in parts] == sorted(part.path for part in parts)
        of_step = [number for part in parts for number in numbers(part.batch)]
        assert of_step == [n for part in expected.micro_batches for n in numbers(part.batch)]
        seen += of_step
        position = expected.next_position
    first_epoch = seen[: batches.size]
    assert sorted(first_epoch) == list(range(batches.size))


def test_the_size_of_a_batch_is_known_without_it():
    batches, position = numbered_batches(500), 0
    for _ in range(40):
        batch, following = batches.at(position)
        assert batches.size_at(position) == (batch.labels.count, following)
        position = following


def test_a_batch_is_split_into_almost_equal_parts_none_of_them_empty():
    batch, _ = Endless(rows=7).at(0)
    assert [len(part.source) for part in split_rows(batch, 3)] == [3, 2, 2]
    assert [len(part.source) for part in split_rows(batch, 9)] == [1] * 7
    halves = list(MicroBatch(batch, (5,)).halves())
    assert [half.path for half in halves] == [(5, 0), (5, 1)]


class Sized(Endless):
    def size_at(self, position):
        batch, following = self.at(position)
        return batch.labels.count, following


@pytest.mark.parametrize("rank", [0, 77, MANY - 1])
def test_a_process_of_128_trains_on_the_fake_backend(rank):
    """PyTorch's fake backend exchanges nothing: each process gets its own values back."""
    distributed.init_process_group("fake", rank=rank, world_size=MANY, store=FakeStore())
    try:
        trainer, saved = make_trainer(batches=Sized(), gradient_accumulation=MANY)
        trainer.parallel = DataParallel(distributed.get_rank(), distributed.get_world_size())
        events = [event for event in trainer.run(2) if isinstance(event, Stepped)]
    finally:
        distributed.destroy_process_group()
    alone, _ = make_trainer(batches=Sized(), gradient_accumulation=MANY)
    whole = [event for event in alone.run(2) if isinstance(event, Stepped)]
    assert [event.tokens for event in events] == [event.tokens for event in whole]
    assert trainer.state.position == alone.state.position == 2 * 4 * MANY
    assert saved == [2]
    assert all(torch.isfinite(weight).all() for weight in trainer.model.parameters())
