"""The program of each test process: scenarios in which 1, 2 or 4 of them train one model.

Words: the store to meet at, the number of this process, how many there are, the folder for results.
"""

import hashlib
import json
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from torch import distributed

from dhyan.checkpoint import CheckpointWriteError, read_checkpoint
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.training import cuda_graph
from dhyan.training.data_parallel import DataParallel, bit_sum, whole
from dhyan.training.events import Stepped
from dhyan.training.gradients import TreeSum
from dhyan.training.resume import training_tensors
from tests.tiny_models import tiny_recipe, write_corpus
from tests.training.test_steps import Sized
from tests.training.test_trainer import make_trainer, weights
from tests.training.test_update import FakeRecorder, fused

SIZES = (1, 2, 4)
ELASTIC = ((2, 3), (1, 5), (4, 6), (2, 9))  # so many processes, up to a step
STEPS = ELASTIC[-1][1]
ALIKE = {
    "training.steps": STEPS,
    "training.validate_every": 4,
    "training.save_every": 100,
    "training.gradient_accumulation": 4,
    "training.tokens_per_batch": 120,
    "decoding.max_length": 8,
}
EXACT = {**ALIKE, "training.exact": True}
SINGLE_BATCH = {**ALIKE, "training.gradient_accumulation": 1, "training.tokens_per_batch": 480}
SHARDED = {**ALIKE, "training.shard_weights": True}


def main(store, rank, count, folder):
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", store=distributed.FileStore(store, count), rank=rank, world_size=count
    )
    groups = {size: distributed.new_group(list(range(size))) for size in SIZES}
    tests = Scenarios(rank, groups, Path(folder))
    for name in [name for name in vars(Scenarios) if name.startswith("check_")]:
        tests.results[name] = getattr(tests, name)()
        distributed.barrier()
    (tests.folder / f"{rank}.json").write_text(json.dumps(tests.results))
    distributed.destroy_process_group()


