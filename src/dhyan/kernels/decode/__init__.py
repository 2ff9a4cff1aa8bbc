"""One decoding step in place: each operation's definition, and the choice of the kernel for it."""
