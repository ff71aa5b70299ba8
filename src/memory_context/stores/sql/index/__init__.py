"""What a search finds chunks by: lexemes on either database, and vectors."""