class Scenarios:
    """What is tried; each method returns this process's part of the result."""

    def __init__(self, rank, groups, folder):
        self.rank, self.groups, self.folder, self.results = rank, groups, folder, {}
        self.files = folder / "a.en", folder / "a.hi"
        if rank == 0:
            write_corpus(folder, pairs=250)
        distributed.barrier()

    def parallel(self, size):
        """The first so many processes; None if this is none of them."""
        return DataParallel(self.rank, size, self.groups[size]) if self.rank < size else None

    def recipe(self, settings, family="rnn"):
        return tiny_recipe(family, *self.files, **settings)

    def run(self, size, settings, out, family="rnn", steps=STEPS):
        """Train, or resume, up to a step; the sentences of each micro-batch of this process."""
        parallel, sentences = self.parallel(size), []
        if parallel:
            recipe = self.recipe({**settings, "training.steps": steps}, family)
            run = train(recipe, out, resume=any(out.glob("step-*")), threads=1, parallel=parallel)
            with recorded(run.trainer, sentences):
                for _ in run:
                    pass
        distributed.barrier()
        return sentences

    def final(self, out):
        """The hash of every file of the last checkpoint."""
        files = read_checkpoint(out / f"step-{STEPS}")
        return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}

    def check_exact(self):
        hashes = {}
        for family, more in {"rnn": {"training.ema_decay": 0.9}, "transformer": {}}.items():
            for size in SIZES:
                out = self.folder / f"exact-{family}-{size}"
                self.run(size, {**EXACT, **more}, out, family)
                hashes[f"{family} {size}"] = self.final(out)
        return hashes

    def check_exact_elastic(self):
        out = self.folder / "exact-elastic"
        for size, steps in ELASTIC:
            self.run(size, EXACT, out, "transformer", steps)
        return self.final(out)

    def check_order(self):
        orders = {}
        for name, settings in {"batches": ALIKE, "rows": SINGLE_BATCH}.items():
            for size in SIZES:
                out = self.folder / f"order-{name}-{size}"
                orders[f"{name} {size}"] = self.run(size, settings, out)
        return orders

    def check_order_elastic(self):
        orders = {}
        for name, settings in {"batches": ALIKE, "rows": SINGLE_BATCH}.items():
            out = self.folder / f"elastic-{name}"
            orders[name] = sum(
                (self.run(size, settings, out, steps=steps) for size, steps in ELASTIC), []
            )
        return orders

    def check_sharded(self):
        """Trained in two shards, then read by one, two and four processes."""
        out, read = self.folder / "sharded", {}
        settings = {**SHARDED, "training.ema_decay": 0.9}
        self.run(2, settings, out, "transformer")
        for size in SIZES:
            if parallel := self.parallel(size):
                recipe = self.recipe(settings, "transformer")
                run = train(recipe, out, resume=True, threads=1, parallel=parallel)
                run.close()
                tensors = {**run.trainer.weights(), **training_tensors(run.trainer)}
                tensors = [tensor for _, tensor in sorted(tensors.items())]
                is_part = [type(tensor).__name__ == "DTensor" for tensor in tensors]
                read[size] = [
                    bit_sum([whole(tensor.detach()) for tensor in tensors]),
                    sum(is_part),
                ]
            distributed.barrier()
        return read

    def check_sharded_like_whole(self):
        """Sharded or not, two processes learn the same, up to rounding."""
        weights = []
        for name, settings in {"whole": ALIKE, "sharded": SHARDED}.items():
            plain = {
                f"{side}.{name}": 0.0
                for side in ("encoder", "decoder")
                for name in ("dropout", "attention_dropout")
            }
            more = {"training.optimizer": "sgd", "training.learning_rate": 0.1}
            out = self.folder / f"alike-{name}"
            if parallel := self.parallel(2):
                recipe = self.recipe({**settings, **plain, **more}, "transformer")
                run = train(recipe, out, threads=1, parallel=parallel)
                list(run)
                values = run.trainer.weights().values()
                weights.append(torch.cat([whole(w.detach()).flatten() for w in values]))
            distributed.barrier()
        return float((weights[0] - weights[1]).abs().max()) if weights else 0.0

    def check_decisions(self):
        """What happens to one process, all of them decide alike."""
        outcomes = {}
        for name, disturb in DISTURBANCES.items():
            if parallel := self.parallel(2):
                settings = {**ALIKE, "training.save_every": 2}
                recipe = self.recipe({**settings, "training.validate_every": 100})
                run = train(recipe, self.folder / f"decide-{name}", threads=1, parallel=parallel)
                disturb(run.trainer, self.rank)
                kinds = []
                try:
                    for event in run:
                        if not isinstance(event, Stepped):
                            kinds.append([type(event).__name__, event.step])
                except (RuntimeError, UserError) as error:
                    kinds.append([type(error).__name__, str(error)])
                outcomes[name] = [kinds, run.trainer.state.step]
            distributed.barrier()
        return outcomes

    def check_refusals(self):
        """An error of the first process, and one that all find, is raised in all of them."""
        messages = []
        if parallel := self.parallel(4):
            for settings, out in (
                ({**EXACT, "training.gradient_accumulation": 3}, self.folder / "too-many"),
                (ALIKE, self.folder / "order-rows-1"),
            ):
                try:
                    train(self.recipe(settings), out, threads=1, parallel=parallel)
                except UserError as error:
                    messages.append(str(error))
        return messages

    def check_graphs(self):
        """Updates by CUDA graphs, which the CPU replays here, without and with a fixed order."""
        replaced = cuda_graph.GraphRecorder, cuda_graph.synchronization_is_an_error
        cuda_graph.GraphRecorder = FakeRecorder
        cuda_graph.synchronization_is_an_error = nullcontext
        ends = {}
        for exact in (False, True):
            for size in SIZES:
                if parallel := self.parallel(size):
                    options = {"ema": 0.9, "gradient_accumulation": 4, "exact": exact}
                    trainer = fused(make_trainer(batches=Sized(), dropout=0.2, **options)[0])
                    trainer.parallel, trainer.make_update = parallel, cuda_graph.CudaGraphUpdate
                    list(trainer.run(3))
                    ends[f"{exact} {size}"] = weights(trainer).tolist()
                distributed.barrier()
        cuda_graph.GraphRecorder, cuda_graph.synchronization_is_an_error = replaced
        return ends

    def check_tree(self):
        """Gradients of micro-batches added up by any number of processes, in the same order."""
        sums = {}
        for count in (1, 4, 5, 7, 12):
            leaves = torch.randn(count, 3, generator=torch.Generator().manual_seed(count)) * 1e3
            for size in SIZES:
                if count < size or not (parallel := self.parallel(size)):
                    continue
                weight = torch.nn.Parameter(torch.zeros(3))
                tree = TreeSum([weight], torch.device("cpu"), parallel, count)
                tree.clear()
                for leaf in parallel.block(count):
                    weight.grad += leaves[leaf]
                    tree.loss += leaf
                    tree.end_micro_batch()
                tree.end_step()
                sums[f"{count} {size}"] = [*weight.grad.tolist(), float(tree.loss)]
            distributed.barrier()
        return sums


