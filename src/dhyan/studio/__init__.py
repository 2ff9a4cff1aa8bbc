"""Studio: a local web page that translates, and shows attention and every number."""
