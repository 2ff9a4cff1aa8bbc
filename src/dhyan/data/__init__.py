"""From files of parallel text to a stream of batches that can be taken up anywhere."""
