"""Recurrent layers and decoders: all steps of a sentence, forwards and back."""
