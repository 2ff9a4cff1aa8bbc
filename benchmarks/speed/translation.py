"""Our translation: the engine and the plain search, measured alike."""

from functools import partial

import torch

from benchmarks.speed.translation_peers import Comparison, Setting, Workload, same
from dhyan.batch import Tokens
from dhyan.config import Recipe
from dhyan.decoding.engine import Engine, engine_for
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.kernels.backend import reference_kernels
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import EOS

SHARE = 0.98  # of the words; where two are equally likely to all digits, either may be said


def endless(recipe: Recipe, vocabulary: int, device: str) -> Seq2Seq:
    """A model with fresh weights that never says the end."""
    torch.manual_seed(1)
    model = build_model(recipe, vocabulary, vocabulary).to(device).eval()
    with torch.no_grad():
        model.decoder.output.bias[EOS] = -1e4
    return model


def plain_search(model: Seq2Seq, workload: Workload) -> list[tuple[int, ...]]:
    """Our search by its definition."""
    mask = torch.ones_like(workload.ids, dtype=torch.bool)
    source, length = Tokens(workload.ids, mask), workload.length
    with reference_kernels():
        if workload.beam == 1:
            return [one.ids for one in greedy_search(model, source, max_length=length)]
        outputs = beam_search(model, source, beam=workload.beam, max_length=length)
    return [own[0].ids for own in outputs]


def engine_search(engine: Engine, workload: Workload) -> list[tuple[int, ...]]:
    """Our search by the engine."""
    limits = [workload.length] * len(workload.rows)
    outputs = engine.translate(workload.rows, beam=workload.beam, max_lengths=limits, nbest=1)
    return [own[0].ids for own in outputs]


def ours(comparison: Comparison, model: Seq2Seq) -> None:
    """Our engine, if it says what the plain search says."""
    widths = sorted({setting.beam for setting in comparison.settings})
    for width in widths if comparison.effort.checks else ():
        with comparison.table.trying(f"check, beam {width}"):
            few = comparison.workload(Setting(16, width))
            exact = engine_search(Engine(model, torch.float32), few)
            share = same(exact, plain_search(model, few))
            verdict = {"words in common, fp32": share, "right": share > SHARE}
            name = f"beam {width}: engine equals plain search"
            comparison.table.check(name, verdict)
    engine = engine_for(model)
    comparison.measure("dhyan", partial(engine_search, engine), _kind(engine.model))


def ours_plain(comparison: Comparison, model: Seq2Seq) -> None:
    """Our plain search, which is slow."""
    if comparison.effort.checks:
        comparison.measure("dhyan, plain", partial(plain_search, model), _kind(model), slow=True)


def _kind(model: Seq2Seq) -> str:
    return str(next(model.parameters()).dtype).removeprefix("torch.")
