"""Sweeps: many trainings of one recipe with other settings, chosen by Optuna, pruned by validation."""

from dhyan.sweep.report import write_report as write_report
from dhyan.sweep.run import Sweep as Sweep
from dhyan.sweep.run import TrialEnded as TrialEnded
from dhyan.sweep.run import open_sweep as open_sweep
from dhyan.sweep.space import Choices as Choices
from dhyan.sweep.space import Range as Range
from dhyan.sweep.space import parse_space as parse_space
