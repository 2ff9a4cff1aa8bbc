"""Special tokens: padding, start, end and unknown, the first four ids of every vocabulary."""

PAD, BOS, EOS, UNK = range(4)
NAMES = ("<pad>", "<s>", "</s>", "<unk>")
