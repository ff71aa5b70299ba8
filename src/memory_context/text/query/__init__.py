"""SQL over the rows of texts: one SELECT in a SQLite database in memory that holds nothing else."""
