"""Recurrent layers and decoders: all steps of a batch, forwards and backwards."""
