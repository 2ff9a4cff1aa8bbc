"""A batch with padding on both sides, and one fixture that is every model in turn."""

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS, UNK
from tests.laws.family import MODELS, VOCABULARY, build

LATER = ("luong-multihead-", "luong-monotonic-", "luong-predicted-")  # heads, windows × scores
SOON = ("luong-monotonic-dot", "luong-predicted-additive", "luong-multihead-predicted")


def _of_long_tests(decoder: str) -> bool:
    """Whether others have the same parts: the score alone, and heads or a window with another."""
    return decoder.startswith(LATER) and decoder not in SOON


@pytest.fixture(
    params=[
        pytest.param(pair, marks=[pytest.mark.soak] * _of_long_tests(pair[1])) for pair in MODELS
    ],
    ids="+".join,
)
def model(request) -> Seq2Seq:
    torch.manual_seed(0)
    return build(*request.param).eval()


@pytest.fixture
def batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    source, target = [], []
    for length in (2, 6, 4, 5):
        words = torch.randint(UNK + 1, VOCABULARY, (2, length), generator=generator).tolist()
        source.append([*words[0], EOS])
        target.append([BOS, *words[1][: 8 - length], EOS])
    return Batch(Tokens.pad(source), Tokens.pad(target))
