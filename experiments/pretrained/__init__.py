"""`python -m experiments.pretrained`: train and pack the pretrained models of the package."""
