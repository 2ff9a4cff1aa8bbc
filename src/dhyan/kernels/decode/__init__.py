"""Operations of one decoding step, in place: PyTorch reference, or Triton kernels."""
