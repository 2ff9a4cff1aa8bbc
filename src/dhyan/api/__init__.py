"""The Python interface: train on pairs in memory or in files, evaluate, resume."""
