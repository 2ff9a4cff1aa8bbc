"""Searches written out in plain Python, one hypothesis at a time, to compare with."""

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


def lively(seed, ending=1.0):
    """An untrained model with opinions: seed by seed it ends at once, later, or not at all."""
    torch.manual_seed(seed)
    model = build("gru", "luong-general").eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 3.0
        model.decoder.output.bias[EOS] += ending
    return model


def searched(
    model, source, *, width, length_penalty=0.0, groups=1, diversity=0.0, required=(), **how
):
    """Not written out: the search itself, with phrases if there are any, and in groups."""
    beam = Beam.start(len(source), width // groups, length_penalty, torch.device("cpu"))
    beam = ConstrainedBeam.start(beam, required) if any(map(any, required)) else beam
    return extend_until_done(
        DiverseBeam((beam,) * groups, diversity) if groups > 1 else beam, model, source, **how
    )


@torch.no_grad()
def chances(model, *said):
    """The log-probabilities of the word after each of these, BOS first and equally long."""
    ids = torch.tensor([[*one, EOS] for one in said])
    source = SOURCE.select(torch.zeros(len(said), dtype=torch.long))
    return model(Batch(source, Tokens(ids, ids >= 0)))[:, -1].log_softmax(-1).tolist()


def grown(model, going):
    """Every beginning with every word that may come after it."""
    words = [w for w in range(VOCABULARY) if w not in (PAD, BOS)]
    after = chances(model, *[said for _, said in going])
    return [
        (total + own[w], (*said, w))
        for (total, said), own in zip(going, after, strict=True)
        for w in words
    ]


def keep_best(ended, more, width):
    return sorted([*ended, *more], reverse=True)[:width]


def is_done(going, ended, width, length, power):
    return len(ended) == width and max(going)[0] / length**power <= ended[-1][0]


def beam(model, width, limit, power):
    """One beam: the words said with BOS and EOS, and their scores, best first."""
    going, ended = [(0.0, (BOS,))], []
    for length in range(1, limit + 1):
        best = sorted(grown(model, going), reverse=True)
        ends = [(t / length**power, s) for t, s in best[:width] if s[-1] == EOS]
        ended = keep_best(ended, ends, width)
        going = [(t, s) for t, s in best if s[-1] != EOS][:width]
        if is_done(going, ended, width, length, power):
            return ended
    return (ended + [(t / limit**power, s) for t, s in going])[:width]


def diverse(model, width, limit, power, groups, diversity):
    """DiverseBeam that pay for the words which those before them chose in the same step."""
    each = width // groups
    beams = [([(0.0, (BOS,))], []) for _ in range(groups)]
    closed = [False] * groups
    for length in range(1, limit + 1):
        chosen = []
        for group, (going, ended) in enumerate(beams):
            if closed[group]:
                continue

            def worth(option, chosen=tuple(chosen)):
                return option[0] - diversity * chosen.count(option[1][-1])

            best = sorted(grown(model, going), key=worth, reverse=True)
            ends = [(t / length**power, s) for t, s in best[:each] if s[-1] == EOS]
            ended = keep_best(ended, ends, each)
            going = [(t, s) for t, s in best if s[-1] != EOS][:each]
            chosen += [s[-1] for _, s in going]
            closed[group] = is_done(going, ended, each, length, power)
            beams[group] = (going, ended)
        if all(closed):
            break
    found = set()
    for going, ended in beams:
        cut = [(t / (len(s) - 1) ** power, s) for t, s in going]
        found |= {*(ended + cut)[:each]}
    return sorted(found, key=lambda one: (one[1][-1] == EOS, one[0]), reverse=True)


def contains(said, phrase):
    size = len(phrase)
    return any(said[i : i + size] == phrase for i in range(len(said) - size + 1))


def left(said, phrases):
    """How many tokens of the phrases are still to be said."""
    unmet = [p for p in phrases if not contains(said, p)]
    begun = [k for p in unmet for k in range(1, len(p)) if said[-k:] == p[:k]]
    return sum(map(len, unmet)) - max(begun, default=0)


def constrained(model, width, limit, power, phrases):
    """Beginnings with as much left to say compete for places dealt to all of them in turn."""
    going, ended = [(0.0, (BOS,))], []
    for length in range(1, limit + 1):
        best = sorted(grown(model, going), reverse=True)
        best = [(t, s) for t, s in best if s[-1] != EOS or left(s, phrases) == 0]
        ranks = {n: [o for o in best if left(o[1], phrases) == n] for n in range(99)}
        turns = [n for turn in range(width) for n in ranks if len(ranks[n]) > turn][:width]
        going = []
        for n in sorted(set(turns)):
            places = turns.count(n)
            ends = [(t / length**power, s) for t, s in ranks[n][:places] if s[-1] == EOS]
            ended = keep_best(ended, ends, width)
            going += [(t, s) for t, s in ranks[n] if s[-1] != EOS][:places]
        if is_done(going, ended, width, length, power):
            return ended
    return (ended + [(t / limit**power, s) for t, s in going])[:width]


def written(hypothesis):
    """A hypothesis with its BOS and EOS."""
    return (BOS, *hypothesis.ids, *([EOS] if hypothesis.finished else []))
