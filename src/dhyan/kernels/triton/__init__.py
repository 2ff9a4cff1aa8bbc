"""Triton kernels: the operations of `kernels.reference` in fewer passes over memory."""
