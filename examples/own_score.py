"""An attention score of your own, cosine similarity.

dhyan --plugin own_score.py train … --set decoder.attention.score=cosine
"""

import sys

import torch
from torch import nn
from torch.nn.functional import normalize

import dhyan
from dhyan.attention import Score
from dhyan.run import train


@dhyan.register("cosine")
class CosineScore(nn.Module, Score):
    """e_ij = t · cos(W s_i, h_j), with a learned temperature."""

    def __init__(self, query_width, memory_width):
        super().__init__()
        self.query = nn.Linear(query_width, memory_width, bias=False)
        self.temperature = nn.Parameter(torch.tensor(8.0))

    def keys(self, states):
        return normalize(states, dim=-1)

    def forward(self, query, memory):
        query = normalize(self.query(query), dim=-1)
        return self.temperature * query @ memory.keys.transpose(-2, -1)


if __name__ == "__main__":
    out, steps = sys.argv[1], int(sys.argv[2])
    settings = {"decoder.attention.score": "cosine", "training.steps": steps}
    for event in train(dhyan.load_recipe("numbers", settings), out):
        print(event)
    print(dhyan.load(out).translate("three hundred forty two").text)
