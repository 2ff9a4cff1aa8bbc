"""Operations of the models: definitions in PyTorch, and Triton kernels that compute the same."""
