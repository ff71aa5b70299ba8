"""What a text is found by: its chunks, their lexemes, BM25 and vectors."""
