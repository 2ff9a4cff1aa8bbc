"""Encoders and decoders that read and write ids; any of one kind goes with any of the other."""
