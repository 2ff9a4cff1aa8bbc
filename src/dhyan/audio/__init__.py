"""Sounds: mel spectrograms, Griffin and Lim's inverse, WAV files, and codebooks of frames."""
