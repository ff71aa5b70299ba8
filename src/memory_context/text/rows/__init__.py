"""Read the rows of a text: of tables, records, logs, listings; for any other text, its lines."""
