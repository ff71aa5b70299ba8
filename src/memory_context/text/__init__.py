"""Functions of a text, without state and without I/O: describe, excerpt, read, index, count, redact."""
