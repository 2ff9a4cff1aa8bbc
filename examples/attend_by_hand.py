"""Scaled dot-product attention with your own numbers: change one and see the weights change."""

import torch

import dhyan

words = ["The", "cat", "sat"]
vectors = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]])

attended = dhyan.attend(vectors, vectors, vectors)
print("self-attention")
for word, row in zip(words, attended.weights.tolist(), strict=True):
    print(f"{word:>5}", " ".join(f"{weight:.3f}" for weight in row))

masked = dhyan.attend(vectors, vectors, vectors, causal=True)
print("with a causal mask")
for word, row in zip(words, masked.weights.tolist(), strict=True):
    print(f"{word:>5}", " ".join(f"{weight:.3f}" for weight in row))
