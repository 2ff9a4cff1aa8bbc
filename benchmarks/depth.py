"""Stacks of recurrent layers, and what is kept of them: the lesson depth."""

from pathlib import Path

from dhyan.lessons.sequences.deep_rnn import LayerProbes, probe_layers

SENTENCES, DRAWS = 2000, (1, 2, 3, 4, 5)  # of the primer, drawn for the probes


def probed(*runs: Path) -> LayerProbes:
    """Every layer of the encoders of runs that differ in their seed alone."""
    return probe_layers(runs, sentences=SENTENCES, seeds=DRAWS)
