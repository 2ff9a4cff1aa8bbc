"""Terms are said or not said as whole words, whatever pieces a vocabulary is made of."""

import pytest
import torch

from dhyan.decoding.manner import Manner
from dhyan.decoding.wording import Glossary, check_terms, never_words, phrase, whole_words
from dhyan.faults import Fault
from dhyan.special import BOS, EOS
from dhyan.text.tokenizer import KINDS, Tokenizer

TEXTS = [
    "the cat and the cats saw a concatenated cat's (cat) mat",
    "बड़ी बिल्ली का काम और कान में दर्द है ।",
    "the new cat of new york",
]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return Tokenizer.learn(TEXTS, kind=request.param, size=330)


def banned(tokenizer, rule, said):
    """The ids that may not follow what was said."""
    scores = rule(torch.tensor([[BOS, *said]]), torch.zeros(1, len(tokenizer)), torch.tensor([0]))
    return set((scores[0] == -torch.inf).nonzero().flatten().tolist())


def stands_in(tokenizer, term, ids):
    """Whether the words of a term stand in a row among those of the ids."""
    words = [word.text for word in tokenizer.words(ids)]
    wanted = [word.text for word in tokenizer.words(tokenizer.encode(term))]
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


@pytest.mark.parametrize("term", ["cat", "mat", "का", "new york"])
def test_a_term_is_cut_alike_at_the_beginning_and_inside_a_sentence(tokenizer, term):
    ids = phrase(tokenizer, term)
    inside = tuple(tokenizer.encode(f"the {term} and"))
    assert ids in {inside[at : at + len(ids)] for at in range(len(inside))}


@pytest.mark.parametrize("term", ["cat", "का", "new york"])
@pytest.mark.parametrize("before", ["", "the", "the (c", "the (क", "बिल्ली"])
def test_a_forbidden_term_cannot_be_said_in_any_pieces(tokenizer, term, before):
    """Whatever sequence of allowed pieces is drawn, the term is not among its words."""
    rule = never_words(tokenizer, [term])
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
            assert not stands_in(tokenizer, term, ids)


def test_forbidding_a_term_leaves_words_that_only_hold_it(tokenizer):
    rule = never_words(tokenizer, ["cat"])
    ids = tokenizer.encode("a concatenated mat")
    for at, id in enumerate(ids):
        assert id not in banned(tokenizer, rule, ids[:at])


def test_forbidding_a_term_stops_it_at_its_last_piece(tokenizer):
    rule = never_words(tokenizer, ["cat"])
    *begun, last = tokenizer.encode("the cat")
    assert last in banned(tokenizer, rule, begun)


def test_after_a_required_term_its_word_is_over(tokenizer):
    term = phrase(tokenizer, "cat")
    rule = whole_words(tokenizer, [[term]])
    spelt = {id: piece for piece, id in tokenizer.piece_ids().items()}
    stopped = banned(tokenizer, rule, term)
    assert all(id in stopped for id, piece in spelt.items() if piece in ("s", "c", "ई", "ि"))
    assert EOS not in stopped
    assert not any(spelt[id].startswith(("▁", ")", "'")) for id in stopped)
    assert not banned(tokenizer, rule, term[:-1])


def test_rules_apply_to_the_rows_of_their_own_sentence(tokenizer):
    term = phrase(tokenizer, "cat")
    rule = whole_words(tokenizer, [[], [term]])
    said = torch.tensor([[BOS, *term]] * 3)
    scores = rule(said, torch.zeros(3, len(tokenizer)), torch.tensor([1, 0, 1]))
    assert [(row == -torch.inf).any().item() for row in scores] == [True, False, True]


def test_a_glossary_finds_whole_words_in_any_case(tokenizer):
    glossary = Glossary.of({"cat": "बिल्ली", "का": "of"}, tokenizer)
    assert glossary.wanted("The Cat sat.") == ["बिल्ली"]
    assert glossary.wanted("(CAT), cat") == ["बिल्ली"]
    assert glossary.wanted("cats concatenate") == []
    assert glossary.wanted("काम और कान") == []
    assert glossary.wanted("बिल्ली का काम") == ["of"]


def test_of_terms_that_overlap_the_longest_counts(tokenizer):
    glossary = Glossary.of({"new york": "A", "york": "B", "new": "C"}, tokenizer)
    assert glossary.wanted("new york") == ["A"]
    assert glossary.wanted("york is new, New York") == ["B", "C", "A"]


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_a_term_the_vocabulary_cannot_write_is_named(kind):
    tokenizer = Tokenizer.learn(TEXTS, kind=kind, size=330)
    with pytest.raises(Fault, match="cannot write 'zebra'"):
        phrase(tokenizer, "zebra")


@pytest.mark.parametrize(
    ("glossary", "forbidden", "manner", "sentence"),
    [
        ({"a": "b"}, [], Manner(beam=1), "need a beam of 2 or more"),
        ({"a": "b"}, [], Manner(beam=4, groups=4), "need a beam of 2 or more"),
        ({"a": "b"}, [], Manner(sample=True), "not drawn"),
        ({"a": "x y"}, ["y"], Manner(), "'y' is forbidden, but the glossary asks for 'x y'"),
        ({}, [" "], Manner(), "an empty term is forbidden"),
    ],
)
def test_terms_that_cannot_be_seen_to_are_refused(glossary, forbidden, manner, sentence):
    with pytest.raises(Fault, match=sentence):
        check_terms(glossary, forbidden, manner)
