"""Evaluation: metrics by name, confidence intervals, significance tests, slices, class reports."""

from dhyan.evaluation import built_in as built_in
