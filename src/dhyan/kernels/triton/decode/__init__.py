"""A step of translating: its parts by definition, and the kernels that stand in for them."""
