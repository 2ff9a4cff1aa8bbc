"""Operations of one decoding step, in place: reference code, and the dispatch to kernels."""
