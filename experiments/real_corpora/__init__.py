"""`python -m experiments.real_corpora`: train on real corpora, tune on validation, score tests once."""
