"""The engine: greedy and beam search on CUDA graphs with continuous batching."""

from dhyan.decoding.engine.engine import Engine as Engine
from dhyan.decoding.engine.engine import engine_for as engine_for
from dhyan.decoding.engine.engine import engine_supports as engine_supports
