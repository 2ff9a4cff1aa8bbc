"""`python -m experiments.real_ladder`: the ladder of `dhyan compare` on real corpora, several seeds."""
