"""Reference implementations of search in plain Python, one hypothesis at a time."""

import torch

from dhyan.batch import Batch, Tokens
from dhyan.decoding.beam import Beam
from dhyan.decoding.constrained_beam import ConstrainedBeam
from dhyan.decoding.diverse_beam import DiverseBeam
from dhyan.decoding.search import extend_until_done
from dhyan.special_tokens import BOS, EOS, PAD
from tests.laws.family import VOCABULARY, build

SOURCE = Tokens.pad([[5, 9, 4, EOS]])
SOURCES = Tokens.pad([[5, 9, 4, EOS], [7, EOS], [4, 11, 6, 8, 12, EOS]])


def random_model(seed, ending=1.0):
    """An untrained model with large weights: by seed it ends at once, later, or not at all."""
    torch.manual_seed(seed)
    model = build("gru", "luong-general").eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 3.0
        model.decoder.output.bias[EOS] += ending
    return model


def beam_search_with(
    model, source, *, width, length_penalty=0.0, groups=1, diversity=0.0, required=(), **options
):
    """The search under test: constrained if phrases are required, and in groups."""
    beam = Beam.start(len(source), width // groups, length_penalty, torch.device("cpu"))
    beam = ConstrainedBeam.start(beam, required) if any(map(any, required)) else beam
    return extend_until_done(
        DiverseBeam((beam,) * groups, diversity) if groups > 1 else beam, model, source, **options
    )


@torch.no_grad()
def next_logprobs(model, *ids):
    """Log-probabilities of the token after each hypothesis, BOS first and equally long."""
    ids = torch.tensor([[*result, EOS] for result in ids])
    source = SOURCE.select(torch.zeros(len(ids), dtype=torch.long))
    return model(Batch(source, Tokens(ids, ids >= 0)))[:, -1].log_softmax(-1).tolist()


def extended(model, going):
    """Every extension of every hypothesis."""
    words = [w for w in range(VOCABULARY) if w not in (PAD, BOS)]
    after = next_logprobs(model, *[ids for _, ids in going])
    return [
        (total + logprobs[w], (*ids, w))
        for (total, ids), logprobs in zip(going, after, strict=True)
        for w in words
    ]


def keep_best(finished, more, width):
    return sorted([*finished, *more], reverse=True)[:width]


def is_done(going, finished, width, length, power):
    return len(finished) == width and max(going)[0] / length**power <= finished[-1][0]


def beam(model, width, limit, power):
    """Beam search: ids with BOS and EOS, and their scores, best first."""
    going, finished = [(0.0, (BOS,))], []
    for length in range(1, limit + 1):
        best = sorted(extended(model, going), reverse=True)
        ends = [(t / length**power, s) for t, s in best[:width] if s[-1] == EOS]
        finished = keep_best(finished, ends, width)
        going = [(t, s) for t, s in best if s[-1] != EOS][:width]
        if is_done(going, finished, width, length, power):
            return finished
    return (finished + [(t / limit**power, s) for t, s in going])[:width]


def diverse(model, width, limit, power, groups, diversity):
    """Diverse beam search: groups pay for tokens that earlier groups chose in the same step."""
    each = width // groups
    beams = [([(0.0, (BOS,))], []) for _ in range(groups)]
    closed = [False] * groups
    for length in range(1, limit + 1):
        chosen = []
        for group, (going, finished) in enumerate(beams):
            if closed[group]:
                continue

            def worth(option, chosen=tuple(chosen)):
                return option[0] - diversity * chosen.count(option[1][-1])

            best = sorted(extended(model, going), key=worth, reverse=True)
            ends = [(t / length**power, s) for t, s in best[:each] if s[-1] == EOS]
            finished = keep_best(finished, ends, each)
            going = [(t, s) for t, s in best if s[-1] != EOS][:each]
            chosen += [s[-1] for _, s in going]
            closed[group] = is_done(going, finished, each, length, power)
            beams[group] = (going, finished)
        if all(closed):
            break
    results = set()
    for going, finished in beams:
        unfinished = [(t / (len(s) - 1) ** power, s) for t, s in going]
        results |= {*(finished + unfinished)[:each]}
    return sorted(results, key=lambda result: (result[1][-1] == EOS, result[0]), reverse=True)


def contains(ids, phrase):
    size = len(phrase)
    return any(ids[i : i + size] == phrase for i in range(len(ids) - size + 1))


def missing(ids, phrases):
    """How many tokens of the phrases are missing."""
    unmet = [p for p in phrases if not contains(ids, p)]
    matched = [k for p in unmet for k in range(1, len(p)) if ids[-k:] == p[:k]]
    return sum(map(len, unmet)) - max(matched, default=0)


def constrained(model, width, limit, power, phrases):
    """Constrained beam search: slots are allocated in turn by the number of missing tokens."""
    going, finished = [(0.0, (BOS,))], []
    for length in range(1, limit + 1):
        best = sorted(extended(model, going), reverse=True)
        best = [(t, s) for t, s in best if s[-1] != EOS or missing(s, phrases) == 0]
        ranks = {n: [o for o in best if missing(o[1], phrases) == n] for n in range(99)}
        turns = [n for turn in range(width) for n in ranks if len(ranks[n]) > turn][:width]
        going = []
        for n in sorted(set(turns)):
            slots = turns.count(n)
            ends = [(t / length**power, s) for t, s in ranks[n][:slots] if s[-1] == EOS]
            finished = keep_best(finished, ends, width)
            going += [(t, s) for t, s in ranks[n] if s[-1] != EOS][:slots]
        if is_done(going, finished, width, length, power):
            return finished
    return (finished + [(t / limit**power, s) for t, s in going])[:width]


def with_bos_and_eos(hypothesis):
    """A hypothesis with its BOS and EOS."""
    return (BOS, *hypothesis.ids, *([EOS] if hypothesis.finished else []))
