"""Training kernels for a CPU: the compiled library of `cpu_engine` behind autograd functions."""
