"""Triton kernels: the same results as the definitions in fewer passes over memory."""
