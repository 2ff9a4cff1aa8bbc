"""Stacks of recurrent layers, and what is kept of them: the lesson depth."""

from pathlib import Path

from dhyan.lessons.sequences.stacked import Stacked, stacked

SENTENCES, DRAWS = 2000, (1, 2, 3, 4, 5)  # of the primer, drawn for the probes


def probed(*runs: Path) -> Stacked:
    """Every layer of the encoders of runs that differ in their seed alone."""
    return stacked(runs, sentences=SENTENCES, seeds=DRAWS)
