"""Triton kernels of a decoding step; `dhyan.kernels.decode` has the definitions and the choice."""
