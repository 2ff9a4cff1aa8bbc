"""BPE dropout: random segmentations of the same text, which follow from the seed."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.errors import UserError
from dhyan.seeds import derive_seeds
from dhyan.special_tokens import BOS, EOS, PAD, UNK
from dhyan.text import compiled_bpe_dropout
from dhyan.text.bpe_dropout import MergeDropout
from dhyan.text.normalize import normalize
from dhyan.text.tokenizer import Tokenizer

SENTENCES = [
    "the children's nurse doesn't remember the river",
    "'tis the river's bridge, isn't it?",
    "मेरी बहन नदी के पुल पर याद रखती है।",
    "अध्यापिका जी नदी, नाव और पुल नहीं बेचतीं।",
] * 3
TOKENIZER = Tokenizer.train(SENTENCES, kind="bpe", size=420)
EXTENDED = TOKENIZER.extended(["abab baba abba yaba", "the riverbank's 'tiny bays"] * 4, 480)
DROPOUTS = {prob: MergeDropout(TOKENIZER, prob) for prob in (0.0, 1e-300, 0.1, 0.5, 0.9, 1.0)}
patient = settings(deadline=None)
needs_library = pytest.mark.skipif(
    not compiled_bpe_dropout.has_library(), reason="BPE dropout is not compiled"
)
texts = (
    st.lists(st.sampled_from(" ".join(SENTENCES).split())).map(" ".join)
    | st.text(alphabet="the river's' नदी के पुल।,-")
    | st.text()
)
probs = st.sampled_from([*DROPOUTS])
seeds = st.integers(0, 2**63)


@patient
@given(text=texts, prob=probs, seed=seeds)
def test_the_text_is_unchanged(text, prob, seed):
    ids = DROPOUTS[prob](TOKENIZER.encode(text), seed)
    assert TOKENIZER.decode(ids) == normalize(text)


@patient
@given(text=texts, prob=probs, seed=seeds)
def test_no_piece_spans_two_words(text, prob, seed):
    before = TOKENIZER.encode(text)
    after = DROPOUTS[prob](before, seed)
    words = [[word.text for word in TOKENIZER.words(ids)] for ids in (before, after)]
    assert words[0] == words[1]


@patient
@given(text=texts)
def test_without_dropout_the_ids_are_the_tokenizers(text):
    ids = TOKENIZER.encode(text)
    assert DROPOUTS[0.0](ids, 1) == ids
    assert DROPOUTS[1e-300](ids, 1) == ids


@patient
@given(text=texts | st.text(alphabet="aby "))
def test_an_extended_tokenizer_has_its_merges_in_order(text):
    ids = EXTENDED.encode(text)
    assert MergeDropout(EXTENDED, 1e-300)(ids, 1) == ids


@patient
@given(text=texts)
def test_dropping_every_merge_leaves_characters(text):
    ids = TOKENIZER.encode(text)
    characters = DROPOUTS[1.0](ids, 1)
    pieces = list(TOKENIZER.piece_ids())
    assert all(len(pieces[id]) == 1 for id in characters if id >= 260)
    assert [id for id in characters if id < 260] == [id for id in ids if id < 260]


def test_special_tokens_and_bytes_are_unchanged():
    river, tamil = TOKENIZER.encode("the river"), TOKENIZER.encode("த")
    ids = [BOS, *river, UNK, *tamil, *river, EOS, PAD, PAD]
    resegmented = MergeDropout(TOKENIZER, 0.5)(ids, 3)
    assert len(resegmented) > len(ids)
    assert [id for id in resegmented if id < 260] == [id for id in ids if id < 260]
    assert (resegmented[0], resegmented[-3:]) == (BOS, [EOS, PAD, PAD])
    assert TOKENIZER.decode(resegmented) == TOKENIZER.decode(ids)


def test_the_segmentation_follows_from_the_seed():
    ids = TOKENIZER.encode(SENTENCES[0])
    segmentations = [MergeDropout(TOKENIZER, 0.3)(ids, seed) for seed in range(20)]
    assert segmentations == [MergeDropout(TOKENIZER, 0.3)(ids, seed) for seed in range(20)]
    assert len({tuple(segmentation) for segmentation in segmentations}) > 10


def exact_probabilities(pieces, merges, prob):
    """The procedure of the paper: every outcome and its exact probability."""
    pairs = list(zip(pieces, pieces[1:], strict=False))
    positions = [at for at, pair in enumerate(pairs) if pair in merges]
    outcomes = Counter()
    for applied in product((True, False), repeat=len(positions)):
        possible = [at for at, is_applied in zip(positions, applied, strict=True) if is_applied]
        weight = (1 - prob) ** len(possible) * prob ** (len(positions) - len(possible))
        if not possible:
            outcomes[pieces] += weight
            continue
        at = min(possible, key=lambda position: merges[pairs[position]][0])
        merged = (*pieces[:at], merges[pairs[at]][1], *pieces[at + 2 :])
        for outcome, probability in exact_probabilities(merged, merges, prob).items():
            outcomes[outcome] += weight * probability
    return outcomes


def test_segmentations_have_the_probabilities_of_the_paper():
    tokenizer = Tokenizer.train(["aba aba aba bab ab"] * 2, kind="bpe", size=268)
    rank = {(a, b): (index, c) for index, (a, b, c) in enumerate(tokenizer.merges())}
    characters = [tokenizer.piece_ids()[character] for character in "▁aba"]
    expected = exact_probabilities(tuple(characters), rank, 0.4)
    dropout, ids, draws = MergeDropout(tokenizer, 0.4), tokenizer.encode("aba"), 4000
    counts = Counter(tuple(dropout(ids, seed)) for seed in range(draws))
    assert len(expected) >= 4
    assert set(counts) <= set(expected)
    for outcome, share in expected.items():
        deviation = (share * (1 - share) / draws) ** 0.5
        assert abs(counts[outcome] / draws - share) < 4 * deviation


def resegmented(dropout, sequences, *, seed=1, max_length=100):
    """The segmentations of sequences that lie end to end."""
    ids = np.array([id for sequence in sequences for id in sequence], np.int32)
    offsets = np.cumsum([0, *map(len, sequences)])
    seeds = derive_seeds(seed, np.arange(len(sequences)).astype(np.uint64))
    ids, offsets = dropout.resegment(ids, offsets[:-1], offsets[1:], seeds, max_length=max_length)
    return [part.tolist() for part in np.split(ids, offsets[1:-1])]


@pytest.mark.parametrize("compiled", [False, True])
def test_many_sequences_are_segmented_as_each_alone(compiled):
    sequences = [[*ids, EOS] for ids in TOKENIZER.encode_batch(SENTENCES)]
    dropout = MergeDropout(TOKENIZER, 0.3, compiled=compiled)
    seeds = derive_seeds(1, np.arange(len(sequences)).astype(np.uint64)).tolist()
    alone = list(map(MergeDropout(TOKENIZER, 0.3), sequences, seeds))
    assert resegmented(dropout, sequences) == alone
    assert resegmented(dropout, sequences[3:4], seed=2) != alone[3:4]


@needs_library
@patient
@given(texts=st.lists(texts, min_size=1, max_size=8), prob=probs, seed=seeds)
def test_compiled_code_gives_the_ids_of_the_definition(texts, prob, seed):
    specials = [[BOS, UNK, EOS], [EOS], [], [PAD, PAD, *TOKENIZER.encode("त river")[1:]]]
    sequences = [*TOKENIZER.encode_batch(texts), *specials]
    compiled, definition = DROPOUTS[prob], MergeDropout(TOKENIZER, prob, compiled=False)
    for max_length in (5, 1000):
        args = {"seed": seed, "max_length": max_length}
        assert resegmented(compiled, sequences, **args) == resegmented(
            definition, sequences, **args
        )


@needs_library
def test_compiled_code_gives_the_same_ids_with_any_threads_and_memory(monkeypatch):
    sequences = [[*ids, EOS] for ids in TOKENIZER.encode_batch(SENTENCES * 200)]
    expected = resegmented(MergeDropout(TOKENIZER, 0.3), sequences)
    assert len({tuple(ids) for ids in expected}) > len(sequences) / 2
    for threads, words in ((1, 2**19), (3, 5), (64, 2**19)):
        monkeypatch.setattr(compiled_bpe_dropout, "usable_cores", lambda n=threads: n)
        monkeypatch.setattr(compiled_bpe_dropout, "MAX_THREADS", threads)
        monkeypatch.setattr(compiled_bpe_dropout, "MAX_WORDS", words)
        dropout = MergeDropout(TOKENIZER, 0.3)
        assert [resegmented(dropout, sequences) for _ in range(2)] == [expected, expected]


@needs_library
def test_compiled_code_refuses_ids_that_are_not_there():
    with pytest.raises(ValueError, match="not in the vocabulary"):
        resegmented(MergeDropout(TOKENIZER, 0.3), [[5], [len(TOKENIZER)]])
    ids, one = np.array([5, 6], np.int32), np.ones(1, np.uint64)
    for start, end in ((0, 3), (-1, 2), (2, 1)):
        with pytest.raises(ValueError, match="not within"):
            MergeDropout(TOKENIZER, 0.3).resegment(
                ids, np.array([start]), np.array([end]), one, max_length=9
            )


@pytest.mark.parametrize("kind", ["words", "characters", "unigram"])
def test_other_tokenizers_are_refused(kind):
    with pytest.raises(UserError, match=f"needs a bpe tokenizer; .* {kind}"):
        MergeDropout(Tokenizer.train(SENTENCES, kind=kind, size=400), 0.1)


@pytest.mark.parametrize("prob", [-0.1, 1.1, float("nan")])
def test_an_invalid_probability_is_refused(prob):
    with pytest.raises(UserError, match="from 0 to 1"):
        MergeDropout(TOKENIZER, prob)
