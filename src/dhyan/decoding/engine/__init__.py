"""Decoding engine for GPUs: greedy and beam search with continuous batching and CUDA graphs."""

from dhyan.decoding.engine.engine import Engine as Engine
from dhyan.decoding.engine.engine import engine_for as engine_for
from dhyan.decoding.engine.engine import engine_supports as engine_supports
