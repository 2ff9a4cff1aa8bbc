"""Our translation: the engine and the plain search, as contestants."""

from functools import partial

import torch

from benchmarks.speed.translation_peers import Asked, Contest, Setting, same
from dhyan.batch import Tokens
from dhyan.config import Recipe
from dhyan.decoding.engine import Engine, engine_for
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.kernels.backend import by_definition
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


def plain_search(model: Seq2Seq, asked: Asked) -> list[tuple[int, ...]]:
    """Our search by its definition."""
    source, length = Tokens(asked.ids, torch.ones_like(asked.ids, dtype=torch.bool)), asked.length
    with by_definition():
        if asked.beam == 1:
            return [one.ids for one in greedy_search(model, source, max_length=length)]
        found = beam_search(model, source, beam=asked.beam, max_length=length)
    return [own[0].ids for own in found]


def engine_search(engine: Engine, asked: Asked) -> list[tuple[int, ...]]:
    """Our search by the engine."""
    limits = [asked.length] * len(asked.rows)
    found = engine.translate(asked.rows, width=asked.beam, limits=limits, count=1)
    return [own[0].ids for own in found]


def ours(contest: Contest, model: Seq2Seq) -> None:
    """Our engine, if it says what the plain search says."""
    widths = sorted({setting.beam for setting in contest.settings})
    for width in widths if contest.effort.checks else ():
        with contest.table.trying(f"check, beam {width}"):
            few = contest.asked(Setting(16, width))
            exact = engine_search(Engine(model, torch.float32), few)
            share = same(exact, plain_search(model, few))
            found = {"words in common, fp32": share, "right": share > SHARE}
            contest.table.check(f"beam {width}: the engine says what the plain search says", found)
    engine = engine_for(model)
    contest.enter("dhyan", partial(engine_search, engine), _kind(engine.model))


def ours_plain(contest: Contest, model: Seq2Seq) -> None:
    """Our plain search, which is slow."""
    if contest.effort.checks:
        contest.enter("dhyan, plain", partial(plain_search, model), _kind(model), slow=True)


def _kind(model: Seq2Seq) -> str:
    return str(next(model.parameters()).dtype).removeprefix("torch.")
