"""Text to token ids and back: normalisation, tokenizers, placeholders; word vectors."""
