"""Translating at speed: greedy and beam search in place, captured once and replayed."""

from dhyan.decoding.engine.engine import Engine as Engine
from dhyan.decoding.engine.engine import at_speed as at_speed
from dhyan.decoding.engine.engine import engine_for as engine_for
