"""Evaluation: sacreBLEU's metrics, confidence intervals, significance tests, slices."""
