"""The CPU engine against the plain search in PyTorch: the same token ids, and scores to rounding."""

import random

import numpy as np
import pytest
import torch

from dhyan.config import DecodingOptions
from dhyan.cpu_engine import MAX_BEAM, CpuEngine, library_target, supports_recipe
from dhyan.cpu_engine.library import FOLDER, TARGETS, cpu_features, file_name, load_library
from dhyan.decoding.plain_search import is_plain_search
from dhyan.decoding.prepare_requests import Request
from dhyan.special_tokens import EOS
from tests.decoding.test_engine import plain_search, random_model, same, sentences
from tests.laws.family import MODELS, VOCABULARY, recipe_of

pytestmark = pytest.mark.skipif(library_target() is None, reason="the CPU engine is not compiled")

SUPPORTED = [pair for pair in MODELS if supports_recipe(recipe_of(*pair))]
FEW = [("transformer", "transformer"), ("gru", "bahdanau-additive"), ("bi-lstm", "luong-general")]


class Hypotheses(list):
    """The outputs of the engine with the names of the search's hypotheses."""

    def __init__(self, outputs):
        super().__init__([[_Output(*output) for output in sentence] for sentence in outputs])


class _Output:
    def __init__(self, ids, score, finished):
        self.ids, self.score, self.finished = tuple(ids), score, finished


def weights_of(model):
    return {name: weight.detach().numpy() for name, weight in model.named_parameters()}


def engine_of(pair, model, *, int8=False):
    return CpuEngine(recipe_of(*pair), weights_of(model), VOCABULARY, VOCABULARY, int8=int8)


def translate(engine, sources, max_lengths, beam=1, length_penalty=0.0, **options):
    return Hypotheses(
        engine.translate(
            sources, beam=beam, max_lengths=max_lengths, length_penalty=length_penalty, **options
        )
    )


def test_every_family_is_supported():
    decoders = {decoder for _, decoder in SUPPORTED}
    assert {"transformer", "rnn", "bahdanau-additive", "luong-general", "luong-dot"} <= decoders


@pytest.mark.parametrize("pair", SUPPORTED, ids=lambda pair: "-".join(pair))
def test_float32_equals_the_plain_search(pair):
    seed = SUPPORTED.index(pair)
    model = random_model(pair, seed)
    sources, max_lengths = sentences(seed, 9)
    engine = engine_of(pair, model)
    length_penalty = [0.0, 1.0, 0.6][seed % 3]
    for beam in (1, 4, 5):
        results = translate(engine, sources, max_lengths, beam, length_penalty, threads=2)
        same(results, plain_search(model, sources, max_lengths, beam, length_penalty))


@pytest.mark.parametrize("pair", FEW, ids=lambda pair: "-".join(pair))
@pytest.mark.parametrize("beam", [1, 5])
def test_int8_is_close(pair, beam):
    model = random_model(pair, 3)
    sources, max_lengths = sentences(3, 40)
    exact = translate(engine_of(pair, model), sources, max_lengths, beam, 1.0)
    rounded = translate(engine_of(pair, model, int8=True), sources, max_lengths, beam, 1.0)
    differences = [abs(a[0].score - b[0].score) for a, b in zip(exact, rounded, strict=True)]
    assert np.median(differences) < 0.02


@pytest.mark.parametrize("pair", FEW, ids=lambda pair: "-".join(pair))
@pytest.mark.parametrize("int8", [False, True])
def test_a_translation_does_not_depend_on_the_others(pair, int8):
    """Neither on their number, nor on their order, nor on the threads, bit for bit."""
    engine = engine_of(pair, random_model(pair, 5), int8=int8)
    sources, max_lengths = sentences(5, 150)
    together = engine.translate(sources, beam=3, max_lengths=max_lengths, threads=3)
    order = list(range(150))
    random.Random(1).shuffle(order)
    shuffled = engine.translate(
        [sources[at] for at in order], beam=3, max_lengths=[max_lengths[at] for at in order]
    )
    assert [together[at] for at in order] == shuffled
    for at in (0, 70, 149):
        [alone] = engine.translate([sources[at]], beam=3, max_lengths=[max_lengths[at]])
        assert alone == together[at]


@pytest.mark.parametrize("pair", FEW, ids=lambda pair: "-".join(pair))
def test_long_sentences_need_more_positions_and_pages(pair):
    model = random_model(pair, 1)
    with torch.no_grad():
        model.decoder.output.bias[EOS] = -100.0
    sources = [[*([5, 7, 9] * 100), EOS], [4, EOS]]
    results = translate(engine_of(pair, model), sources, [300, 400], 2, 1.0)
    assert [len(hypotheses[0].ids) for hypotheses in results] == [300, 400]
    same(results, plain_search(model, sources, [300, 400], 2, 1.0))


