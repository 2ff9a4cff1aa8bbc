"""What comes from strangers is read by rules of its own: plain files, plain JSON, so much of it."""
