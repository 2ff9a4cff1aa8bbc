"""Translation with the engine and with the reference search."""

from functools import partial

import torch

from benchmarks.speed.translation_peers import Comparison, Setting, Workload, matching_share
from dhyan.batch import Tokens
from dhyan.config import Recipe
from dhyan.decoding.engine import Engine, engine_for
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.kernels.backend import reference_kernels
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import EOS

MATCHING_TOKENS = 0.98  # ties in probability may be resolved either way


def model_without_eos(recipe: Recipe, vocabulary: int, device: str) -> Seq2Seq:
    """A model with random weights that never generates the end of sentence."""
    torch.manual_seed(1)
    model = build_model(recipe, vocabulary, vocabulary).to(device).eval()
    with torch.no_grad():
        model.decoder.output.bias[EOS] = -1e4
    return model


def reference_search(model: Seq2Seq, workload: Workload) -> list[tuple[int, ...]]:
    """Greedy or beam search with reference kernels."""
    mask = torch.ones_like(workload.ids, dtype=torch.bool)
    source, length = Tokens(workload.ids, mask), workload.length
    with reference_kernels():
        if workload.beam == 1:
            return [
                hypothesis.ids for hypothesis in greedy_search(model, source, max_length=length)
            ]
        outputs = beam_search(model, source, beam=workload.beam, max_length=length)
    return [hypotheses[0].ids for hypotheses in outputs]


def engine_search(engine: Engine, workload: Workload) -> list[tuple[int, ...]]:
    """Greedy or beam search with the engine."""
    limits = [workload.length] * len(workload.rows)
    outputs = engine.translate(workload.rows, beam=workload.beam, max_lengths=limits, nbest=1)
    return [hypotheses[0].ids for hypotheses in outputs]


def measure_engine(comparison: Comparison, model: Seq2Seq) -> None:
    """Time the engine, after comparing its outputs with the reference search."""
    widths = sorted({setting.beam for setting in comparison.settings})
    for width in widths if comparison.effort.checks else ():
        with comparison.table.trying(f"check, beam {width}"):
            few = comparison.workload(Setting(16, width))
            exact = engine_search(Engine(model, torch.float32), few)
            share = matching_share(exact, reference_search(model, few))
            verdict = {"matching tokens, fp32": share, "right": share > MATCHING_TOKENS}
            name = f"beam {width}: engine equals reference search"
            comparison.table.check(name, verdict)
    engine = engine_for(model)
    comparison.measure("dhyan", partial(engine_search, engine), _dtype(engine.model))


def measure_reference_search(comparison: Comparison, model: Seq2Seq) -> None:
    """Time the reference search, which is slow."""
    if comparison.effort.checks:
        comparison.measure(
            "dhyan, reference kernels", partial(reference_search, model), _dtype(model), slow=True
        )


def _dtype(model: Seq2Seq) -> str:
    return str(next(model.parameters()).dtype).removeprefix("torch.")
