"""Python API: train on sentence pairs in memory or in files, evaluate, resume."""
