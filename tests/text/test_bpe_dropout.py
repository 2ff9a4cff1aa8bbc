"""BPE dropout: the same text cut anew, by the seed and nothing else."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.errors import UserError
from dhyan.special_tokens import BOS, EOS, PAD, UNK
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
DROPOUTS = {chance: MergeDropout(TOKENIZER, chance) for chance in (0.0, 1e-300, 0.1, 0.5, 0.9, 1.0)}
patient = settings(deadline=None)
texts = (
    st.lists(st.sampled_from(" ".join(SENTENCES).split())).map(" ".join)
    | st.text(alphabet="the river's' नदी के पुल।,-")
    | st.text()
)
chances = st.sampled_from([*DROPOUTS])
seeds = st.integers(0, 2**63)


@patient
@given(text=texts, chance=chances, seed=seeds)
def test_the_text_stays_the_same(text, chance, seed):
    ids = DROPOUTS[chance](TOKENIZER.encode(text), seed)
    assert TOKENIZER.decode(ids) == normalize(text)


@patient
@given(text=texts, chance=chances, seed=seeds)
def test_no_piece_reaches_across_two_words(text, chance, seed):
    before = TOKENIZER.encode(text)
    after = DROPOUTS[chance](before, seed)
    told = [[word.text for word in TOKENIZER.words(ids)] for ids in (before, after)]
    assert told[0] == told[1]


@patient
@given(text=texts)
def test_without_a_drop_the_cut_is_the_tokenizers(text):
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
    letters = DROPOUTS[1.0](ids, 1)
    pieces = list(TOKENIZER.piece_ids())
    assert all(len(pieces[id]) == 1 for id in letters if id >= 260)
    assert [id for id in letters if id < 260] == [id for id in ids if id < 260]


def test_specials_and_bytes_stay_where_they_are():
    river, tamil = TOKENIZER.encode("the river"), TOKENIZER.encode("த")
    whole = [BOS, *river, UNK, *tamil, *river, EOS, PAD, PAD]
    cut = MergeDropout(TOKENIZER, 0.5)(whole, 3)
    assert len(cut) > len(whole)
    assert [id for id in cut if id < 260] == [id for id in whole if id < 260]
    assert (cut[0], cut[-3:]) == (BOS, [EOS, PAD, PAD])
    assert TOKENIZER.decode(cut) == TOKENIZER.decode(whole)


def test_the_seed_decides_everything():
    ids = TOKENIZER.encode(SENTENCES[0])
    cuts = [MergeDropout(TOKENIZER, 0.3)(ids, seed) for seed in range(20)]
    assert cuts == [MergeDropout(TOKENIZER, 0.3)(ids, seed) for seed in range(20)]
    assert len({tuple(cut) for cut in cuts}) > 10


def exact(pieces, merges, chance):
    """The paper's procedure with every outcome of every draw, and its probability."""
    pairs = list(zip(pieces, pieces[1:], strict=False))
    places = [at for at, pair in enumerate(pairs) if pair in merges]
    outcomes = Counter()
    for kept in product((True, False), repeat=len(places)):
        left = [at for at, stays in zip(places, kept, strict=True) if stays]
        weight = (1 - chance) ** len(left) * chance ** (len(places) - len(left))
        if not left:
            outcomes[pieces] += weight
            continue
        at = min(left, key=lambda place: merges[pairs[place]][0])
        merged = (*pieces[:at], merges[pairs[at]][1], *pieces[at + 2 :])
        for outcome, then in exact(merged, merges, chance).items():
            outcomes[outcome] += weight * then
    return outcomes


def test_segmentations_have_the_probabilities_of_the_paper():
    tokenizer = Tokenizer.train(["aba aba aba bab ab"] * 2, kind="bpe", size=268)
    rank = {(a, b): (place, c) for place, (a, b, c) in enumerate(tokenizer.merges())}
    letters = [tokenizer.piece_ids()[letter] for letter in "▁aba"]
    due = exact(tuple(letters), rank, 0.4)
    dropout, ids, draws = MergeDropout(tokenizer, 0.4), tokenizer.encode("aba"), 4000
    seen = Counter(tuple(dropout(ids, seed)) for seed in range(draws))
    assert len(due) >= 4
    assert set(seen) <= set(due)
    for outcome, share in due.items():
        deviation = (share * (1 - share) / draws) ** 0.5
        assert abs(seen[outcome] / draws - share) < 4 * deviation


@pytest.mark.parametrize("kind", ["words", "characters", "unigram"])
def test_other_tokenizers_are_refused(kind):
    with pytest.raises(UserError, match=f"needs a bpe tokenizer; .* {kind}"):
        MergeDropout(Tokenizer.train(SENTENCES, kind=kind, size=400), 0.1)


@pytest.mark.parametrize("chance", [-0.1, 1.1, float("nan")])
def test_an_invalid_probability_is_refused(chance):
    with pytest.raises(UserError, match="from 0 to 1"):
        MergeDropout(TOKENIZER, chance)