def test_only_the_best_are_returned():
    pair = FEW[0]
    sources, max_lengths = sentences(2, 5)
    engine = engine_of(pair, random_model(pair, 2))
    everything = engine.translate(sources, beam=4, max_lengths=max_lengths)
    best = engine.translate(sources, beam=4, max_lengths=max_lengths, nbest=1)
    assert [hypotheses[:1] for hypotheses in everything] == best
    assert engine.translate([], beam=4, max_lengths=[]) == []


@pytest.mark.parametrize("target", TARGETS)
def test_every_compiled_target_gives_the_same(target, tmp_path):
    if not TARGETS[target] <= cpu_features() or not (FOLDER / file_name(target)).is_file():
        pytest.skip(f"{target} is not compiled, or this CPU does not have it")
    for pair in FEW:
        model = random_model(pair, 4)
        sources, max_lengths = sentences(4, 12)
        expected = plain_search(model, sources, max_lengths, 3, 1.0)
        for int8 in (False, True):
            outputs = run_target(target, pair, model, sources, max_lengths, int8=int8)
            if int8:  # whole numbers add up to the same on every target
                best = translate(engine_of(pair, model, int8=True), sources, max_lengths, 3, 1.0)
                assert [h[0].score for h in Hypotheses(outputs)] == pytest.approx(
                    [h[0].score for h in best], abs=0.02
                )
            else:
                same(Hypotheses(outputs), expected)


def run_target(target, pair, model, sources, max_lengths, *, int8):
    """Translate with the library of a target."""
    from dhyan.cpu_engine import engine, library

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "library_target", lambda: target)
        load_library.cache_clear()
        patch.setattr(engine, "load_library", load_library)
        outputs = engine_of(pair, model, int8=int8).translate(
            sources, beam=3, max_lengths=max_lengths, length_penalty=1.0
        )
    load_library.cache_clear()
    return outputs


@pytest.mark.parametrize("scale", [1e30, np.nan])
def test_a_model_without_finite_scores_gives_no_hypothesis(scale):
    pair = FEW[0]
    model = random_model(pair, 2)
    with torch.no_grad():
        model.decoder.output.weight.mul_(1e30 if scale > 1 else 1.0)
        model.decoder.output.bias.fill_(np.inf if scale > 1 else scale)
    for beam in (1, 3):
        assert engine_of(pair, model).translate([[5, EOS]], beam=beam, max_lengths=[4]) == [[]]


class TestRefusals:
    """What does not fit never reaches the library's memory."""

    pair = FEW[0]

    def model(self):
        return random_model(self.pair, 1)

    @pytest.mark.parametrize("pair", FEW, ids=lambda pair: "-".join(pair))
    def test_weights_that_are_missing_or_have_another_shape(self, pair):
        weights = weights_of(random_model(pair, 1))
        for name, weight in weights.items():
            without = {other: value for other, value in weights.items() if other != name}
            cut = {**weights, name: weight[:-1]}
            more = {**weights, name: np.concatenate([weight, weight])}
            for changed in (without, cut, more, {**weights, f"{name}x": weight}):
                with pytest.raises(ValueError, match="missing|shape|no place|tied"):
                    CpuEngine(recipe_of(*pair), changed, VOCABULARY, VOCABULARY, int8=False)

    def test_a_vocabulary_of_another_size(self):
        with pytest.raises(ValueError, match="shape"):
            CpuEngine(
                recipe_of(*self.pair),
                weights_of(self.model()),
                VOCABULARY + 1,
                VOCABULARY,
                int8=False,
            )

    @pytest.mark.parametrize(
        ("sources", "limits", "beam"),
        [
            ([[VOCABULARY, EOS]], [3], 1),
            ([[-1, EOS]], [3], 1),
            ([[]], [3], 1),
            ([[5, EOS]], [0], 1),
            ([[5, EOS]], [3], 0),
            ([[5, EOS]], [3], MAX_BEAM + 1),
            ([[5, EOS]], [3, 4], 1),
        ],
    )
    def test_requests(self, sources, limits, beam):
        with pytest.raises(ValueError, match="vocabulary|length|beam"):
            engine_of(self.pair, self.model()).translate(sources, beam=beam, max_lengths=limits)


@pytest.mark.parametrize(
    "changes",
    [
        {"sample": True},
        {"beam": 4, "beam_groups": 2},
        {"beam": MAX_BEAM + 1},
        {"min_length": 2},
        {"no_repeat_ngram": 3},
    ],
)
def test_other_searches_are_left_to_pytorch(changes):
    requests = [Request((5, EOS), 0, 0, max_length=9)]
    assert is_plain_search(requests, DecodingOptions(beam=3), (), ())
    assert not is_plain_search(requests, DecodingOptions().changed(**changes), (), ())


@pytest.mark.parametrize(
    "request_of_it",
    [
        Request((5, EOS), 0, 0, prefix=(5,)),
        Request((5, EOS), 0, 0, required=((5, 6),)),
        Request(np.zeros((2, 3), np.float32), 0, 0),
    ],
)
def test_constraints_and_frames_are_left_to_pytorch(request_of_it):
    assert not is_plain_search([request_of_it], DecodingOptions(), (), ())
