"""Memories in SQLite or PostgreSQL. `sqlalchemy_store` is the front; every statement runs in one of `transactions`."""
