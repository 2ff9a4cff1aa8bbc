"""Triton: recurrent layers and attention decoders, forwards and backwards over all time steps."""
