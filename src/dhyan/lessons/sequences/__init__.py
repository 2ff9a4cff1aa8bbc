"""Sequence to sequence: one-hot words, recurrent states, losses and decoding step by step."""
