"""Additive attention (Bahdanau et al., 2015): scores of all pairs, or of a few queries."""
