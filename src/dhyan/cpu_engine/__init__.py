"""Decoding engine for CPUs: greedy and beam search in C++, in float32 or int8, without torch."""

from dhyan.cpu_engine.engine import MAX_BEAM as MAX_BEAM
from dhyan.cpu_engine.engine import CpuEngine as CpuEngine
from dhyan.cpu_engine.engine import build_engine as build_engine
from dhyan.cpu_engine.engine import supports_recipe as supports_recipe
from dhyan.cpu_engine.library import library_target as library_target
