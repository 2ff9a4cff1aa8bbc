"""Rules against naive checks, one row at a time, and under search."""

import pytest
import torch

from dhyan.decoding.constrained_beam import allow_required
from dhyan.decoding.glossary import contains_words, encode_phrase
from dhyan.decoding.rules import (
    end_word_after,
    forbid_terms,
    forbid_tokens,
    force_prefix,
    min_length,
    no_repeat_ngram,
)
from dhyan.decoding.search import greedy_search
from dhyan.special_tokens import BOS, EOS, PAD
from dhyan.text.tokenizer import KINDS, Tokenizer
from tests.laws.family import VOCABULARY
from tests.reference_loops import SOURCES, lively, searched

ROWS = 40
TEXTS = [
    "the cat and the cats saw a concatenated cat's (cat) mat",
    "बड़ी बिल्ली का काम और कान में दर्द है ।",
    "the new cat of new york",
]


def talk(length, words=4):
    """Rows that have said so many words of a few, BOS first, and scores of the next."""
    generator = torch.Generator().manual_seed(length)
    said = torch.randint(4, 4 + words, (ROWS, length), generator=generator)
    said = torch.cat([torch.full((ROWS, 1), BOS), said], dim=1)
    scores = torch.randn(ROWS, VOCABULARY, generator=generator)
    return said, scores, torch.arange(ROWS) % 3


def silenced(rule, said, scores, sentence):
    """The words each row may not say, PAD aside; all other scores must be as they were."""
    left = rule(said, scores, sentence)
    gone = left == -torch.inf
    assert torch.equal(left[~gone], scores[~gone])
    return [set(row.nonzero().flatten().tolist()) - {PAD} for row in gone]


@pytest.mark.parametrize("length", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_no_repeat_is_the_naive_check(size, length):
    said, scores, sentence = talk(length)
    found = silenced(no_repeat_ngram(size), said, scores, sentence)
    for row, gone in zip(said.tolist(), found, strict=True):
        heard = {tuple(row[i : i + size]) for i in range(1, len(row) - size + 1)}
        again = {w for w in range(4, VOCABULARY) if (*row[1:], w)[-size:] in heard}
        assert gone - {BOS} == again


@pytest.mark.parametrize("length", range(5))
def test_a_prefix_leaves_its_own_word_and_then_all(length):
    prefixes = [[6, 7, 8], [], [9]]
    said, scores, sentence = talk(length)
    found = silenced(force_prefix(prefixes), said, scores, sentence)
    everything = set(range(VOCABULARY)) - {PAD}
    for which, gone in zip(sentence.tolist(), found, strict=True):
        forced = prefixes[which][length : length + 1]
        assert gone == (everything - set(forced) if forced else set())


@pytest.mark.parametrize("length", range(6))
def test_no_end_before_so_many_tokens(length):
    said, scores, sentence = talk(length)
    early = length < 3
    assert silenced(min_length(3), said, scores, sentence) == [{EOS} if early else set()] * ROWS


def searches(model, **options):
    """All that greedy and beam search find for three sentences of different limits."""
    limit = torch.tensor([5, 12, 9])
    yield [[one] for one in greedy_search(model, SOURCES, max_length=limit, **options)]
    yield searched(model, SOURCES, width=4, max_length=limit, **options)
    yield searched(model, SOURCES, width=4, max_length=limit, groups=2, diversity=0.5, **options)


def test_a_translation_has_its_least_length():
    model = lively(0, ending=20.0)
    for found in searches(model, rules=[min_length(4)]):
        assert all(len(h.ids) == 4 for own in found for h in own if h.finished)
        assert any(h.finished for own in found for h in own)


@pytest.mark.parametrize("size", [1, 2])
def test_nothing_found_repeats_itself(size):
    model = lively(1, ending=-20.0)
    for found in searches(model, rules=[no_repeat_ngram(size)]):
        for one in (h for own in found for h in own):
            runs = [one.ids[i : i + size] for i in range(len(one.ids) - size + 1)]
            assert len(set(runs)) == len(runs)


def test_every_sentence_begins_with_its_prefix_and_then_goes_on():
    prefixes = [(6, 7), (), (12, 11, 10, 9)]
    free = list(searches(lively(2)))
    for found, before in zip(
        searches(lively(2), rules=[force_prefix(prefixes)]), free, strict=True
    ):
        for prefix, own in zip(prefixes, found, strict=True):
            assert own
            assert all(h.ids[: len(prefix)] == prefix for h in own)
        assert [h.ids for h in found[1]] == [h.ids for h in before[1]]


def test_a_prefix_that_is_what_would_be_said_changes_nothing():
    model = lively(3)
    free = greedy_search(model, SOURCES, max_length=9)
    prefixes = [h.ids[:2] for h in free]
    assert greedy_search(model, SOURCES, max_length=9, rules=[force_prefix(prefixes)]) == free


def test_rules_add_up():
    said, scores, sentence = talk(3)
    for rule in (forbid_tokens(5, 6), min_length(9), no_repeat_ngram(1)):
        scores = rule(said, scores, sentence)
    gone = scores == -torch.inf
    assert gone[:, [5, 6, EOS]].all()
    assert gone.gather(1, said).all()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="n-gram of 0 tokens"):
        no_repeat_ngram(0)


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return Tokenizer.train(TEXTS, kind=request.param, size=330)


