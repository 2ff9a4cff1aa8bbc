"""Triton kernels of a decoding step; `dhyan.kernels.decode` has their reference and the choice."""
