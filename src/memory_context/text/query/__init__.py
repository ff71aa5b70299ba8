"""Query the rows of texts with SQL: one SELECT, in an in-memory SQLite database that holds nothing else."""
