"""Rules against naive checks, one row at a time, and under search."""

from itertools import chain

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
from tests.decoding.reference_search import SOURCES, beam_search_with, random_model
from tests.laws.family import VOCABULARY

ROWS = 40
TEXTS = [
    "the cat and the cats saw a concatenated cat's (cat) mat",
    "बड़ी बिल्ली का काम और कान में दर्द है ।",
    "the new cat of new york",
]


def hypotheses(length, words=4):
    """Random hypotheses over few tokens, BOS first, and scores of the next token."""
    generator = torch.Generator().manual_seed(length)
    ids = torch.randint(4, 4 + words, (ROWS, length), generator=generator)
    ids = torch.cat([torch.full((ROWS, 1), BOS), ids], dim=1)
    scores = torch.randn(ROWS, VOCABULARY, generator=generator)
    return ids, scores, torch.arange(ROWS) % 3


def forbidden_tokens(rule, ids, scores, sentence):
    """The forbidden tokens of each row without PAD; all other scores must be unchanged."""
    changed = rule(ids, scores, sentence)
    forbidden = changed == -torch.inf
    assert torch.equal(changed[~forbidden], scores[~forbidden])
    return [set(row.nonzero().flatten().tolist()) - {PAD} for row in forbidden]


@pytest.mark.parametrize("length", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_no_repeat_ngram_equals_the_naive_check(size, length):
    ids, scores, sentence = hypotheses(length)
    results = forbidden_tokens(no_repeat_ngram(size), ids, scores, sentence)
    for row, forbidden in zip(ids.tolist(), results, strict=True):
        ngrams = {tuple(row[i : i + size]) for i in range(1, len(row) - size + 1)}
        repeats = {w for w in range(4, VOCABULARY) if (*row[1:], w)[-size:] in ngrams}
        assert forbidden - {BOS} == repeats


@pytest.mark.parametrize("length", range(5))
def test_a_prefix_allows_its_token_and_later_all(length):
    prefixes = [[6, 7, 8], [], [9]]
    ids, scores, sentence = hypotheses(length)
    results = forbidden_tokens(force_prefix(prefixes), ids, scores, sentence)
    all_tokens = set(range(VOCABULARY)) - {PAD}
    for index, forbidden in zip(sentence.tolist(), results, strict=True):
        forced = prefixes[index][length : length + 1]
        assert forbidden == (all_tokens - set(forced) if forced else set())


@pytest.mark.parametrize("length", range(6))
def test_no_eos_before_the_minimum_length(length):
    ids, scores, sentence = hypotheses(length)
    early = length < 3
    assert (
        forbidden_tokens(min_length(3), ids, scores, sentence) == [{EOS} if early else set()] * ROWS
    )


def all_searches(model, **options):
    """Greedy, beam and diverse beam search for three sentences of different maximum lengths."""
    max_length = torch.tensor([5, 12, 9])
    yield [
        [hypothesis]
        for hypothesis in greedy_search(model, SOURCES, max_length=max_length, **options)
    ]
    yield beam_search_with(model, SOURCES, width=4, max_length=max_length, **options)
    yield beam_search_with(
        model, SOURCES, width=4, max_length=max_length, groups=2, diversity=0.5, **options
    )


def test_hypotheses_have_the_minimum_length():
    model = random_model(0, ending=20.0)
    for results in all_searches(model, rules=[min_length(4)]):
        assert all(len(h.ids) == 4 for hypotheses in results for h in hypotheses if h.finished)
        assert any(h.finished for hypotheses in results for h in hypotheses)


@pytest.mark.parametrize("size", [1, 2])
def test_no_ngram_occurs_twice(size):
    model = random_model(1, ending=-20.0)
    for results in all_searches(model, rules=[no_repeat_ngram(size)]):
        for hypothesis in chain.from_iterable(results):
            runs = [hypothesis.ids[i : i + size] for i in range(len(hypothesis.ids) - size + 1)]
            assert len(set(runs)) == len(runs)


def test_every_sentence_begins_with_its_prefix():
    prefixes = [(6, 7), (), (12, 11, 10, 9)]
    free = list(all_searches(random_model(2)))
    for results, before in zip(
        all_searches(random_model(2), rules=[force_prefix(prefixes)]), free, strict=True
    ):
        for prefix, hypotheses in zip(prefixes, results, strict=True):
            assert hypotheses
            assert all(h.ids[: len(prefix)] == prefix for h in hypotheses)
        assert [h.ids for h in results[1]] == [h.ids for h in before[1]]


def test_a_prefix_of_the_free_output_changes_nothing():
    model = random_model(3)
    free = greedy_search(model, SOURCES, max_length=9)
    prefixes = [h.ids[:2] for h in free]
    assert greedy_search(model, SOURCES, max_length=9, rules=[force_prefix(prefixes)]) == free


def test_rules_combine():
    ids, scores, sentence = hypotheses(3)
    for rule in (forbid_tokens(5, 6), min_length(9), no_repeat_ngram(1)):
        scores = rule(ids, scores, sentence)
    forbidden = scores == -torch.inf
    assert forbidden[:, [5, 6, EOS]].all()
    assert forbidden.gather(1, ids).all()


def test_an_ngram_of_no_tokens_is_an_error():
    with pytest.raises(ValueError, match="n-gram of 0 tokens"):
        no_repeat_ngram(0)


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return Tokenizer.train(TEXTS, kind=request.param, size=330)


def banned(tokenizer, rule, ids):
    """The ids that may not follow the given ones."""
    scores = rule(torch.tensor([[BOS, *ids]]), torch.zeros(1, len(tokenizer)), torch.tensor([0]))
    return set((scores[0] == -torch.inf).nonzero().flatten().tolist())


@pytest.mark.parametrize("term", ["cat", "का", "new york"])
@pytest.mark.parametrize("before", ["", "the", "the (c", "the (क", "बिल्ली"])
def test_a_forbidden_term_occurs_in_no_segmentation(tokenizer, term, before):
    """Random sequences of allowed pieces never contain the term."""
    rule = forbid_terms(tokenizer, [term])
    start = tokenizer.encode(before)
    characters = set(term.replace(" ", "▁")) | {"▁"}
    spelling = [id for piece, id in tokenizer.piece_ids().items() if characters.issuperset(piece)]
    generator = torch.Generator().manual_seed(0)
    for _ in range(8):
        ids = list(start)
        for _ in range(12):
            allowed = sorted(set(spelling) - banned(tokenizer, rule, ids))
            if not allowed:
                break
            ids.append(allowed[torch.randint(len(allowed), (1,), generator=generator)])
            assert not contains_words(tokenizer, tokenizer.encode(term), ids)


def test_words_that_contain_a_forbidden_term_are_allowed(tokenizer):
    rule = forbid_terms(tokenizer, ["cat"])
    ids = tokenizer.encode("a concatenated mat")
    for at, id in enumerate(ids):
        assert id not in banned(tokenizer, rule, ids[:at])


def test_the_last_piece_of_a_forbidden_term_is_forbidden(tokenizer):
    rule = forbid_terms(tokenizer, ["cat"])
    *prefix, last = tokenizer.encode("the cat")
    assert last in banned(tokenizer, rule, prefix)


def test_the_word_ends_after_a_required_term(tokenizer):
    term = encode_phrase(tokenizer, "cat")
    rule = end_word_after(tokenizer, [[term]])
    pieces = {id: piece for piece, id in tokenizer.piece_ids().items()}
    forbidden = banned(tokenizer, rule, term)
    assert all(id in forbidden for id, piece in pieces.items() if piece in ("s", "c", "ई", "ि"))
    assert EOS not in forbidden
    assert not any(pieces[id].startswith(("▁", ")", "'")) for id in forbidden)
    assert not banned(tokenizer, rule, term[:-1])


def test_rules_apply_to_the_rows_of_their_own_sentence(tokenizer):
    term = encode_phrase(tokenizer, "cat")
    rule = end_word_after(tokenizer, [[], [term]])
    ids = torch.tensor([[BOS, *term]] * 3)
    scores = rule(ids, torch.zeros(3, len(tokenizer)), torch.tensor([1, 0, 1]))
    assert [(row == -torch.inf).any().item() for row in scores] == [True, False, True]


def test_forbidding_a_letter_allows_bytes_of_other_letters():
    tokenizer = Tokenizer.train(TEXTS, kind="unigram", size=330)
    forbidden = banned(tokenizer, forbid_terms(tokenizer, ["x"]), [])
    assert not {id for piece, id in tokenizer.piece_ids().items() if piece == "<0xE0>"} & forbidden


def test_a_required_phrase_may_repeat_until_it_occurs():
    rule = allow_required([[], [(5, 5, 6)]], no_repeat_ngram(1))
    ids = torch.tensor([[BOS, 7, 5], [BOS, 7, 5], [BOS, 7, 6]])
    results = forbidden_tokens(rule, ids, torch.zeros(3, VOCABULARY), torch.tensor([0, 1, 1]))
    assert results == [{BOS, 5, 7}, {BOS, 7}, {BOS, 6, 7}]
    complete = torch.tensor([[BOS, 5, 5, 6]])
    assert forbidden_tokens(rule, complete, torch.zeros(1, VOCABULARY), torch.tensor([1])) == [
        {BOS, 5, 6}
    ]
