"""Measurements: programs that write what they found, where, and with which versions."""
