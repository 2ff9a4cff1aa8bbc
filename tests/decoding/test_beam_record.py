"""A recorded beam search: the results of the usual search, and a tree whose sums are right."""

import pytest
import torch

import dhyan
from dhyan.decoding.beam_record import ROOT, RecordingBeam, record_beam_search
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.search import beam_search, extend_until_done
from dhyan.errors import UnsupportedOption, UserError
from dhyan.special_tokens import BOS, EOS
from tests.decoding.reference_search import SOURCE, random_model
from tests.insight.test_explain import translator_of
from tests.laws.family import MODELS, build

KINDS = [("bi-lstm", "bahdanau-additive"), ("transformer", "transformer"), ("gru", "luong-dot")]
SENTENCE = "the big dog sees the cat"


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind[1])
def translator(request):
    return translator_of(request.param)


def recorded(model, width, power):
    """The results of a recorded search, and its nodes."""
    start = RecordingBeam.start(width, power, torch.device("cpu"))
    [results] = extend_until_done(start, model, SOURCE, max_length=7)
    return results, start.nodes


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("width", [1, 2, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_a_recorded_search_has_the_results_of_the_search(width, power, seed):
    model = random_model(seed)
    [expected] = beam_search(model, SOURCE, beam=width, max_length=7, length_penalty=power)
    assert recorded(model, width, power)[0] == expected


@pytest.mark.parametrize("pair", MODELS)
def test_every_model_can_be_recorded(pair):
    torch.manual_seed(1)
    model = build(*pair).eval()
    [expected] = beam_search(model, SOURCE, beam=3, max_length=7, length_penalty=1.0)
    assert recorded(model, 3, 1.0)[0] == expected


@pytest.mark.parametrize("beam", [1, 2, 4, 8])
@pytest.mark.parametrize("options", [{}, {"length_penalty": 0.0}, {"no_repeat_ngram": 1}])
def test_the_best_result_is_the_translation(translator, beam, options):
    options = translator.options.changed(beam=beam, max_length=12, **options)
    record = record_beam_search(translator, SENTENCE, options)
    [translation] = translator.translate_sentences([SENTENCE], options)
    best = record.nodes[record.results[0]]
    ids = translation.ids + (EOS,) * translation.finished
    assert record.ids(record.results[0]) == ids
    assert best.score_by_length == pytest.approx(translation.score, abs=1e-5)


def test_scores_are_sums_of_the_models_log_probabilities(translator):
    record = record_beam_search(translator, SENTENCE, translator.options.changed(max_length=12))
    assert record.nodes[0] == ROOT
    indices = range(1, len(record.nodes))
    targets = [[BOS, *record.ids(index)] for index in indices]
    forced = force_decode(
        translator.ensemble, [record.source] * len(targets), targets, torch.device("cpu")
    )
    for index, target, logprobs in zip(indices, targets, forced.logprobs, strict=True):
        node, length = record.nodes[index], len(target) - 1
        assert node.step == length
        assert node.logprob == pytest.approx(float(logprobs[length - 1]), abs=1e-4)
        assert node.score == pytest.approx(float(logprobs[:length].sum()), abs=1e-3)
        assert node.score_by_length == pytest.approx(
            node.score / length**record.length_penalty, abs=1e-9
        )


@pytest.mark.parametrize("width", [1, 3, 5])
def test_each_step_keeps_the_best_by_rank(width):
    _, nodes = recorded(random_model(2), width, 0.0)
    for step in range(1, nodes[-1].step + 1):
        considered = [node for node in nodes if node.step == step]
        assert [node.rank for node in considered] == list(range(1, len(considered) + 1))
        assert [node.score for node in considered] == sorted(
            (node.score for node in considered), reverse=True
        )
        continuing = [node for node in considered if node.token != EOS]
        assert [node.fate for node in continuing[:width]] == ["kept"] * len(continuing[:width])
        assert {node.fate for node in continuing[width:]} <= {"dropped"}
        for node in considered:
            if node.token == EOS:
                assert node.fate == ("finished" if node.rank <= width else "dropped")
            assert nodes[node.parent].fate == "kept"
            assert nodes[node.parent].step == step - 1


def test_a_prefix_leaves_one_hypothesis(translator):
    options = translator.options.changed(beam=3, max_length=12)
    free = record_beam_search(translator, SENTENCE, options)
    prefix = translator.target.decode([free.ids(free.results[-1])[0]])
    record = record_beam_search(translator, SENTENCE, options, prefix=prefix)
    forced = translator.target.encode(prefix)
    assert forced
    for step, token in enumerate(forced, 1):
        assert [node.token for node in record.nodes if node.step == step] == [token]


def test_other_searches_are_refused(translator):
    options = translator.options
    for changes in ({"sample": True, "beam": 1}, {"beam": 4, "beam_groups": 2}):
        with pytest.raises(UnsupportedOption, match="plain beam search"):
            record_beam_search(translator, SENTENCE, options.changed(**changes))
    with pytest.raises(UserError, match="empty"):
        record_beam_search(translator, " ", options)


def test_a_pretrained_model_has_the_results_of_its_translator():
    translator = dhyan.load("en-hi-bahdanau")
    options = translator.options.changed(beam=4, nbest=4)
    text = "My sister works in a hospital."
    record = record_beam_search(translator, text, options)
    [best] = translator.translate_sentences([text], options)
    texts = [translator.target.decode(record.ids(node)) for node in record.results]
    assert list(dict.fromkeys(texts)) == [t.text for t in (best, *best.others)]
