"""Memories in SQLite or PostgreSQL. `sqlalchemy_store` is the front, `database` the transactions."""