def banned(tokenizer, rule, said):
    """The ids that may not follow what was said."""
    scores = rule(torch.tensor([[BOS, *said]]), torch.zeros(1, len(tokenizer)), torch.tensor([0]))
    return set((scores[0] == -torch.inf).nonzero().flatten().tolist())


@pytest.mark.parametrize("term", ["cat", "का", "new york"])
@pytest.mark.parametrize("before", ["", "the", "the (c", "the (क", "बिल्ली"])
def test_a_forbidden_term_cannot_be_said_in_any_pieces(tokenizer, term, before):
    """Whatever sequence of allowed pieces is drawn, the term is not among its words."""
    rule = forbid_terms(tokenizer, [term])
    start = tokenizer.encode(before)
    letters = set(term.replace(" ", "▁")) | {"▁"}
    spelling = [id for piece, id in tokenizer.piece_ids().items() if letters.issuperset(piece)]
    chance = torch.Generator().manual_seed(0)
    for _ in range(8):
        ids = list(start)
        for _ in range(12):
            allowed = sorted(set(spelling) - banned(tokenizer, rule, ids))
            if not allowed:
                break
            ids.append(allowed[torch.randint(len(allowed), (1,), generator=chance)])
            assert not contains_words(tokenizer, tokenizer.encode(term), ids)


def test_forbidding_a_term_leaves_words_that_only_hold_it(tokenizer):
    rule = forbid_terms(tokenizer, ["cat"])
    ids = tokenizer.encode("a concatenated mat")
    for at, id in enumerate(ids):
        assert id not in banned(tokenizer, rule, ids[:at])


def test_forbidding_a_term_stops_it_at_its_last_piece(tokenizer):
    rule = forbid_terms(tokenizer, ["cat"])
    *begun, last = tokenizer.encode("the cat")
    assert last in banned(tokenizer, rule, begun)


def test_after_a_required_term_its_word_is_over(tokenizer):
    term = encode_phrase(tokenizer, "cat")
    rule = end_word_after(tokenizer, [[term]])
    spelt = {id: piece for piece, id in tokenizer.piece_ids().items()}
    stopped = banned(tokenizer, rule, term)
    assert all(id in stopped for id, piece in spelt.items() if piece in ("s", "c", "ई", "ि"))
    assert EOS not in stopped
    assert not any(spelt[id].startswith(("▁", ")", "'")) for id in stopped)
    assert not banned(tokenizer, rule, term[:-1])


def test_rules_apply_to_the_rows_of_their_own_sentence(tokenizer):
    term = encode_phrase(tokenizer, "cat")
    rule = end_word_after(tokenizer, [[], [term]])
    said = torch.tensor([[BOS, *term]] * 3)
    scores = rule(said, torch.zeros(3, len(tokenizer)), torch.tensor([1, 0, 1]))
    assert [(row == -torch.inf).any().item() for row in scores] == [True, False, True]


def test_forbidding_a_letter_leaves_the_bytes_of_others():
    tokenizer = Tokenizer.train(TEXTS, kind="unigram", size=330)
    kept = banned(tokenizer, forbid_terms(tokenizer, ["x"]), [])
    assert not {id for piece, id in tokenizer.piece_ids().items() if piece == "<0xE0>"} & kept


def test_a_required_phrase_may_repeat_itself_until_it_is_said():
    rule = allow_required([[], [(5, 5, 6)]], no_repeat_ngram(1))
    said = torch.tensor([[BOS, 7, 5], [BOS, 7, 5], [BOS, 7, 6]])
    found = silenced(rule, said, torch.zeros(3, VOCABULARY), torch.tensor([0, 1, 1]))
    assert found == [{BOS, 5, 7}, {BOS, 7}, {BOS, 6, 7}]
    met = torch.tensor([[BOS, 5, 5, 6]])
    assert silenced(rule, met, torch.zeros(1, VOCABULARY), torch.tensor([1])) == [{BOS, 5, 6}]