@contextmanager
def recorded(trainer, sentences):
    """Note the sentences of every micro-batch: (step, number, the ids of its targets)."""
    make = trainer.make_update

    def make_update(context):
        update = make(context)

        def record(micro_batches, *, tokens, step, rate):
            for part in micro_batches:
                target = part.batch.target
                rows = [
                    ids[mask].tolist() for ids, mask in zip(target.ids, target.mask, strict=True)
                ]
                sentences.append([step, part.path[0], rows])
            return update(micro_batches, tokens=tokens, step=step, rate=rate)

        class Recording:
            exchanged = update.exchanged
            release_memory = update.release_memory
            __call__ = staticmethod(record)

        return Recording()

    trainer.make_update = make_update
    yield


def objective(trainer, change):
    """Change the loss of a trainer at its third step."""
    before = trainer.settings.objective

    def changed(model, batch, step):
        loss = before(model, batch, step)
        return change(loss) if step == 3 else loss

    trainer.settings = replace(trainer.settings, objective=Changed(changed))


class Changed:
    """A changed objective."""

    def __init__(self, call):
        self.call = call

    def __call__(self, model, batch, step):
        return self.call(model, batch, step)


def stop_second(trainer, rank):
    if rank == 1:
        objective(trainer, lambda loss: trainer.stop("enough") or loss)


def nan_in_second(trainer, rank):
    if rank == 1:
        objective(trainer, lambda loss: loss * float("nan"))


def no_memory_in_second(trainer, rank):
    times = []

    def fail_once(loss):
        times.append(1)
        if len(times) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return loss

    if rank == 1:
        objective(trainer, fail_once)


def other_weight_in_second(trainer, rank):
    def change(loss):
        with torch.no_grad():
            next(trainer.model.parameters()).flatten()[0] += 1e-3
        return loss

    if rank == 1:
        objective(trainer, change)


def disk_full(trainer, rank):
    save = trainer.save
    folder = save.__self__

    def full(*arguments, **named):
        raise CheckpointWriteError("disk full")

    def failing(saved):
        if saved.state.step != 4:
            return save(saved)
        object.__setattr__(folder, "_save", full)
        try:
            return save(saved)
        finally:
            object.__delattr__(folder, "_save")

    if rank == 0:
        trainer.save = failing


DISTURBANCES = {
    "stop": stop_second,
    "nan": nan_in_second,
    "memory": no_memory_in_second,
    "weight": other_weight_in_second,
    "disk": disk_full,
}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
