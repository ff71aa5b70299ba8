"""The search index: the lexemes of chunks (FTS5 on SQLite, tsvector on PostgreSQL), and their vectors."""
