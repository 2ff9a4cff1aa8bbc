"""Operations of the models: PyTorch reference, and Triton kernels that compute the same."""
