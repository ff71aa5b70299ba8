"""Index and search texts: chunks, the lexemes by which they are found, BM25, and vectors."""
