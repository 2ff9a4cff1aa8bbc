"""Encoders and decoders over token ids; any encoder goes with any decoder."""
