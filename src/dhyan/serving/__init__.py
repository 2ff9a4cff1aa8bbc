"""Translation for other programs, over HTTP: refused at once or answered in time."""
