"""The four ids every vocabulary begins with."""

PAD, BOS, EOS, UNK = range(4)
NAMES = ("<pad>", "<s>", "</s>", "<unk>")
